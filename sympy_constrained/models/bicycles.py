"""The Whipple bicycle of the benchmark paper, in two sets of coordinates.

Symbols and numbers are those of SymPy's tutorial: radii ``WRrad``, ``WFrad``
of the wheels, tilt ``htangle`` of the steer axis, masses ``m..`` and moments
of inertia ``I..`` of frame, fork, rear (``wr``) and front (``wf``) wheel.
"""
from math import acos, cos, hypot, pi, sin

from sympy import Matrix, symbols
from sympy.physics.mechanics import (
    Point, ReferenceFrame, cross, dot, dynamicsymbols)

from ..contact import CircularRim, PlaneSurface
from ._model import (
    Model, inertial, kane_model, kdes, ready, rigid_body, weights)


def _geometry():
    """Lengths of the benchmark bicycle in the axes of its frame and fork.

    The paper measures from the rear contact point, x forward and z down; the
    model measures along and across the steer axis.
    """
    rear, front = 0.3, 0.35
    head = pi/2 - pi/10
    trail, base = 0.08, 1.02
    frame_x, frame_z = 0.3, 0.9
    fork_x, fork_z = 0.9, 0.7
    s, c = sin(head), cos(head)
    rake = -(trail*s - front*c)
    length = base*s - (rake - (front - rear)*c)
    fork_length = base*c - (front - rear)*s
    up = frame_z - rear - frame_x/s*c
    drop, ahead = fork_z - front, base - fork_x
    reach = hypot(drop, ahead)
    tilt = pi/2 - head - acos(drop/reach)
    return {
        'WFrad': front, 'WRrad': rear, 'htangle': head, 'forkoffset': rake,
        'forklength': fork_length, 'framelength': length,
        'forkcg1': reach*cos(tilt) - fork_length,
        'forkcg3': rake + reach*sin(tilt),
        'framecg1': up*s, 'framecg3': frame_x/s + up*c}


_BODIES = {
    'Iwr11': 0.0603, 'Iwr22': 0.12, 'Iwf11': 0.1405, 'Iwf22': 0.28,
    'Ifork11': 0.05892, 'Ifork22': 0.06, 'Ifork33': 0.00708,
    'Ifork31': 0.00756, 'Iframe11': 9.2, 'Iframe22': 11.0, 'Iframe33': 2.8,
    'Iframe31': -2.4, 'mfork': 4.0, 'mframe': 85.0, 'mwf': 3.0, 'mwr': 2.0,
    'g': 9.81}


