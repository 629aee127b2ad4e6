"""The gallery: run ``examples/plot_*.py`` and write a page for each.

A script saves its picture at the given path. It runs again only if the picture
is missing or older than the script; pages are written only if they change.
Pictures (``_static/gallery``) and pages (``gallery``) are not under version
control.
"""
import ast
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphinx.errors import ExtensionError
from sphinx.util import logging

LONGEST = 300           # time limit of a script in seconds

logger = logging.getLogger(__name__)

PAGE = """\
.. Made by ext/gallery.py from examples/{name}.py.

{title}
{underline}

{text}

.. image:: /_static/gallery/{name}.png
   :alt: {title}

The script is ``doc/examples/{name}.py``:

.. literalinclude:: ../examples/{name}.py
   :language: python
   :lines: {first}-
"""

INDEX = """\
.. Made by ext/gallery.py.

Gallery
=======

Worked exercises. Each is a stand-alone script. It takes the path of its
picture as argument, and compares its result with a published one.

.. toctree::
   :hidden:

   {names}

"""

ENTRY = """\
.. figure:: /_static/gallery/{name}.png
   :width: 560px
   :alt: {title}

   :doc:`{name}`

"""


def read(script):
    """Return title, text and first line of code of a script."""
    tree = ast.parse(script.read_text(encoding='utf-8'))
    title, _, text = ast.get_docstring(tree).partition('\n')
    return title.strip().rstrip('.'), text.strip(), tree.body[1].lineno


def draw(script, picture):
    """Run a script unless its picture is up to date."""
    if (picture.exists()
            and picture.stat().st_mtime > script.stat().st_mtime):
        return
    logger.info('gallery: running %s', script.name)
    root = script.parents[2]
    path = os.pathsep.join(filter(None, (
        str(root), os.environ.get('PYTHONPATH'))))
    try:
        run = subprocess.run(
            [sys.executable, '-W', 'error::UserWarning', str(script),
             str(picture)], cwd=root,
            env={**os.environ, 'MPLBACKEND': 'Agg', 'PYTHONPATH': path},
            capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        raise ExtensionError(
            f'{script.name} was stopped after {LONGEST} s. A gallery script '
            'should take some seconds.') from None
    if run.returncode or not picture.exists():
        raise ExtensionError(
            f'{script.name} ended with code {run.returncode} and '
            f'{"a" if picture.exists() else "no"} picture:\n{run.stderr}')


def write(path, text):
    """Write a file if that changes it."""
    if not path.exists() or path.read_text(encoding='utf-8') != text:
        path.write_text(text, encoding='utf-8')


def make_gallery(app):
    source = Path(app.srcdir)
    pictures, pages = source/'_static'/'gallery', source/'gallery'
    scripts = sorted((source/'examples').glob('plot_*.py'))
    for folder in (pictures, pages):
        folder.mkdir(parents=True, exist_ok=True)
    names = [script.stem for script in scripts]
    for old in pages.glob('plot_*.rst'):
        if old.stem not in names:
            old.unlink()
    index = INDEX.format(names='\n   '.join(names))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(draw, scripts, (
            pictures/f'{name}.png' for name in names)))
    for name, script in zip(names, scripts):
        title, text, first = read(script)
        write(pages/f'{name}.rst', PAGE.format(
            name=name, title=title, underline='='*len(title), text=text,
            first=first))
        index += ENTRY.format(name=name, title=title)
    write(pages/'index.rst', index)


def setup(app):
    app.connect('builder-inited', make_gallery)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
