"""Let Sphinx read docstrings in SymPy's style.

Napoleon does most of it. This extension adds, before napoleon runs:

* section titles that napoleon does not know become plain headings;
* numbered references ``[1]_`` keep the number they have in the docstring
  (several docstrings on one page would claim the same footnote);
* defaults that are no Python expression are shown as ``...``.

And when Sphinx cannot resolve a name:

* a name of this package is found by its short or its re-exported name, if
  only one documented object answers to it;
* a name that is written short in a signature or a docstring, such as
  ``Expr``, and that exists in the module it is written in, in the standard
  library, SymPy or NumPy, is shown as text. The documentation is built
  without the network, so there is nothing to link to.

What does not exist anywhere stays unresolved and is reported.
"""
import pydoc
import re

from sphinx.util.nodes import make_refnode

PACKAGE = 'sympy_constrained'
NAPOLEON_SECTIONS = {
    'args', 'arguments', 'attributes', 'example', 'examples', 'keyword args',
    'keyword arguments', 'methods', 'note', 'notes', 'other parameters',
    'parameters', 'raises', 'receives', 'references', 'return', 'returns',
    'see also', 'todo', 'warning', 'warnings', 'warn', 'warns', 'yield',
    'yields', 'explanation'}
PLACES = ('builtins', 'typing', 'collections.abc', 'sympy',
          'sympy.physics.mechanics', 'sympy.physics.vector', 'numpy')

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
    """A default that is no Python expression, ``<factory>``, is ``...``."""
    if signature:
        signature = NO_EXPRESSION.sub(' ...', signature)
    return signature, returned


def documented(env, target):
    """The only documented object with this name, or None."""
    objects = env.get_domain('py').objects
    last = target.rpartition('.')[2]
    answers = [name for name, entry in objects.items()
               if name.rpartition('.')[2] == last and not entry.aliased
               and (name.endswith('.' + target) or
                    target.startswith(PACKAGE + '.'))]
    return answers[0] if len(answers) == 1 else None


def exists(name, module):
    places = ((module,) if module else ()) + PLACES
    return any(pydoc.locate(f'{place}.{name}') is not None
               for place in places)


def find_name(app, env, node, contnode):
    """Answer to a reference that Sphinx could not resolve, None if unknown."""
    if node.get('refdomain') != 'py':
        return None
    target = node['reftarget'].lstrip('~.')
    own = target.startswith(PACKAGE + '.')
    if not own or pydoc.locate(target) is not None:
        name = documented(env, target)
        if name is not None:
            entry = env.get_domain('py').objects[name]
            return make_refnode(app.builder, node['refdoc'], entry.docname,
                                entry.node_id, contnode, name)
    if not own and exists(target, node.get('py:module')):
        return contnode
    return None


def setup(app):
    app.connect('autodoc-process-docstring', read_docstring, priority=400)
    app.connect('autodoc-process-signature', read_signature)
    app.connect('missing-reference', find_name)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