def _bicycle(whole: bool) -> Model:
    q1, q2, q3, q4, q5, q6, q7, q8 = dynamicsymbols('q1:9')
    u1, u2, u3, u4, u5, u6, u7, u8 = dynamicsymbols('u1:9')
    values = {**_geometry(), **_BODIES}
    (WFrad, WRrad, htangle, forkoffset, forklength, framelength, forkcg1,
     forkcg3, framecg1, framecg3, Iwr11, Iwr22, Iwf11, Iwf22, Ifork11,
     Ifork22, Ifork33, Ifork31, Iframe11, Iframe22, Iframe33, Iframe31, mfork,
     mframe, mwf, mwr, g) = constants = symbols(list(values))

    # Yaw, roll, pitch of the frame, steer; the wheels are bodies of
    # revolution and need no orientation. Products of inertia are given in
    # frames aligned with those of the paper.
    N, origin = inertial()
    Y = N.orientnew('Y', 'Axis', [q1, N.z])
    R = Y.orientnew('R', 'Axis', [q2, Y.x])
    frame = R.orientnew('frame', 'Axis', [q4 + htangle, R.y])
    paper_frame = frame.orientnew('paper_frame', 'Axis', [-htangle, frame.y])
    fork = frame.orientnew('fork', 'Axis', [q5, frame.x])
    paper_fork = fork.orientnew('paper_fork', 'Axis', [-htangle, fork.y])
    WR, WF = ReferenceFrame('WR'), ReferenceFrame('WF')
    Y.set_ang_vel(N, u1*Y.z)
    R.set_ang_vel(Y, u2*R.x)
    WR.set_ang_vel(frame, u3*frame.y)
    frame.set_ang_vel(R, u4*frame.y)
    fork.set_ang_vel(frame, u5*fork.x)
    WF.set_ang_vel(fork, u6*fork.y)

    rear_contact = Point('rear_contact')
    rear = rear_contact.locatenew('rear', WRrad*R.z)
    steer = rear.locatenew('steer', framelength*frame.z)
    frame_center = rear.locatenew('frame_center',
                                  -framecg1*frame.x + framecg3*frame.z)
    fork_center = steer.locatenew('fork_center',
                                  -forkcg1*fork.x + forkcg3*fork.z)
    front = steer.locatenew('front', forklength*fork.x + forkoffset*fork.z)
    front_contact = front.locatenew('front_contact', WFrad*(
        dot(fork.y, Y.z)*fork.y - Y.z).normalize())

    if whole:
        rear_contact.set_pos(origin, q7*N.x + q8*N.y)
        rear.set_vel(N, u7*N.x + u8*N.y
                     + cross(R.ang_vel_in(N), WRrad*R.z))
        skid = rear.vel(N) + cross(WR.ang_vel_in(N), -WRrad*R.z)
        rows = [dot(skid, N.x), dot(skid, N.y)]
    else:
        rear_contact.set_vel(N, 0)
        rear.v2pt_theory(rear_contact, N, WR)
        rows = []
    steer.v2pt_theory(rear, N, frame)
    frame_center.v2pt_theory(rear, N, frame)
    fork_center.v2pt_theory(steer, N, fork)
    front.v2pt_theory(steer, N, fork)
    front_contact.v2pt_theory(front, N, WF)
    rows += [dot(front_contact.vel(N), axis) for axis in Y]

    bodies = [
        rigid_body('frame', frame_center, frame, mframe, Iframe11, Iframe22,
                   Iframe33, 0, 0, Iframe31, axes=paper_frame),
        rigid_body('fork', fork_center, fork, mfork, Ifork11, Ifork22,
                   Ifork33, 0, 0, Ifork31, axes=paper_fork),
        rigid_body('rear_wheel', rear, WR, mwr, Iwr11, Iwr22, Iwr11,
                   axes=frame),
        rigid_body('front_wheel', front, WF, mwf, Iwf11, Iwf22, Iwf11,
                   axes=fork)]
    q, u = [q1, q2, q4, q5], [u1, u2, u4, u5]
    q_ind, u_ind, u_dep = [q1, q2, q5], [u2, u3, u5], [u1, u4, u6]
    speed = 4.6  # inside the range of self-stable speeds of the paper
    moving = {u2: 0.5, u3: speed/values['WRrad'], u6: speed/values['WFrad']}
    if whole:
        q, u = [*q, q3, q6, q7, q8], [*u, u3, u6, u7, u8]
        q_ind, u_dep = [*q_ind, q3, q6, q7, q8], [*u_dep, u7, u8]
        moving |= {u7: speed}
    # A frame of each wheel's axle, because the wheels have no orientation.
    surfaces = [CircularRim(frame, rear, WRrad, frame.y),
                CircularRim(fork, front, WFrad, fork.y)]
    if whole:
        surfaces.append(PlaneSurface(N, origin, N.z))
    return kane_model(
        N, q_ind, u_ind, kdes(q, u), q_dependent=[q4],
        configuration_constraints=[
            dot(front_contact.pos_from(rear_contact), Y.z)],
        u_dependent=u_dep, velocity_constraints=Matrix(rows), bodies=bodies,
        forcelist=weights(bodies, -g*Y.z),
        visual={'surfaces': surfaces},
        # The default LU returns wrong numbers here without a warning.
        constraint_solver='CRAMER',
        parameters=dict(zip(constants, values.values())),
        start=dict.fromkeys((*q_ind, q4, *u_ind, *u_dep), 0.0) | moving,
        t_end=5.0)


@ready
def bicycle() -> Model:
    """The Whipple bicycle of the benchmark paper.

    Four coordinates (yaw ``q1``, roll ``q2``, frame pitch ``q4``, steer
    ``q5``), six speeds (also the wheel rates ``u3``, ``u6``) and three
    constraint rows for the front contact; rolling of the rear wheel is put in
    by hand. It starts at 4.6 m/s with a roll rate and rights itself.

    Source: J. P. Meijaard, J. M. Papadopoulos, A. Ruina and A. L. Schwab,
    Proc. R. Soc. A 463 (2007) 1955-1982; SymPy documentation, tutorial
    "Bicycle".
    """
    return _bicycle(whole=False)


@ready
def bicycle_whole() -> Model:
    """The Whipple bicycle, with its wheel angles and path.

    As :func:`bicycle`, with the wheel angles ``q3``, ``q6`` and the path
    ``q7``, ``q8`` of the rear contact point as coordinates and two more
    rolling rows.

    Source: J. P. Meijaard, J. M. Papadopoulos, A. Ruina and A. L. Schwab,
    Proc. R. Soc. A 463 (2007) 1955-1982; SymPy documentation, tutorial
    "Bicycle".
    """
    return _bicycle(whole=True)
