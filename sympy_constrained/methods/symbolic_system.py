"""SymPy's ``SymbolicSystem`` of a method."""
from sympy import ImmutableDenseMatrix
from sympy.physics.mechanics import SymbolicSystem


def symbolic_system(method):
    """Return SymPy's ``SymbolicSystem`` of a method, with explicit rates."""
    states = method.equations_of_motion.states
    index = states.index
    return SymbolicSystem(
        ImmutableDenseMatrix(states), method.rhs()[:len(states), :],
        coord_idxs=tuple(map(index, method.q)),
        speed_idxs=tuple(map(index, method.u)),
        bodies=method.bodies or None, loads=method.loads or None)
