"""Whether velocities, and Lagrange's equations of the energy, are right."""
from contextlib import suppress
from dataclasses import replace

from mpmath import mp

from ..errors import (
    InconsistentConstraintsError, UnsupportedFeatureError, warn)
from ..graph import Graph, gradient
from ..model.build import kinematics_of
from ..model.velocity_checks import DIFFERENT
from ..precision import precise
from .consistent_points import (
    admissible_values, evaluated, norm, orthonormal_rows, project_out)
from .zero_tests import values_at

# A gap below these shares of its forces, and of all forces, is rounding.
SAME, NOISE = mp.mpf('1e-9'), mp.mpf('1e-12')


def check_lagrangian(system, sample):
    """Raise unless bodies obey Lagrange's equations on the constraints.

    There both may differ by a combination of the rows of ``A``, which only
    changes multipliers: angular velocities of quaternions are right for the
    unit norm. They differ by more where rolling, say, was put into velocities
    by hand.
    """
    kinematics = kinematics_of(system)
    g, out = system.graph.load(
        kinematics.builder, ('lagrangian', 'applied', 'Q'))
    slopes = gradient(g, out['lagrangian'][0][0],
                      kinematics.u + kinematics.q)
    count = len(kinematics.u)
    forces = [[g.add(g.sub(slope, kinematics.bias(momentum)), applied)]
              for momentum, slope, [applied] in zip(
                  slopes[:count], slopes[count:], out['applied'])]
    if all(g.same_value(x, y) for [x], [y] in zip(forces, out['Q'])):
        return
    graph = Graph.freeze(g, {'forces': (forces, 1), 'Q': (out['Q'], 1)})
    if not agree_on_constraints(system, graph, sample):
        raise UnsupportedFeatureError(
            "The equations of motion of these bodies are not Lagrange's "
            "equations of their kinetic energy. A velocity was set that is "
            "not the derivative of a position (rolling put in by hand?), a "
            "mass depends on the motion, or coordinates are a quaternion "
            "whose norm is not among the constraints. State every velocity "
            "in the coordinates and give the constraints as rows, or use "
            "UdwadiaKalabaMethod.")


def agree_on_constraints(system, graph, sample):
    """Whether forces differ by rows of ``A`` only, at an admissible state."""
    # Its speeds are random, for at rest no velocity would be wrong.
    known = {*system.graph.inputs, *system.q}.difference(system.u)
    sample = {x: sample[x] for x in known.intersection(sample or ())}
    values = admissible_values(system, sample, seed=1)
    with precise():
        out = values_at(system, graph, values, ('forces', 'Q'))
        force, known = ([x for x, in out[name]] for name in ('forces', 'Q'))
        rows, _ = orthonormal_rows(evaluated(system, values, ('A',))['A'])
        gap, _ = project_out([x - y for x, y in zip(force, known)], rows)
        size = NOISE*norm(force + known)
        return all(abs(x) <= SAME*max(abs(y), abs(z)) + size
                   for x, y, z in zip(gap, force, known))


def checked_velocities(system, sample):
    """Warn of velocities that are not the derivative of the position, with all
    speeds that the constraints allow; the system without the differences.
    """
    graph = system.graph
    names = [x for x in graph.outputs if DIFFERENT in x]
    if not names:
        return system
    with precise(), suppress(InconsistentConstraintsError, ArithmeticError):
        out = evaluated(system, admissible_values(
            system, sample, seed=1), (*names, 'A'))
        for name in names:
            if are_different(out[name][:3], out[name][3:], out['A']):
                name, what = name.rsplit(DIFFERENT, 1)
                warn(f"The {name} is not the derivative of its {what} by "
                     "`kd_eqs`, even where the constraints hold. The "
                     "equations of motion use the velocity that was set, "
                     f"but potential energies and pictures use the {what}. "
                     "Correct one of them, or `kd_eqs`.")
    return replace(system, graph=graph.updated(*graph.load(
        None, [x for x in graph.outputs if x not in names])))


def are_different(gaps, spins, A):
    """Whether gaps are no rows of ``A``, nor along those of the ``spins``."""
    rows, _ = orthonormal_rows(A)
    axes, _ = orthonormal_rows([[mp.fdot(row, x) for row in gaps]
                                for x in spins])
    left = zip(*(project_out(row, rows)[0] for row in gaps))
    return any(norm(project_out(x, axes)[0]) > SAME*(1 + norm(sum(gaps, [])))
               for x in left)
