"""Derivation of rolling contact: time and size, nothing simplified.

An ellipsoid and a torus on a plane, in every formulation: from the surfaces to
the constraint rows and kinematic equations of the contact, and on to the
equations of motion. Processor time, medians of repeated runs with symbols and
bodies built afresh. Operations are counted in the rows as SymPy writes them,
as trees, and with what they share counted once, as the graph has them. ``make
bench`` runs it.

"""
import sys
import time
from statistics import median

import sympy
from sympy import Matrix, count_ops, symbols
from sympy.core.cache import clear_cache
from sympy.physics.mechanics import (
    Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia)

from sympy_constrained import (
    EllipsoidSurface, PlaneSurface, PointContact, TorusSurface,
    UdwadiaKalabaMethod)
from sympy_constrained.graph import Graph

RUNS = 5
SURFACES = {
    'ellipsoid': lambda B, C: EllipsoidSurface(B, C, symbols('a b c')),
    'torus': lambda B, C: TorusSurface(B, C, *symbols('R r'), B.y)}


def free_body():
    """A body with z-y-z angles and the speeds of its centre and its frame."""
    q, u = dynamicsymbols('q1:7'), dynamicsymbols('u1:7')
    N, B = ReferenceFrame('N'), ReferenceFrame('B')
    O, C = Point('O'), Point('C')
    O.set_vel(N, 0)
    C.set_pos(O, q[0]*N.x + q[1]*N.y + q[2]*N.z)
    C.set_vel(N, u[0]*N.x + u[1]*N.y + u[2]*N.z)
    B.orient_body_fixed(N, q[3:], 'zyz')
    turning = B.ang_vel_in(N)
    B.set_ang_vel(N, u[3]*B.x + u[4]*B.y + u[5]*B.z)
    kdes = [x.diff() - v for x, v in zip(q, u[:3])] + [
        (turning - B.ang_vel_in(N)).dot(e) for e in B]
    body = RigidBody('body', C, B, symbols('m'), (
        inertia(B, *symbols('I1:4')), C))
    return q, u, kdes, RigidBody('plane', O, N), body


def derived(shape, formulation):
    """Seconds for rows and equations, and the two."""
    clear_cache()
    q, u, kdes, plane, body = free_body()
    N, B = plane.frame, body.frame
    start = time.process_time()
    contact = PointContact(
        'c', plane, body, PlaneSurface(N, plane.masscenter, N.z),
        SURFACES[shape](B, body.masscenter), formulation=formulation)
    own = contact.kdes
    rows = contact.holonomic_constraints + contact.velocity_constraints
    middle = time.process_time()
    equations = UdwadiaKalabaMethod(
        N, [*q, *contact.coordinates], [*u, *contact.speeds], kdes + own,
        configuration_constraints=contact.holonomic_constraints,
        velocity_constraints=contact.velocity_constraints, bodies=[body],
        forcelist=[(body.masscenter, -body.mass*symbols('g')*N.z)],
    ).equations_of_motion
    return (middle - start, time.process_time() - middle, rows + own,
            equations)


def row(shape, formulation):
    runs = [derived(shape, formulation) for _ in range(RUNS)]
    rows, equations = runs[-1][2:]
    shared = Graph.of({'rows': Matrix(rows)}, dynamicsymbols._t)
    return (f'| {shape} | {formulation} | {1e3*median(x[0] for x in runs):.0f}'
            f' | {sum(map(count_ops, rows))} | {shared.operation_count()} | '
            f'{1e3*median(x[1] for x in runs):.0f} | '
            f'{equations.graph.operation_count(("rates", "W", "r"))} |')


def main():
    print(f'Python {sys.version.split()[0]}, SymPy {sympy.__version__}; '
          'milliseconds of processor time, operations')
    print()
    print('| body | formulation | contact ms | operations as trees | shared '
          '| equations ms | operations |')
    print('|---'*7 + '|')
    for shape in SURFACES:
        for formulation in ('explicit', 'augmented', 'kinematic'):
            print(row(shape, formulation), flush=True)


if __name__ == '__main__':
    main()
