"""Let Sphinx read docstrings in SymPy's style.

Napoleon does most of it. This extension adds, before napoleon runs:

* section titles that napoleon does not know become plain headings;
* numbered references ``[1]_`` keep the number they have in the docstring
  (several docstrings on one page would claim the same footnote);
* defaults that are not Python expressions are shown as ``...``;
* a method class shows both call signatures instead of ``*args``;
* modules that are not for imports are not shown.

And when Sphinx cannot resolve a name:

* a name of this package is found by its short, inherited or re-exported name,
  if only one documented object answers to it;
* an internal name of this package, and a name that is written short in a
  signature or a docstring, such as ``Expr``, and that exists in the module it
  is written in, in the standard library, SymPy or NumPy, is shown as text. The
  documentation is built without the network, so there is nothing to link to.

What does not exist anywhere stays unresolved and is reported.
"""
import inspect
import pkgutil
import pydoc
import re
from functools import cache, cached_property
from types import FunctionType

from sphinx.addnodes import desc_addname
from sphinx.util.nodes import make_refnode

import sympy_constrained
from sympy_constrained.methods import ConstrainedMethod
from sympy_constrained.methods.options import options_of
from sympy_constrained.model.call_signatures import SHAPES

PACKAGE = 'sympy_constrained'
NAPOLEON_SECTIONS = {
    'args', 'arguments', 'attributes', 'example', 'examples', 'keyword args',
    'keyword arguments', 'methods', 'note', 'notes', 'other parameters',
    'parameters', 'raises', 'receives', 'references', 'return', 'returns',
    'see also', 'todo', 'warning', 'warnings', 'warn', 'warns', 'yield',
    'yields', 'explanation'}
PLACES = ('builtins', 'typing', 'collections.abc', 'sympy',
          'sympy.physics.mechanics', 'sympy.physics.vector', 'numpy')
MODULES = PACKAGE, *(module.name for module in pkgutil.walk_packages(
    sympy_constrained.__path__, PACKAGE + '.'))

UNDERLINE = re.compile(r'(={3,}|-{3,})\s*$')
REFERENCE = re.compile(r'(?P<indent>\s*)\.\. \[(?P<number>\d+)\] +(?=\S)')
NO_EXPRESSION = re.compile(r'(?<==)\s*<[^<>]*>')
CITED = re.compile(r'\[(\d+)\]_(?!\w)')


def plain_headings(lines):
    """Underlined titles that napoleon does not know become rubrics."""
    result = list(lines)
    for k, (title, below) in enumerate(zip(lines, lines[1:])):
        above = lines[k - 1] if k else ''
        if (title.strip() and not title.startswith(' ')
                and not above.strip() and UNDERLINE.match(below)
                and len(below) >= len(title)
                and title.strip().lower() not in NAPOLEON_SECTIONS):
            result[k:k + 2] = [f'.. rubric:: {title.strip()}', '']
    return result


def plain_references(lines):
    """``.. [1] text`` becomes an item ``[1] text``, ``[1]_`` plain text."""
    result = []
    inside = None
    for line in lines:
        found = REFERENCE.match(line)
        if found:
            inside = found['indent']
            result.append(f'{inside}*  [{found["number"]}] '
                          f'{line[found.end():]}')
            continue
        if inside is not None and line.strip():
            if len(line) - len(line.lstrip()) > len(inside):
                line = f'{inside}   {line.lstrip()}'
            else:
                inside = None
        result.append(line)
    return [CITED.sub(r'[\1]', line) for line in result]


def read_docstring(app, what, name, obj, options, lines):
    lines[:] = plain_references(plain_headings(lines))


def read_signature(app, what, name, obj, options, signature, returned):
    """A default that is not a Python expression, ``<factory>``, is ``...``."""
    if what == 'class' and issubclass(obj, ConstrainedMethod):
        return call_signatures(obj), returned
    if signature:
        signature = NO_EXPRESSION.sub(' ...', signature)
    return signature, returned


def call_signatures(cls):
    """Both signatures of a method class; the second one has its name."""
    result = [str(shape.replace(parameters=sorted(
        {**shape.parameters, **options_of(cls), **shape.parameters}.values(),
        key=lambda x: x.kind)))
        for shape in map(inspect.signature, SHAPES.values())]
    return f'\n{cls.__name__}'.join(result)


def without_internal_path(app, domain, objtype, content):
    """Show no module that is not for imports."""
    for node in list(content.parent.findall(desc_addname)):
        if node.astext().rstrip('.') not in app.config.autosummary_context[
                'public'] and node.astext().startswith(PACKAGE):
            node.parent.remove(node)


def described_members(cls):
    """Names of the methods and properties with a docstring."""
    kinds = FunctionType, classmethod, staticmethod, property, cached_property
    return [name for name in dir(cls) if not name.startswith('_')
            and isinstance(inspect.getattr_static(cls, name), kinds)
            and inspect.getdoc(getattr(cls, name))
            ] if inspect.isclass(cls) else []


def documented(env, target):
    """The only documented object with this name, or None."""
    last = target.rpartition('.')[2]
    answers = [name for name, entry in env.get_domain('py').objects.items()
               if name.rpartition('.')[2] == last and not entry.aliased]
    if target.startswith(PACKAGE + '.'):
        answers = [x for x in answers if located(x) == located(target)]
    else:
        answers = [x for x in answers if x.endswith('.' + target)]
    return answers[0] if len(answers) == 1 else None


def located(name):
    """The object of a name; inherited class methods are the same object."""
    found = pydoc.locate(name)
    return getattr(found, '__func__', found)


@cache
def exists(name, module):
    places = ((module,) if module else ()) + PLACES + MODULES
    return any(pydoc.locate(f'{place}.{name}') is not None
               for place in places)


def find_name(app, env, node, contnode):
    """Answer to a reference that Sphinx could not resolve, None if unknown."""
    if node.get('refdomain') != 'py':
        return None
    target = node['reftarget'].lstrip('~.')
    own = target.startswith(PACKAGE + '.')
    if own and pydoc.locate(target) is None:
        return None
    name = documented(env, target)
    if name is not None:
        entry = env.get_domain('py').objects[name]
        return make_refnode(app.builder, node['refdoc'], entry.docname,
                            entry.node_id, contnode, name)
    return contnode if own or exists(target, node.get('py:module')) else None


def setup(app):
    app.connect('autodoc-process-docstring', read_docstring, priority=400)
    app.connect('autodoc-process-signature', read_signature)
    app.connect('missing-reference', find_name)
    app.connect('object-description-transform', without_internal_path)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
