"""The equations in LaTeX, in the notation of the documentation."""
from sympy import Matrix, numbered_symbols
from sympy.physics.vector import vlatex

from ..numeric.compiled import equations_of


# Shared parts get names if the equations have more operations than this.
SHORT = 60


def to_latex(model, shared=None) -> str:
    r"""Return the equations of motion in LaTeX, not solved.

    Kinematic equations, ``W z = r`` with the accelerations and multipliers
    ``z``, and the constraints, in an ``align*`` environment of ``amsmath``.

    Examples
    ========

    >>> from sympy_constrained import UdwadiaKalabaMethod
    >>> from sympy_constrained.interop import to_latex
    >>> from sympy_constrained.models import model
    >>> pendulum = model('cartesian_pendulum').form(UdwadiaKalabaMethod)
    >>> print(to_latex(pendulum))
    \begin{align*}
    \left[\begin{matrix}m & 0 & - x\\0 & m & - y\\x & y & 0\end{matrix}\right]
    \left[\begin{matrix}\ddot{x}\\\ddot{y}\\lam_{1}\end{matrix}\right] &=
    \left[\begin{matrix}0\\- g m\\- \dot{x}^{2} -
    \dot{y}^{2}\end{matrix}\right] \\
    0 &= - \frac{L^{2}}{2} + \frac{x^{2}}{2} + \frac{y^{2}}{2}
    \end{align*}

    Parameters
    ==========

    model : a method or EquationsOfMotion
    shared : bool, optional
        Whether parts that occur more than once are named ``a_1, a_2, ...``
        and come first; by default if the equations are long.

    """
    equations = equations_of(model)
    graph, names = equations.graph, (
        'rates', 'W', 'r', 'holonomic', 'velocity')
    if shared is None:
        shared = graph.operation_count(names) > SHORT
    parts, out = graph.assignments(names, numbered_symbols('a_', start=1)) \
        if shared else ([], {name: graph.sympy(name) for name in names})
    lines = [f'{vlatex(name)} &= {vlatex(e)}' for name, e in parts]
    lines += [f'{vlatex(x.diff(equations.t))} &= {vlatex(rate)}'
              for x, rate in zip(equations.states, out['rates'])
              if x.diff(equations.t) != rate]
    lines.append(f"{vlatex(out['W'])} {vlatex(Matrix(equations.unknowns))} "
                 f"&= {vlatex(out['r'])}")
    rows = [*out['holonomic'], *out['velocity'][len(out['holonomic']):]]
    lines += [f'0 &= {vlatex(e)}' for e in rows]
    return '\n'.join([r'\begin{align*}', ' \\\\\n'.join(lines),
                      r'\end{align*}'])
