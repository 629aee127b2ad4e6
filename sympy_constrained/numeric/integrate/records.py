"""What a run records at its outputs, as the arrays of a trajectory."""
from __future__ import annotations

import numpy as np

from ..trajectory import Trajectory
from .power import energy_rates

__all__ = ['assembled']


def assembled(compiled, span, records, **fields) -> Trajectory:
    """The trajectory of recorded outputs, possibly none."""
    widths = {'t': (), 'energy': (), 'work': (), 'power': (), 'rank': (),
              'condition': (), 'x': (len(compiled.states),),
              'rates': (len(compiled.states),),
              'residuals': (len(compiled.residual_names),),
              'multipliers': (len(compiled.multiplier_names),),
              'constraint_forces': (len(compiled.u_index),)}
    columns = {name: np.concatenate([
        np.zeros((0, *width), int if name == 'rank' else float),
        *(record[name] for record in records)])
        for name, width in widths.items()}
    has_energy, has_power = compiled.has('energy'), compiled.has('power')
    for name, is_known in (('energy', has_energy), ('power', has_power),
                           ('work', has_energy and has_power)):
        if not is_known:
            columns[name] = None
    return Trajectory(
        **columns,
        energy_rate=energy_rates(
            compiled, span, columns['t'], columns['x'], columns['rates']),
        states=tuple(compiled.states), speeds=tuple(compiled.equations.u),
        multiplier_names=tuple(compiled.multiplier_names),
        residual_names=compiled.residual_names,
        constants=dict(zip(compiled.constants,
                           compiled.parameters().tolist())), **fields)
