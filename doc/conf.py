"""Sphinx configuration; the documentation is built without the network."""
import os
import pydoc
import re
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / 'ext'), str(HERE.parent)]

from sympy_docstrings import described_members  # noqa: E402

import sympy_constrained  # noqa: E402

project = 'sympy_constrained'
author = 'The sympy_constrained developers'
copyright = '2026, ' + author
release = version = sympy_constrained.__version__

extensions = [
    'sphinx.ext.autodoc',
    'sphinx.ext.autosummary',
    'sphinx.ext.napoleon',
    'sphinx.ext.doctest',
    'sympy_docstrings',
    'equation_names',
    'changelog',
    'sphinx_gallery.gen_gallery',
    'thumbnails',
    'short_navigation',
]
templates_path = ['_templates']
exclude_patterns = ['ext', 'examples', '_templates', 'gallery/**/*.ipynb',
                    'gallery/**/*.py']
html_theme = 'furo'
html_title = project
# MathJax comes from sphinx-mathjax-offline, which is not an extension for
# parallel builds.
html_static_path = ['_static', str(Path(find_spec(
    'sphinx-mathjax-offline').origin).parent/'static')]
mathjax_path = 'mathjax/tex-chtml.js'
html_css_files = ['custom.css']
toc_object_entries_show_parents = 'hide'
math_number_all = False
math_eqref_format = '({number})'
numfig = True
math_numfig = False             # ext/equation_names.py numbers them

# Docstrings

autodoc_member_order = 'bysource'
autodoc_default_options = {'members': True, 'show-inheritance': True}
autodoc_typehints_format = 'short'
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 79
napoleon_google_docstring = False
# Types in docstrings are prose ("iterable of Expr, length m"), not links.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = ['Explanation', ('Attributes', 'params_style')]

# A page for each name in api.rst

PUBLIC = ['sympy_constrained'] + ['sympy_constrained.' + part for part in (
    'methods', 'numeric', 'optimal', 'interop', 'plotting', 'comparison',
    'models', 'graph', 'report')]
NAMES = re.findall(r'^   ~(\S+)', (HERE/'api.rst').read_text(
    encoding='utf-8'), re.M)
autosummary_context = {'public': PUBLIC, 'described': {
    name: described_members(pydoc.locate(name)) for name in NAMES}}
# What functions return has a short file name; names that differ in case alone
# need two files on every system.
autosummary_filename_map = {
    f'sympy_constrained.{name}': f'sympy_constrained.{name}_class'
    for name in ('models.Model', 'numeric.Sensitivities', 'report.Report')}
autosummary_filename_map.update(
    (name, name.rpartition('.')[2]) for name in NAMES
    if name.rpartition('.')[0] not in PUBLIC)

# Names

nitpicky = True
nitpick_ignore_regex = [
    ('py:.*', r'(abc|collections|contextlib|dataclasses|enum|fractions|'
              r'functools|numbers|os|pathlib|random|types|typing)\..*'),
    ('py:.*', r'(matplotlib|mpmath|numpy|pydy|scipy|sympy)\..*'),
]

# Gallery

# The scripts run in processes of their own: a warning is an error there, too.
os.environ['PYTHONWARNINGS'] = 'error::UserWarning'
os.environ['OMP_NUM_THREADS'] = os.environ['OPENBLAS_NUM_THREADS'] = '1'
sphinx_gallery_conf = {
    'examples_dirs': 'examples',
    'gallery_dirs': 'gallery',
    'subsection_order': [f'examples/{topic}' for topic in (
        'start_here', 'linkages', 'rolling', 'nonholonomic', 'vakonomic',
        'contact', 'control', 'quasi_velocities', 'numeric', 'large')],
    'within_subsection_order': 'FileNameSortKey',
    'parallel': max(2, os.cpu_count()),
    'abort_on_example_error': True,
    'write_computation_times': False,   # its page loads scripts
    'image_scrapers': ('thumbnails', 'matplotlib'),
    'image_srcset': ['2x'],
    'capture_repr': ('_repr_html_',),
}
