"""A page with a model, its equations and a motion that runs in a browser.

:func:`report` makes one file without references to others, to be opened, sent
by mail, or shown in a notebook.
"""
from .report import Report, report

__all__ = ['Report', 'report']
