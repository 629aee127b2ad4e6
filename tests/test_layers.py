"""Imports point one way, and reading a model never needs an array library.

``LAYERS`` lists the rooms from the ground up. A room (a module or a subpackage
directly below ``sympy_constrained``) may import itself and the rooms named
for it. An import inside a function counts; one below ``if TYPE_CHECKING:``
does not, because it never runs.
"""
import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / 'sympy_constrained'
NAME = PACKAGE.name
FILES = sorted(PACKAGE.rglob('*.py'))

BASE = {'errors', 'precision', '_compat'}
MODEL = BASE | {'graph', 'model'}
LAYERS = {
    'errors': set(),
    'precision': set(),
    'timing': set(),
    '_compat': {'errors'},
    'graph': {'errors'},
    'model': BASE | {'graph'},
    'analysis': MODEL,
    'contact': MODEL,
    'methods': MODEL | {'analysis'},
    'numeric': MODEL,
    'interop': MODEL | {'numeric'},
    'optimal': MODEL | {'numeric', 'interop'},
    'scene': MODEL | {'contact', 'numeric'},
    'plotting': MODEL | {'contact', 'numeric', 'scene'},
    'models': MODEL | {'contact', 'methods'},
    'comparison': MODEL | {'analysis', 'methods', 'numeric', 'plotting',
                           'models', 'timing'},
    'report': MODEL | {'contact', 'analysis', 'numeric', 'scene'}}
ANYTHING = {'__init__', '__main__'}     # the two doors of the package

ARRAY_LIBRARIES = {'numpy', 'scipy', 'matplotlib'}
USES_ARRAYS = {'numeric', 'interop', 'optimal', 'scene', 'plotting',
               'comparison', 'report', '__main__'}

# Calls that may hang on the matrices of a model, or decide by luck.
FORBIDDEN_CALLS = {'simplify', 'trigsimp', 'inv', 'pinv', 'det',
                   'inverse_ADJ', 'inverse_GE', 'inverse_LU'}


def unit(parts):
    """The unit of a module path below the package, ``()`` is the package."""
    return parts[0] if parts else '__init__'


def module_parts(file):
    """``graph/nodes.py`` -> ``('graph', 'nodes')``."""
    parts = file.relative_to(PACKAGE).with_suffix('').parts
    return parts[:-1] if parts[-1] == '__init__' else parts


def running_nodes(tree):
    """All nodes of a syntax tree but those only a type checker reads."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(
                node.test):
            waiting.extend(node.orelse)
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def imports(file):
    """Absolute dotted names that a file imports, with their line."""
    parts = module_parts(file)
    package = parts if file.name == '__init__.py' else parts[:-1]
    for node in running_nodes(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            start = ()
            if node.level:
                start = (NAME, *package[:len(package) - node.level + 1])
            start += tuple((node.module or '').split('.'))
            start = tuple(part for part in start if part)
            for alias in node.names:    # it may be a module or a member
                yield '.'.join((*start, alias.name)), node.lineno


def forbidden_call(node):
    """The name of a forbidden call, None for any other node."""
    if not isinstance(node, ast.Call):
        return None
    name = getattr(node.func, 'attr', getattr(node.func, 'id', None))
    if name == 'inv' and any(not isinstance(argument, ast.Constant)
                             for argument in node.args):
        return None             # GraphBuilder.inv(a), one reciprocal
    return name if name in FORBIDDEN_CALLS else None


def label(file):
    return file.relative_to(PACKAGE).as_posix()


def symbolic_files():
    return [file for file in FILES
            if unit(module_parts(file)) not in USES_ARRAYS]


def test_imports_point_one_way():
    wrong = []
    for file in FILES:
        name = unit(module_parts(file))
        if name in ANYTHING:
            continue
        allowed = LAYERS[name] | {name}
        wrong += [f'{label(file)}:{line} imports {dotted}'
                  for dotted, line in imports(file)
                  if dotted.partition('.')[0] == NAME
                  and unit(dotted.split('.')[1:]) not in allowed]
    assert not wrong, '\n'.join(wrong)


def test_array_libraries_stay_in_the_numeric_layer():
    wrong = [f'{label(file)}:{line} imports {dotted}'
             for file in symbolic_files() for dotted, line in imports(file)
             if dotted.split('.')[0] in ARRAY_LIBRARIES]
    assert not wrong, '\n'.join(wrong)


def test_no_forbidden_calls():
    wrong = [f'{label(file)}:{node.lineno} calls {forbidden_call(node)}'
             for file in symbolic_files()
             for node in ast.walk(ast.parse(file.read_text()))
             if forbidden_call(node)]
    assert not wrong, '\n'.join(wrong)


def test_the_map_has_no_circle():
    done = set()
    while len(done) < len(LAYERS):
        ready = {name for name, below in LAYERS.items()
                 if name not in done and below - {name} <= done}
        assert ready, f'circle among {sorted(set(LAYERS) - done)}'
        done |= ready


def loaded_by(statement, libraries):
    """Which of the libraries a fresh interpreter loads for a statement."""
    code = (f'import sys; {statement}; '
            f'print(*sorted(set(sys.modules) & {set(libraries)!r}))')
    result = subprocess.run([sys.executable, '-c', code], cwd=PACKAGE.parent,
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_importing_the_package_loads_no_array_library():
    assert not loaded_by(f'import {NAME}', ARRAY_LIBRARIES)


def test_numbers_and_pages_need_no_plotting_library():
    assert not loaded_by(f'import {NAME}.numeric, {NAME}.report',
                         {'matplotlib'})
