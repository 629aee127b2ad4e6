"""A page with a model, its equations and a motion that runs in a browser."""
from .report import Report, report

__all__ = ['Report', 'report']
