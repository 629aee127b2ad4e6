"""Frames, points and kinematic differential equations."""
from sympy import nan, sin
from sympy.physics.mechanics import (
    Particle, Point, ReferenceFrame, RigidBody, inertia)

from errors.parts import A, G, KD, LOOSE, N, O, P, Case, kane, l, m, u, v, x, y
from sympy_constrained import RouthMethod, VaccoMethod
from sympy_constrained.errors import (
    ConstrainedDynamicsError, KinematicsError, UnsupportedFeatureError)

LONELY = ReferenceFrame('lonely')
TURNING = ReferenceFrame('turning')
TURNING.orient_axis(LONELY, x, LONELY.z)
BY_HAND = O.locatenew('by hand', x*N.x + y*N.y)
BY_HAND.set_vel(N, u*N.x + u*sin(y)*N.y)
HURRIED = Point('hurried')
HURRIED.set_vel(N, u.diff()*N.x)


def bar(mass=m, frame=A, about=G, place=G, axes=A):
    return RigidBody('bar', place, frame, mass,
                     (inertia(axes, 0, 0, m*l**2), about))


CASES = (
    Case('no kinematic differential equations', lambda: kane(kd_eqs=None),
         KinematicsError, '`kd_eqs` is missing',
         'nothing relates the derivatives of x(t), y(t) to the speeds',
         'Pass `kd_eqs` with one equation for each'),
    Case('too few kinematic differential equations',
         lambda: kane(kd_eqs=KD[:1]), KinematicsError,
         'No row of `kd_eqs` contains', '1, coordinates that need one: 2)',
         'Add the kinematic differential equation of y(t)'),
    Case('kinematic differential equations that depend on each other',
         lambda: kane(kd_eqs=[x.diff() + y.diff() - u,
                              2*x.diff() + 2*y.diff() - v]),
         KinematicsError, 'The rows of `kd_eqs` for x(t), y(t) depend',
         'on each other, so the derivatives of these',
         'Give independent equations'),
    Case('too many kinematic differential equations',
         lambda: kane(kd_eqs=[*KD, x.diff() - v]), KinematicsError,
         '`kd_eqs` has 3', 'equations for 2 coordinates',
         'Each coordinate needs one; add or remove rows'),
    Case('a kinematic differential equation without a derivative',
         lambda: kane(kd_eqs=[x - u, y.diff() - v]),
         KinematicsError, 'Row 0 of `kd_eqs` contains no derivative of',
         'Remove the row, or correct it, or name its',
         'Add the kinematic differential equation of x(t)'),
    Case('a kinematic differential equation that is not linear in q\'',
         lambda: kane(kd_eqs=[x.diff()/u - y, y.diff() - v]), KinematicsError,
         'Row 0 of `kd_eqs` is not linear in Derivative(x(t), t), u(t)',
         'Kinematic differential equations must be', 'use GibbsAppellMethod'),
    Case('nan in a kinematic differential equation',
         lambda: kane(kd_eqs=[x.diff() - nan, y.diff() - v]),
         ConstrainedDynamicsError, 'Row 0 of `kd_eqs`',
         'The model contains `nan`, which is not a',
         'replace it by a real expression'),
    Case('fewer speeds than coordinates for a Lagrangian method',
         lambda: kane(VaccoMethod, u_ind=[u], kd_eqs=[
             x.diff() - u, y.diff() - u]),
         UnsupportedFeatureError, 'The model has 2 coordinates and 1 speeds',
         'This method varies a Lagrangian, which',
         'use coordinates without relations among them'),
    Case('speeds that depend on each other for a Lagrangian method',
         lambda: kane(RouthMethod, kd_eqs=[
             x.diff() - u - v, y.diff() - u - v]),
         KinematicsError, 'The kinematic differential equations cannot',
         'some of them depend on each other',
         'Give independent speeds, e.g. the derivatives of'),
    Case('a body at a point without velocity and position',
         lambda: kane(bodies=[Particle('a', LOOSE, m)]),
         KinematicsError, 'Body a: Point loose has no velocity in N,',
         'and no point that is connected to it by',
         'Set the velocity of the fixed point with'),
    Case('an inertia in a frame that is not oriented',
         lambda: kane(bodies=[bar(axes=LONELY)]), KinematicsError, 'Body',
         'bar', 'Frame A has no orientation relative to frame'),
    Case('a force in the axes of a frame that is not oriented',
         lambda: kane(forcelist=[(P, LONELY.x)]), KinematicsError, 'Load 0',
         'at P', 'Frame lonely has no orientation relative to frame'),
    Case('a velocity constraint at a point of another tree',
         lambda: kane(velocity_constraints=[(LOOSE, N.x)]),
         KinematicsError, 'Point loose has no velocity in N, and no',
         'point that is connected to it by positions',
         'Set the velocity of the fixed point with'),
    Case('a velocity constraint along a frame that is not oriented',
         lambda: kane(velocity_constraints=[(P, LONELY.x)]),
         KinematicsError, 'Frame N has no orientation relative to',
         'A vector or an inertia is written in it',
         'orient the frame with one of its `orient_...`'),
    Case('a velocity that was put in by hand for a Lagrangian method',
         lambda: kane(VaccoMethod, q_ind=[x, y], bodies=[
             Particle('a', BY_HAND, m)]), UnsupportedFeatureError,
         'The equations of motion of these bodies are',
         'A velocity was set that is not the',
         'State every velocity in the coordinates and give'),)
