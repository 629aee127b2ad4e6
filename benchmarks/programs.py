"""The closed chains of the ready models in programs for mechanisms.

Each ``name(bars, q, u)`` gives a :class:`Program`: ``evaluate()`` does what
the program does for one state, ``accelerate(q, u)`` returns accelerations.
Coordinates are the relative angles of the models ``closed_chain`` and
``closed_chain_3d``.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np


@dataclass(frozen=True)
class Bars:
    """Bars on pins in a row, the end of the last one held at ``anchor``."""

    axes: str                   # 'z' or 'y' for each pin
    lengths: list
    masses: list
    centers: list               # along the bars
    moments: list               # central moments of inertia, three of each
    anchor: tuple | None
    gravity: float

    @classmethod
    def equal(cls, axes, length, mass, along, across, anchor, gravity):
        """Equal bars; ``along`` and ``across`` are moments of inertia."""
        n = len(axes)
        return cls(axes, [length]*n, [mass]*n, [length/2]*n,
                   [(along, across, across)]*n, anchor, gravity)

    @classmethod
    def of(cls, given):
        p = {str(name): value for name, value in given.parameters.items()}
        n, planar = len(given.coordinates), 'd' in p
        return cls.equal(
            'z'*n if planar else ('zy'*n)[:n], p['l'], p['m'],
            p.get('I1', 0.), p.get('I2', p['m']*p['l']**2/12),
            (p['d'], 0., 0.) if planar else (p['d1'], p['d2'], p['d3']),
            p['g'])

    def __iter__(self):
        """Axis, begin on the bar before, length, mass, centre, moments."""
        return zip(self.axes, [0., *self.lengths], self.lengths, self.masses,
                   self.centers, self.moments)

    @property
    def rows(self):
        """Directions in which the end is held."""
        return 3 if 'y' in self.axes else 2


@dataclass(frozen=True)
class Program:
    """A program on the chain: calls to time and accelerations to check."""

    version: str
    does: str
    evaluate: Callable
    accelerate: Callable
    idle: Callable | None = None        # the same calls on nothing


def solved(M, Q, A, b):
    """Accelerations from the blocks."""
    o, m = len(M), len(A)
    W = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    return np.linalg.solve(W, np.concatenate([Q, b]))[:o]


# -- Pinocchio ---------------------------------------------------------------

def pinocchio(bars, q, u, derivatives=False):
    import pinocchio as pin
    call = _pinocchio_call(bars, derivatives)
    idle = _pinocchio_call(None, derivatives)
    q, u = np.array(q), np.array(u)
    none = np.zeros(0)
    return Program(
        pin.__version__,
        'accelerations with the loop as a constraint (`constraintDynamics`)',
        lambda: call(q, u), lambda q, u: call(np.array(q), np.array(u)),
        lambda: idle(none, none))


def pinocchio_model(bars):
    """The model, its last joint, and the place of the end on it."""
    import pinocchio as pin
    model = pin.Model()
    model.gravity.linear = np.array([0, -bars.gravity, 0])
    kinds = {'z': pin.JointModelRZ, 'y': pin.JointModelRY}
    joint = 0
    for i, (axis, begin, length, mass, center, moments) in enumerate(bars):
        joint = model.addJoint(joint, kinds[axis](), pin.SE3(
            np.eye(3), np.array([begin, 0, 0])), f'pin{i}')
        model.appendBodyToJoint(joint, pin.Inertia(
            mass, np.array([center, 0, 0]), np.diag(moments)),
            pin.SE3.Identity())
    return model, joint, pin.SE3(np.eye(3), np.array([length, 0, 0]))


def _pinocchio_call(bars, derivatives=False):
    import pinocchio as pin
    model = pin.Model()
    rows, datas = (pin.StdVec_RigidConstraintModel(),
                   pin.StdVec_RigidConstraintData())
    if bars is not None:
        model, joint, end = pinocchio_model(bars)
        rows.append(pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, joint, end, 0,
            pin.SE3(np.eye(3), np.array(bars.anchor)),
            pin.ReferenceFrame.LOCAL))
        datas.append(rows[0].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, rows, datas)
    # A planar chain has an idle third row: a small regularization.
    settings = [] if bars is None or bars.rows == 3 else [
        pin.ProximalSettings(1e-14, 1e-10, 20)]
    none = np.zeros(model.nv)

    def call(q, u):
        return pin.constraintDynamics(model, data, q, u, none, rows, datas,
                                      *settings)

    def both(q, u):
        call(q, u)
        by = pin.computeConstraintDynamicsDerivatives(
            model, data, rows, datas, *settings)
        return np.hstack(by[:2])

    return both if derivatives else call


# -- Drake -------------------------------------------------------------------

def drake(bars, q, u):
    from importlib.metadata import version

    import pydrake.multibody.tree as tree
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant
    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(
        [0, -bars.gravity, 0])
    world = end = plant.world_frame()
    for i, (axis, begin, length, mass, center, moments) in enumerate(bars):
        body = plant.AddRigidBody(
            f'bar{i}', tree.SpatialInertia.MakeFromCentralInertia(
                mass, [center, 0, 0], tree.RotationalInertia(*moments)))
        start = plant.AddFrame(tree.FixedOffsetFrame(
            f'start{i}', end, RigidTransform([begin, 0, 0])))
        plant.AddJoint(tree.RevoluteJoint(
            f'pin{i}', start, body.body_frame(),
            [0, 0, 1] if axis == 'z' else [0, 1, 0]))
        end = body.body_frame()
    plant.Finalize()
    context, tip = plant.CreateDefaultContext(), np.array([[length], [0], [0]])
    kind, m = tree.JacobianWrtVariable.kV, bars.rows

    def blocks(q, u):
        plant.SetPositions(context, q)
        plant.SetVelocities(context, u)
        where = (kind, end, tip, world, world)
        return (plant.CalcMassMatrix(context),
                plant.CalcGravityGeneralizedForces(context)
                - plant.CalcBiasTerm(context),
                plant.CalcJacobianTranslationalVelocity(context, *where)[:m],
                -plant.CalcBiasTranslationalAcceleration(
                    context, *where)[:m, 0])

    q, u = np.array(q), np.array(u)
    return Program(
        version('drake'),
        'mass matrix, bias, loop Jacobian and its bias; no solution, for a '
        'continuous plant has no loops',
        lambda: blocks(q, u), lambda q, u: solved(*blocks(q, u)))


# -- Exudyn ------------------------------------------------------------------

def exudyn_system(bars, q, u):
    """The system of the bars, not assembled yet, and its node."""
    import exudyn as exu
    import exudyn.itemInterface as items
    n = len(bars.axes)
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.CreateGround()
    node = mbs.AddNode(items.NodeGenericODE2(
        numberOfODE2Coordinates=n, referenceCoordinates=[0]*n,
        initialCoordinates=list(q), initialCoordinates_t=list(u)))
    kinds = {'z': exu.JointType.RevoluteZ, 'y': exu.JointType.RevoluteY}
    turns, inertias = exu.Matrix3DList(), exu.Matrix3DList()
    offsets, centers = exu.Vector3DList(), exu.Vector3DList()
    for _, begin, _, _, center, moments in bars:
        turns.Append(np.eye(3))
        inertias.Append(np.diag(moments))
        offsets.Append([begin, 0, 0])
        centers.Append([center, 0, 0])
    tree = mbs.AddObject(items.ObjectKinematicTree(
        nodeNumber=node, jointTypes=[kinds[axis] for axis in bars.axes],
        linkParents=list(range(-1, n - 1)), jointTransformations=turns,
        jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centers,
        linkMasses=list(bars.masses), gravity=[0, -bars.gravity, 0]))
    if bars.anchor is not None:
        end = mbs.AddMarker(items.MarkerKinematicTreeRigid(
            objectNumber=tree, linkNumber=n - 1,
            localPosition=[bars.lengths[-1], 0, 0]))
        anchor = mbs.AddMarker(items.MarkerBodyRigid(
            bodyNumber=ground, localPosition=list(bars.anchor)))
        mbs.AddObject(items.ObjectJointSpherical(
            markerNumbers=[end, anchor],
            constrainedAxes=[1, 1, int(bars.rows == 3)]))
    return mbs, node


def exudyn(bars, q, u):
    import exudyn as exu
    n = len(bars.axes)
    mbs, _ = exudyn_system(bars, q, u)
    mbs.Assemble()
    solver, settings = exu.MainSolverImplicitSecondOrder(), (
        exu.SimulationSettings())
    settings.timeIntegration.verboseMode = 0
    solver.InitializeSolver(mbs, settings)
    size = n + solver.GetAEsize()
    solver.SetSystemJacobian(np.zeros((size, size)))

    def evaluate():
        solver.ComputeMassMatrix(mbs)
        solver.ComputeODE2RHS(mbs)
        solver.ComputeJacobianAE(mbs, 1, 1, 0)

    def jacobian(q):
        mbs.systemData.SetODE2Coordinates(q)
        solver.SetSystemJacobian(np.zeros((size, size)))
        solver.ComputeJacobianAE(mbs, 1, 1, 0)
        return solver.GetSystemJacobian()[n:n + bars.rows, :n]

    def accelerate(q, u):
        q, u = np.array(q), np.array(u)
        step = 1e-5                     # its A' u is not to be had alone
        b = -(jacobian(q + step*u) - jacobian(q - step*u))@u/(2*step)
        A = jacobian(q)
        mbs.systemData.SetODE2Coordinates_t(u)
        evaluate()
        return solved(solver.GetSystemMassMatrix()[:n, :n],
                      solver.GetSystemResidual()[:n], A, b)

    return Program(
        exu.__version__,
        'mass matrix, forces and loop Jacobian (`ObjectKinematicTree`); no '
        'bias of the loop, no solution',
        evaluate, accelerate)


# -- MuJoCo ------------------------------------------------------------------

def mujoco_model(bars):
    """The model of the bars; its loop is a stiff, soft constraint."""
    import mujoco as mj
    inner = f'<site name="end" pos="{float(bars.lengths[-1])!r} 0 0"/>'
    for axis, begin, _, mass, center, moments in reversed(list(bars)):
        moments = ' '.join(         # they must not vanish
            repr(max(float(x), 1e-12)) for x in moments)
        inner = (
            f'<body pos="{float(begin)!r} 0 0">'
            f'<joint axis="{"0 0 1" if axis == "z" else "0 1 0"}"/>'
            f'<inertial pos="{float(center)!r} 0 0" mass="{float(mass)!r}" '
            f'diaginertia="{moments}"/>{inner}</body>')
    anchor = ' '.join(repr(float(x)) for x in bars.anchor or (0, 0, 0))
    loop = '' if bars.anchor is None else (
        '<equality><connect site1="end" site2="anchor" '
        'solref="-1e-9 -1e-9" solimp="0.999999 0.999999 1"/></equality>')
    return mj.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option integrator="RK4" '
        f'gravity="0 {-float(bars.gravity)!r} 0" solver="Newton" '
        f'tolerance="1e-14"><flag contact="disable"/></option>'
        f'<worldbody><site name="anchor" pos="{anchor}"/>{inner}</worldbody>'
        f'{loop}</mujoco>')


def mujoco(bars, q, u):
    import mujoco as mj
    model = mujoco_model(bars)
    data = mj.MjData(model)

    def accelerate(q, u):
        data.qpos[:], data.qvel[:] = q, u
        mj.mj_forward(model, data)
        return data.qacc.copy()

    accelerate(q, u)
    return Program(
        mj.__version__,
        'accelerations with the loop as a soft constraint (`mj_forward`)',
        lambda: mj.mj_forward(model, data), accelerate)


PROGRAMS = {'pinocchio': pinocchio, 'drake': drake, 'exudyn': exudyn,
            'mujoco': mujoco}
