"""A page with a model, its equations and its motion."""
import json
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from ..analysis.integrability.classification import classify_constraints
from ..errors import ConstrainedDynamicsError, warn
from ..graph import substitute
from ..model.call_signatures import arguments_of, as_dictionary
from ..model.equations import EquationsOfMotion
from ..model.units import units_of
from ..numeric.codegen.walk import library
from ..numeric.compiled import CompiledEquations
from ..numeric.integrate.arguments import check_sizes
from ..numeric.manifold.consistent_state import consistent_state
from ..numeric.names import label
from ..numeric.tolerances import TYPED
from .formulas import (
    comparison_table, constraint_table, equation_rows, math, model_tables)
from .functions import Functions, compiled_for_page
from .scene import Scene


MOST_ROWS = 12          # that are classified, if they are for velocities
ROUNDING = 1e-12        # of states, relative to the largest


@dataclass(frozen=True)
class Report:
    """A page in HTML, made by :func:`report`.

    Notebooks show it, and so does sphinx-gallery. ``html`` is the text.
    """

    html: str

    def save(self, path):
        """Write the page to a file, which any browser opens."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.html, encoding='utf-8')

    def _repr_html_(self):
        return ('<iframe sandbox="allow-scripts" loading="lazy" style="width:'
                '100%;height:720px;border:0" srcdoc="'
                f'{escape(self.html)}"></iframe>')

    def widget(self, height=720):
        """The page as an anywidget, for marimo and Jupyter.

        Needs the package anywidget (the extra ``report``).
        """
        anywidget = library('anywidget', 'anywidget')
        traitlets = library('traitlets', 'traitlets')

        class Widget(anywidget.AnyWidget):
            _esm = text_of('widget.js')
            html = traitlets.Unicode(self.html).tag(sync=True)
            height = traitlets.Int().tag(sync=True)

        return Widget(height=height)

    def __repr__(self):
        return f'<Report of {len(self.html.encode())/1000:.0f} kB>'


def report(method, start, constants=None, inputs=None, *, title=None,
           points=(), lines=(), contacts=(), surfaces=(), springs=(),
           forces=None, rows=(), view=None, up=None, origin=None, frame=None,
           picture=None, units=None, fixed=(), t=0., speed=1.,
           comparison=None) -> Report:
    """Return one page with a model, its equations and its motion.

    The page needs no network. It contains the model, its constraints and their
    classes, the equations of motion, and a view in which a browser integrates
    them by the steps of ``'DOP853'`` with projection, with sliders for the
    constants and the start.

    Bodies are drawn as links to the points fixed in them and as the
    homogeneous disc, rod or ellipsoid that has their inertia. Arrows are the
    ``forces``, else joint reactions, else mass times the acceleration that the
    constraints add to each body. The ``visual`` of a ready model has keyword
    arguments for this function.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.models import model
    >>> from sympy_constrained.report import report
    >>> linkage = model('four_bar')
    >>> page = report(linkage.form(UdwadiaKalabaMethod), linkage.start,
    ...               linkage.parameters, fixed=linkage.fixed)
    >>> page.save('build/four_bar.html')        # doctest: +SKIP
    >>> len(page.html) < 800_000
    True

    Parameters
    ==========

    method : a method, EquationsOfMotion or CompiledEquations
    start : mapping or sequence
        A guess for the states at the start, which is made consistent.
    constants : mapping, optional
        Value of each constant.
    inputs : mapping, optional
        Expressions, numbers or tables for specified functions. Those left
        out have a slider and are zero at first.
    title : str, optional
    points, lines, contacts, surfaces, springs : optional
    forces, view, origin, frame : optional
        What to draw, as for :func:`.animate`; forces are Vectors or triples
        of expressions.
    rows : iterable of tuples, optional
        Where rows act that were given as expressions, as for
        ``joint_reactions``.
    up : str, optional
        The axis upwards, ``'z'`` or ``'-z'``, ...; by default against weights.
    picture : mapping, optional
        Numbers for constants that only the picture has.
    units : mapping, optional
        Texts of the units of states and constants, and of ``'t'``,
        ``'energy'`` and ``'force'``. By default the SI units that follow from
        the model; an empty mapping leaves them out.
    fixed : iterable of states, optional
        States of the start that keep their value.
    t : float
        Time at the start.
    speed : float
        Of the picture relative to the motion.
    comparison : Comparison, optional
        Shown as a table.

    Raises
    ======

    UnsupportedFeatureError
        If a browser cannot evaluate the equations.
    ConstraintError
        If the start cannot be made consistent.

    """
    check_sizes(speed=speed)
    compiled = compiled_for_page(method, constants, inputs)
    warn(compiled.equations.warning)
    given = compiled.names.vector(start, 'start')
    x = rounded(consistent_state(compiled, given, fixed, t), given)
    functions = Functions(compiled, float(t), x)
    drawn = None if isinstance(method, (
        EquationsOfMotion, CompiledEquations)) else method
    if units is None:
        units = units_of(arguments_of(drawn)[1]) if drawn else {}
    units = {label(name): text for name, text in as_dictionary(
        units, 'units').items()}
    scene = Scene(functions, drawn, view, up, picture, points=points,
                  lines=lines, contacts=contacts, surfaces=surfaces,
                  springs=springs, origin=origin, frame=frame)
    scene.add_forces(method, forces, rows)
    data = functions.data(functions.write_extra(
        scene.find.drift and scene.g,
        [ref for ref, in scene.find.drift or ()]))
    scene.write()
    equations = compiled.equations
    name = str(title or type(method).__name__)
    data |= {
        'scene': scene.data, 'speed': speed,
        'states': [names_of(item, units) for item in compiled.states],
        'constants': [names_of(item, units) for item in compiled.constants],
        'units': {name: units.get(name, '') for name in (
            't', 'energy', 'force')},
        'energy': 'energy' if has_potential(equations) else 'kinetic energy',
        'qindex': compiled.q_index.tolist(),
        'rows': len(compiled.residual_names)}
    classes, redundant = examined(method)
    return Report(Template(text_of('page.html')).substitute(
        title=escape(name), css=text_of('page.css'),
        model=model_tables(compiled, scene.find.system, x, units),
        moved=moved(compiled.states, given, x),
        units='Values are in SI units.' if units else (
            'Values have the units of the constants.'),
        constraints=constraint_table(equations, classes, redundant) if (
            equations.constraint_names) else '<p>None.</p>',
        equations=equation_rows(equations, method),
        comparison='' if comparison is None else (
            f'<details open><summary>Formulations</summary>'
            f'{comparison_table(comparison)}</details>'),
        functions=functions.text(), engine=text_of('engine.js'),
        page=text_of('view.js') + text_of('page.js'), data=json.dumps(
            data, separators=(',', ':')).replace('<', '\\u003c')))


def text_of(name):
    return files(__package__).joinpath(name).read_text(encoding='utf-8')


def names_of(item, units):
    return {'text': label(item), 'math': math(item),
            'unit': units.get(label(item), '')}


def rounded(x, given):
    """The state without rounding errors, where it was ``given`` or is 0."""
    noise = ROUNDING*np.abs(x).max(initial=0.)
    x = np.where(np.abs(x - given) <= noise, given, x)
    return np.where(np.abs(x) <= noise, 0., x)


def moved(states, given, x):
    changed = np.abs(x - given) > TYPED*max(1., np.abs(x).max(initial=0.))
    if not changed.any():
        return ''
    return '<p class="note">Moved onto the constraints: {}.</p>'.format(
        ', '.join(f'{math(states[k])} from {given[k]:.6g} to {x[k]:.6g}'
                  for k in np.flatnonzero(changed)))


def has_potential(equations):
    g, out = equations.graph.load(None, ('energy',))
    return any(any(substitute(g, row, {
        g.input(u, dynamic=True): 0 for u in equations.u}))
        for row in out['energy'])


def examined(method):
    """Classes of the constraint rows, and redundant rows, if known."""
    if not hasattr(method, 'independent_rows'):
        return (), ()
    rows, count = (), len(method.system.constraint_names)
    holonomic = method.system.graph.outputs['holonomic'][0]
    if holonomic < count and count <= MOST_ROWS:
        with suppress(ConstrainedDynamicsError):    # cannot be examined
            rows = classify_constraints(method).rows
    independent = set(method.independent_rows)
    return rows, [k for k in range(count) if k not in independent]
