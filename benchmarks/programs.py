"""The closed chains of the ready models in programs for mechanisms.

Each ``name(chain)`` gives a :class:`Program`: ``evaluate()`` does what the
program does for one state, ``accelerate(q, u)`` returns accelerations.
Coordinates are the relative angles of the models ``closed_chain`` and
``closed_chain_3d``.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np


@dataclass(frozen=True)
class Chain:
    """Bars on pins, the end of the last one held at ``anchor``."""

    axes: str                   # 'z' or 'y' for each pin
    length: float
    mass: float
    along: float                # central moments of inertia
    across: float
    anchor: tuple
    gravity: float

    @classmethod
    def of(cls, given):
        """From a ready model."""
        p = {str(name): value for name, value in given.parameters.items()}
        n, planar = len(given.coordinates), 'd' in p
        return cls(
            'z'*n if planar else ('zy'*n)[:n], p['l'], p['m'],
            p.get('I1', 0.), p.get('I2', p['m']*p['l']**2/12),
            (p['d'], 0., 0.) if planar else (p['d1'], p['d2'], p['d3']),
            p['g'])

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

def pinocchio(chain, q, u, derivatives=False):
    import pinocchio as pin
    call = _pinocchio_call(chain, derivatives)
    idle = _pinocchio_call(None, derivatives)
    q, u = np.array(q), np.array(u)
    none = np.zeros(0)
    return Program(
        pin.__version__,
        'accelerations with the loop as a constraint (`constraintDynamics`)',
        lambda: call(q, u), lambda q, u: call(np.array(q), np.array(u)),
        lambda: idle(none, none))


def _pinocchio_call(chain, derivatives=False):
    import pinocchio as pin
    model = pin.Model()
    joint, place = 0, pin.SE3.Identity()
    rows, datas = (pin.StdVec_RigidConstraintModel(),
                   pin.StdVec_RigidConstraintData())
    if chain is not None:
        model.gravity.linear = np.array([0, -chain.gravity, 0])
        kinds = {'z': pin.JointModelRZ, 'y': pin.JointModelRY}
        bar = pin.Inertia(
            chain.mass, np.array([chain.length/2, 0, 0]),
            np.diag([chain.along, chain.across, chain.across]))
        for i, axis in enumerate(chain.axes):
            joint = model.addJoint(joint, kinds[axis](), place, f'pin{i}')
            model.appendBodyToJoint(joint, bar, pin.SE3.Identity())
            place = pin.SE3(np.eye(3), np.array([chain.length, 0, 0]))
        rows.append(pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, joint, place, 0,
            pin.SE3(np.eye(3), np.array(chain.anchor)),
            pin.ReferenceFrame.LOCAL))
        datas.append(rows[0].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, rows, datas)
    # A planar chain has an idle third row: a small regularization.
    settings = pin.ProximalSettings(1e-14, 1e-10, 20)
    none = np.zeros(model.nv)

    def call(q, u):
        return pin.constraintDynamics(model, data, q, u, none, rows, datas,
                                      settings)

    def both(q, u):
        pin.constraintDynamics(model, data, q, u, none, rows, datas, settings)
        by = pin.computeConstraintDynamicsDerivatives(
            model, data, rows, datas, settings)
        return np.hstack(by[:2])

    return both if derivatives else call


# -- Drake -------------------------------------------------------------------

def drake(chain, q, u):
    from importlib.metadata import version

    import pydrake.multibody.tree as tree
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant
    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(
        [0, -chain.gravity, 0])
    world = plant.world_frame()
    bar = tree.SpatialInertia.MakeFromCentralInertia(
        chain.mass, [chain.length/2, 0, 0], tree.RotationalInertia(
            chain.along, chain.across, chain.across))
    end, tip = world, [0, 0, 0]
    for i, axis in enumerate(chain.axes):
        body = plant.AddRigidBody(f'bar{i}', bar)
        start = plant.AddFrame(tree.FixedOffsetFrame(
            f'start{i}', end, RigidTransform(tip)))
        plant.AddJoint(tree.RevoluteJoint(
            f'pin{i}', start, body.body_frame(),
            [0, 0, 1] if axis == 'z' else [0, 1, 0]))
        end, tip = body.body_frame(), [chain.length, 0, 0]
    plant.Finalize()
    context, tip = plant.CreateDefaultContext(), np.array([tip]).T
    kind, m = tree.JacobianWrtVariable.kV, chain.rows

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

def exudyn(chain, q, u):
    import exudyn as exu
    import exudyn.itemInterface as items
    n = len(chain.axes)
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.CreateGround()
    node = mbs.AddNode(items.NodeGenericODE2(
        numberOfODE2Coordinates=n, referenceCoordinates=[0]*n,
        initialCoordinates=list(q), initialCoordinates_t=list(u)))
    kinds = {'z': exu.JointType.RevoluteZ, 'y': exu.JointType.RevoluteY}
    turns, inertias = exu.Matrix3DList(), exu.Matrix3DList()
    offsets, centers = exu.Vector3DList(), exu.Vector3DList()
    for i in range(n):
        turns.Append(np.eye(3))
        inertias.Append(np.diag([chain.along, chain.across, chain.across]))
        offsets.Append([chain.length if i else 0, 0, 0])
        centers.Append([chain.length/2, 0, 0])
    tree = mbs.AddObject(items.ObjectKinematicTree(
        nodeNumber=node, jointTypes=[kinds[axis] for axis in chain.axes],
        linkParents=list(range(-1, n - 1)), jointTransformations=turns,
        jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centers,
        linkMasses=[chain.mass]*n, gravity=[0, -chain.gravity, 0]))
    end = mbs.AddMarker(items.MarkerKinematicTreeRigid(
        objectNumber=tree, linkNumber=n - 1,
        localPosition=[chain.length, 0, 0]))
    anchor = mbs.AddMarker(items.MarkerBodyRigid(
        bodyNumber=ground, localPosition=list(chain.anchor)))
    mbs.AddObject(items.ObjectJointSpherical(
        markerNumbers=[end, anchor],
        constrainedAxes=[1, 1, int(chain.rows == 3)]))
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
        return solver.GetSystemJacobian()[n:n + chain.rows, :n]

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

def mujoco(chain, q, u):
    import mujoco as mj
    inner = '<site name="end" pos="{0!r} 0 0"/>'.format(chain.length)
    for i, axis in reversed(list(enumerate(chain.axes))):
        start = chain.length if i else 0
        # Its inertias must not vanish.
        moments = max(chain.along, 1e-12), chain.across, chain.across
        inner = (
            f'<body pos="{start!r} 0 0">'
            f'<joint axis="{"0 0 1" if axis == "z" else "0 1 0"}"/>'
            f'<inertial pos="{chain.length/2!r} 0 0" mass="{chain.mass!r}" '
            f'diaginertia="{" ".join(map(repr, moments))}"/>{inner}</body>')
    anchor = ' '.join(map(repr, chain.anchor))
    model = mj.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/>'
        f'<option gravity="0 {-chain.gravity!r} 0" solver="Newton" '
        f'tolerance="1e-14"><flag contact="disable"/></option>'
        f'<worldbody><site name="anchor" pos="{anchor}"/>{inner}</worldbody>'
        f'<equality><connect site1="end" site2="anchor" '
        f'solref="-1e-9 -1e-9" solimp="0.999999 0.999999 1"/></equality>'
        f'</mujoco>')
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
