"""Thumbnails of one panel: the axes with the label ``thumbnail``, else the
first.
"""
import gc
from pathlib import Path

from sphinx_gallery.utils import scale_image

WIDTH, HEIGHT = 400, 280
# With the default threshold, garbage collection takes a third of the processor
# time of Sphinx, and a tenth of that of the gallery's processes.
gc.set_threshold(1_000_000, 50, 50)


def scrape_panel(block, block_vars, gallery_conf):
    """Save a panel of the first figure beside its pictures."""
    from matplotlib import pyplot

    paths, numbers = block_vars['image_path_iterator'], pyplot.get_fignums()
    if numbers and not len(paths):
        figure = pyplot.figure(numbers[0])
        figure.draw_without_rendering()     # places the axes
        layout = figure.get_layout_engine()
        figure.set_layout_engine('none')
        axes = next((axes for axes in figure.axes
                     if axes.get_label() == 'thumbnail'), figure.axes[0])
        box = axes.get_tightbbox().transformed(
            figure.dpi_scale_trans.inverted()).padded(0.04)
        hidden = [other for other in figure.axes
                  if other is not axes and other.get_visible()]
        pyplot.setp(hidden, visible=False)
        figure.savefig(
            paths.image_path.replace('_{0:03}', '_panel'), bbox_inches=box,
            dpi=min(WIDTH/box.width, HEIGHT/box.height))
        pyplot.setp(hidden, visible=True)
        figure.set_layout_engine(layout)
    return ''


def _get_sg_image_scraper():
    return scrape_panel


def replace_thumbnails(app):
    for panel in Path(app.srcdir, 'gallery').rglob('*_panel.png'):
        name = panel.name.replace('_panel', '_thumb')
        scale_image(panel, panel.parent/'thumb'/name, WIDTH, HEIGHT)


def setup(app):
    app.connect('builder-inited', replace_thumbnails, priority=600)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
