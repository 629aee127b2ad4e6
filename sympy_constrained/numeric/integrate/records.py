"""What a run records at its outputs, as the arrays of a trajectory."""
import numpy as np

from ..trajectory import ARRAYS, Trajectory
from .balance import Balance, product
from .power import energy_rates


ENERGY = 'energy', 'power', 'work'


class Records:
    """The outputs of a run, from the equations at its states."""

    def __init__(self, compiled, rank, has_work):
        self.compiled, self.rank, self.has_work = compiled, rank, has_work
        self.balance, self.names = recorded(compiled)
        self.jumps = 0.                 # of the energy, at events
        self._parts: list[dict] = []

    @property
    def last(self):
        return self._parts[-1]['t'][-1] if self._parts else None

    def add(self, t, y, is_exact, rates=None):
        """Add several outputs.

        ``is_exact`` are those that show errors of the equations. Where these
        give no ``rates``, they are given for one output.
        """
        self._parts.append(self.columns(t, y, is_exact, rates))

    def columns(self, t, y, is_exact=True, rates=None, p=None):
        """The same as arrays by name; ``p`` may differ between outputs."""
        compiled, motion = self.compiled, self.compiled.motion
        x = y[:, :len(compiled.states)].copy()
        outputs = compiled.evaluate(self.names, t, x, p)
        W, r = outputs['W'], outputs['r'][..., 0]
        if rates is None:
            z, rank, condition = self.rank.solve_outputs(W, r, t, x)
        else:
            solution = self.rank.solver.reactions(
                W[0], r[0], rates[x.shape[1] - motion:x.shape[1]])
            z, rank, condition = (np.array([part]) for part in (
                solution.z, solution.rank, solution.condition))
        rates = np.concatenate([outputs['rates'][..., 0], z[:, :motion]], 1)
        accelerations = rates[:, compiled.u_index]
        forces = product(outputs['M'], accelerations) - outputs['Q'][..., 0]
        nothing = np.zeros((len(t), 1, 1))
        return {
            't': t, 'x': x, 'rates': rates,
            'residuals': np.concatenate(
                [outputs[name] for name, _ in compiled.levels],
                axis=1)[..., 0],
            'multipliers': z[:, motion:], 'constraint_forces': forces,
            **{name: outputs.get(name, nothing)[:, 0, 0]
               for name in ('energy', 'power')},
            'work': self.jumps + (
                y[:, -1] if self.has_work else nothing[:, 0, 0]),
            'rank': rank, 'condition': condition,
            **self.balance.terms(outputs, x, accelerations, forces, is_exact)}

    def trajectory(self, **fields) -> Trajectory:
        if len(self._parts) > 1:
            self._parts = [{
                name: np.concatenate([part[name] for part in self._parts])
                for name in self._parts[0]}]
        return assembled(self.compiled, *self._parts, **fields)

    def fault(self, trajectory, rtol, atol):
        """A warning if a balance of the trajectory fails, else None."""
        return self.balance.fault(trajectory, *self._parts, rtol, atol)


def recorded(compiled):
    """The balances of a model, and the outputs that are recorded."""
    def made():
        balance = Balance(compiled)
        energies = (name for name in ('energy', 'power') if compiled.has(name))
        return balance, (
            'rates', 'W', 'r', 'M', 'Q', *dict(compiled.levels),
            *energies, *balance.names)

    return compiled.kept(recorded, made)


def assembled(compiled, columns=None, p=None, **fields) -> Trajectory:
    columns = nothing(compiled) if columns is None else {
        name: columns[name] for name in (*ARRAYS, *ENERGY)}
    known = [compiled.has(name) for name in ('energy', 'power')]
    for name, is_known in zip(ENERGY, (*known, all(known))):
        if not is_known:
            columns[name] = None
    result = Trajectory.of(
        lambda _: energy_rates(compiled, columns['t'], columns['x'],
                               columns['rates'], p),
        **columns, states=tuple(compiled.states),
        speeds=tuple(compiled.equations.u),
        multiplier_names=tuple(compiled.multiplier_names),
        residual_names=compiled.residual_names,
        constants=dict(zip(compiled.constants,
                           compiled.parameters().tolist())), **fields)
    result.__post_init__()
    return result


def nothing(compiled):
    """The arrays of a trajectory without outputs."""
    states = len(compiled.states)
    widths = {'x': states, 'rates': states,
              'residuals': len(compiled.residual_names),
              'multipliers': len(compiled.multiplier_names),
              'constraint_forces': len(compiled.u_index)}
    columns = {name: np.zeros(0) for name in (*ARRAYS, *ENERGY)}
    columns['rank'] = np.zeros(0, int)
    return {**columns, **{name: np.zeros((0, width))
                          for name, width in widths.items()}}


def check_reactions(reactions):
    if reactions is not None and not hasattr(reactions, 'function'):
        raise TypeError(
            f"`reactions` is {reactions!r}. Pass the result of "
            "`method.joint_reactions()`.")
