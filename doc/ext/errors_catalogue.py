"""The page of all messages, from the catalogue of ``tests/errors``.

The page shows the message of every case in the catalogue. It is generated and
not under version control; it is written only if it changes.
"""
import re
import sys
import warnings
from pathlib import Path
from textwrap import indent, wrap

from gallery import write
from sphinx.errors import ExtensionError
from sphinx.util import logging

logger = logging.getLogger(__name__)

PAGE = """\
.. Made by ext/errors_catalogue.py from tests/errors.

Catalogue of messages
=====================

Messages for {count} kinds of bad input, with one list for each part of the
public interface. For the classes see :doc:`errors`. The tests use the same
tables and check that every message states the fact, the cause and the remedy.

{areas}
"""

AREA = """\
{title}
{underline}

{cases}
"""

CASE = """\
{title}
    .. code-block:: none

{message}
"""

WIDTH = 76


def catalogue(root):
    """Return the areas of the catalogue, without pytest."""
    folder = str(root / 'tests')
    sys.path.insert(0, folder)
    try:
        from errors.catalogue import AREAS
    finally:
        sys.path.remove(folder)
    return AREAS


def answer(case):
    """Return the message of a case, with the class name first."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            case.call()
        except case.error as error:
            text = error.args[0] if isinstance(error, KeyError) else str(error)
            text = re.sub(r' at 0x[0-9a-f]+', '', text)
            return f'{type(error).__name__}: {text}'
    raise ExtensionError(f'{case.title!r} is accepted, but the catalogue '
                         'expects an error.')


def wrapped(text):
    """The lines of a message without breaking words, indented."""
    return indent('\n'.join(
        line for paragraph in text.split('\n') for line in wrap(
            paragraph, WIDTH, break_long_words=False, break_on_hyphens=False,
            replace_whitespace=False) or ['']), ' '*8)


def make_page(app):
    source = Path(app.srcdir)
    areas, count = [], 0
    for title, (_, cases) in catalogue(source.parent).items():
        logger.info('catalogue of errors: %s', title)
        count += len(cases)
        areas.append(AREA.format(
            title=title, underline='-'*len(title), cases='\n'.join(
                CASE.format(title=case.title.replace('*', r'\*'),
                            message=wrapped(answer(case)))
                for case in cases)))
    write(source / 'errors_catalogue.rst',
          PAGE.format(count=count, areas='\n'.join(areas)))


def setup(app):
    app.connect('builder-inited', make_page)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
