"""Motions of planar bars by MuJoCo and Exudyn, with fixed steps.

Each ``name(problem, times)`` gives a function of the number of steps between
two outputs. That returns a function which makes the motion: angles and their
rates at the outputs.
"""
import numpy as np
from programs import Bars, exudyn_system, mujoco_model


def bars_of(problem):
    """Bars of a chain, a four-bar linkage or a pendulum; their angles and
    rates at the start; and the states of the model from these.
    """
    p = {str(name): value
         for name, value in problem.given.parameters.items()}
    n = len(problem.start)//2
    q, u = problem.start[:n], problem.start[n:]
    if 'rho' in p:
        lengths = [p['l2'], p['l3'], p['l4']]
        masses, anchor = [p['rho']*l for l in lengths], (-p['l1'], 0., 0.)
    elif 'd' in p:
        lengths, masses = [p['l']]*n, [p['m']]*n
        anchor = p['d'], 0., 0.
    else:
        L = p['L']
        return Bars('z', [L], [p['m']], [L], [(0.,)*3], None, p['g']), (
            np.array([np.arctan2(q[1], q[0])])), u[:1]*0, (
            lambda q, u: L*np.hstack([np.cos(q), np.sin(q),
                                      -np.sin(q)*u, np.cos(q)*u]))
    return Bars('z'*n, lengths, masses, [l/2 for l in lengths], [
        (m*l**2/12,)*3 for m, l in zip(masses, lengths)], anchor, p['g']), (
        q), u, lambda q, u: np.hstack([q, u])


def mujoco(problem, times):
    """The method of order four; the loop is a stiff, soft constraint."""
    import mujoco as mj
    bars, q0, u0, states = bars_of(problem)
    model = mujoco_model(bars)
    data = mj.MjData(model)

    def prepared(steps):
        model.opt.timestep = (times[1] - times[0])/steps

        def run():
            mj.mj_resetData(model, data)
            data.qpos[:], data.qvel[:] = q0, u0
            q, u = [q0], [u0]
            for _ in times[1:]:
                mj.mj_step(model, data, steps)
                q.append(data.qpos.copy())
                u.append(data.qvel.copy())
            return states(np.array(q), np.array(u))

        return run

    return prepared


def exudyn(problem, times):
    """Its trapezoidal rule with the loop, its method of order six without.
    """
    import exudyn as exu
    import exudyn.itemInterface as items
    bars, q0, u0, states = bars_of(problem)
    mbs, node = exudyn_system(bars, q0, u0)
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
            return states(q, u)

        return run

    return prepared


MOTIONS = {'mujoco': mujoco, 'exudyn': exudyn}
