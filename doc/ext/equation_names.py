"""Number equations by their label if it is a name such as ``U4``.

Docstrings refer to (U4), so the theory pages show this number at the equation
and for ``:eq:`U4```. Labels of another form are counted from 1 on every page.
"""
import re
from itertools import count

from docutils import nodes

NAME = re.compile(r'[A-Z]\d+')


def number_by_name(app, doctree):
    equations = app.env.get_domain('math').equations
    numbers = count(1)
    for node in doctree.findall(nodes.math_block):
        label = node.get('label')
        if label:
            node['number'] = (label if NAME.fullmatch(label)
                              else next(numbers))
            equations[label] = app.env.docname, node['number']


def setup(app):
    app.connect('doctree-read', number_by_name)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
