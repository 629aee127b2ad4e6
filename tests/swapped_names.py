"""A plugin of pytest: a suite of others with the names of the classes changed.

``python -m pytest -p swapped_names --pyargs pydy`` runs PyDy's suite with
``UdwadiaKalabaMethod`` wherever it, or SymPy's ``System``, takes a method
from ``sympy.physics.mechanics``.
"""
import sympy.physics.mechanics as me

from sympy_constrained import UdwadiaKalabaMethod


def pytest_configure():
    """Before the modules of the suite are imported."""
    for function in (me.JointsMethod.form_eoms, me.System.form_eoms,
                     me.System.validate_system):
        function.__defaults__ = tuple(
            UdwadiaKalabaMethod if x is me.KanesMethod else x
            for x in function.__defaults__)
    me.KanesMethod = me.LagrangesMethod = UdwadiaKalabaMethod
