"""Equations whose label is a name, such as ``U4``, are numbered by it.

The docstrings speak of (U4); so the theory pages show (U4) beside the
equation, and ``:eq:`U4``` is written so, whatever comes before it. Labels of
another form keep Sphinx's counting.
"""
import re

from docutils import nodes

NAME = re.compile(r'[A-Z]\d+')


def number_by_name(app, doctree):
    equations = app.env.get_domain('math').equations
    for node in doctree.findall(nodes.math_block):
        label = node.get('label')
        if label and NAME.fullmatch(label):
            node['number'] = label
            equations[label] = app.env.docname, label


def setup(app):
    app.connect('doctree-read', number_by_name)
    return {'version': '1', 'parallel_read_safe': True,
            'parallel_write_safe': True}
