"""Motions of planar bars by MuJoCo and Exudyn, with fixed steps.

Each ``name(bars, times)`` gives a function of the number of steps between two
outputs, which returns a function that makes the motion: angles and their rates
at the outputs.
"""
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bars:
    """Bars on pins in a row; the end of the last is held at ``anchor``."""

    lengths: list
    masses: list
    centers: list               # along the bars
    moments: list               # about the centers
    anchor: tuple | None
    gravity: float
    q: np.ndarray               # relative angles at the start
    u: np.ndarray
    states: object              # of the model, from angles and rates

    @classmethod
    def of(cls, problem):
        """From a chain, a four-bar linkage or a pendulum."""
        p = {str(name): value
             for name, value in problem.given.parameters.items()}
        n = len(problem.start)//2
        q, u = problem.start[:n], problem.start[n:]
        if 'rho' in p:
            lengths = [p['l2'], p['l3'], p['l4']]
            masses, anchor = [p['rho']*l for l in lengths], (-p['l1'], 0.)
        elif 'd' in p:
            lengths, masses = [p['l']]*n, [p['m']]*n
            anchor = p['d'], 0.
        else:
            L = p['L']
            return cls([L], [p['m']], [L], [0.], None, p['g'],
                       np.array([np.arctan2(q[1], q[0])]), u[:1]*0, (
                lambda q, u: L*np.hstack([np.cos(q), np.sin(q),
                                          -np.sin(q)*u, np.cos(q)*u])))
        return cls(lengths, masses, [l/2 for l in lengths], [
            m*l**2/12 for m, l in zip(masses, lengths)], anchor, p['g'], q, u,
            lambda q, u: np.hstack([q, u]))


def mujoco(bars, times):
    """The method of order four; the loop is a stiff, soft constraint."""
    import mujoco as mj
    inner = f'<site name="end" pos="{float(bars.lengths[-1])!r} 0 0"/>'
    for i in reversed(range(len(bars.lengths))):
        start = float(bars.lengths[i - 1]) if i else 0.
        moment = max(float(bars.moments[i]), 1e-12)     # must not vanish
        inner = (
            f'<body pos="{start!r} 0 0"><joint axis="0 0 1"/><inertial '
            f'pos="{float(bars.centers[i])!r} 0 0" '
            f'mass="{float(bars.masses[i])!r}" '
            f'diaginertia="{moment!r} {moment!r} {moment!r}"/>{inner}</body>')
    loop = '' if bars.anchor is None else (
        '<equality><connect site1="end" site2="anchor" '
        'solref="-1e-9 -1e-9" solimp="0.999999 0.999999 1"/></equality>')
    place = ' '.join(repr(float(x)) for x in bars.anchor or (0, 0))
    model = mj.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option integrator="RK4" '
        f'gravity="0 {-float(bars.gravity)!r} 0" solver="Newton" '
        f'tolerance="1e-14"><flag contact="disable"/></option>'
        f'<worldbody><site name="anchor" pos="{place} 0"/>{inner}'
        f'</worldbody>{loop}</mujoco>')
    data = mj.MjData(model)

    def prepared(steps):
        model.opt.timestep = (times[1] - times[0])/steps

        def run():
            mj.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = bars.q, bars.u
            q, u = [bars.q], [bars.u]
            for _ in times[1:]:
                mj.mj_step(model, data, steps)
                q.append(data.qpos.copy())
                u.append(data.qvel.copy())
            return bars.states(np.array(q), np.array(u))

        return run

    return prepared


def exudyn(bars, times):
    """Its trapezoidal rule with the loop, its method of order six without.
    """
    import exudyn as exu
    import exudyn.itemInterface as items
    n = len(bars.lengths)
    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.CreateGround()
    node = mbs.AddNode(items.NodeGenericODE2(
        numberOfODE2Coordinates=n, referenceCoordinates=[0]*n,
        initialCoordinates=list(bars.q), initialCoordinates_t=list(bars.u)))
    turns, inertias = exu.Matrix3DList(), exu.Matrix3DList()
    offsets, centers = exu.Vector3DList(), exu.Vector3DList()
    for i in range(n):
        turns.Append(np.eye(3))
        inertias.Append(np.eye(3)*bars.moments[i])
        offsets.Append([bars.lengths[i - 1] if i else 0, 0, 0])
        centers.Append([bars.centers[i], 0, 0])
    tree = mbs.AddObject(items.ObjectKinematicTree(
        nodeNumber=node, jointTypes=[exu.JointType.RevoluteZ]*n,
        linkParents=list(range(-1, n - 1)), jointTransformations=turns,
        jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centers,
        linkMasses=list(bars.masses), gravity=[0, -bars.gravity, 0]))
    if bars.anchor is not None:
        end = mbs.AddMarker(items.MarkerKinematicTreeRigid(
            objectNumber=tree, linkNumber=n - 1,
            localPosition=[bars.lengths[-1], 0, 0]))
        anchor = mbs.AddMarker(items.MarkerBodyRigid(
            bodyNumber=ground, localPosition=[*bars.anchor, 0]))
        mbs.AddObject(items.ObjectJointSpherical(
            markerNumbers=[end, anchor], constrainedAxes=[1, 1, 0]))
    kinds = exu.OutputVariableType
    sensors = [mbs.AddSensor(items.SensorNode(
        nodeNumber=node, storeInternal=True, outputVariableType=kind))
        for kind in (kinds.Coordinates, kinds.Coordinates_t)]
    mbs.Assemble()
    method = (exu.DynamicSolverType.RK67 if bars.anchor is None else
              exu.DynamicSolverType.TrapezoidalIndex2)

    def prepared(steps):
        settings = exu.SimulationSettings()
        integration = settings.timeIntegration
        integration.endTime = times[-1]
        integration.numberOfSteps = steps*(len(times) - 1)
        integration.automaticStepSize = False
        integration.verboseMode = 0
        integration.newton.useModifiedNewton = True
        integration.newton.relativeTolerance = 1e-12
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = (
            times[1] - times[0])*(1 - 1e-6)         # never a step late

        def run():
            mbs.SolveDynamic(settings, solverType=method)
            q, u = (mbs.GetSensorStoredData(sensor)[:, 1:]
                    for sensor in sensors)
            return bars.states(q, u)

        return run

    return prepared


MOTIONS = {'mujoco': mujoco, 'exudyn': exudyn}
