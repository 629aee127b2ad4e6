"""Equations whose label is a name, such as ``U4``, are numbered by it.

The docstrings speak of (U4); so the theory pages show (U4) beside the
equation, and ``:eq:`U4``` is written so, whatever comes before it. Labels of
another form are counted from 1 on every page.
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
