"""Pictures compared with those in ``baseline``, by pytest-mpl.

Text, legends and the layout engine are left out: they depend on the version of
Matplotlib. The rest is the same in 3.7 and 3.11 (RMS difference at most 0.03),
except in views in space (12). 27 defects of the drawing, such as a missing bar
or a reversed force, make differences of 0.9 and more. After an intended
change, make the files in ``baseline`` again, and look at them:
``pytest tests/numeric/test_pictures.py
--mpl-generate-path=tests/numeric/baseline``.
"""
import pytest

pytest.importorskip('pytest_mpl')
import matplotlib.pyplot as plt                             # noqa: E402
from matplotlib.legend import Legend                        # noqa: E402
from matplotlib.text import Text                            # noqa: E402

from sympy_constrained import UdwadiaKalabaMethod, plotting     # noqa: E402
from sympy_constrained.models import model                  # noqa: E402
from sympy_constrained.numeric import simulate              # noqa: E402

same = pytest.mark.mpl_image_compare(
    remove_text=True, tolerance=0.3, savefig_kwargs={'dpi': 40},
    style='sympy_constrained.plotting.paper')


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close('all')


def moved(name, t_end):
    """The motion of a ready model, and the model."""
    made = model(name)
    return simulate(
        made.form(UdwadiaKalabaMethod), t_end, made.start, initial='project',
        constants=made.parameters, t_eval=101), made


def bare(figure):
    """A figure without what depends on fonts."""
    for legend in figure.findobj(Legend):
        legend.remove()
    for text in figure.findobj(Text):
        text.set_text('')
    figure.set_layout_engine('none')
    return figure


@same
def test_a_linkage_with_ground_and_spring():
    motion, made = moved('andrews_squeezer', 0.01)
    return bare(plotting.plot_snapshots(motion, made, times=[0.01]))


@same
def test_forces_on_cranks():
    return bare(plotting.plot_snapshots(*moved('parallel_cranks', 0.5),
                                        times=2))


@same
def test_a_rolling_disc_and_its_path():
    return bare(plotting.plot_snapshots(*moved('rolling_disc', 2.), times=3,
                                        view='xy'))


@same
def test_an_overview_of_histories():
    return bare(plotting.plot(*moved('parallel_cranks', 0.5)))
