"""Deliberate faults of the package, and which laws notice them.

A mutant is a function of the package with one piece of its text replaced.  It
is compiled in the module of the original and put in its place, wherever that
has been imported.
"""
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from inspect import getattr_static, getsource
from textwrap import dedent

PACKAGE = 'sympy_constrained'


@dataclass(frozen=True)
class Mutant:
    """``where`` is a module and a function, or a class and its member."""

    what: str
    where: str
    old: str
    new: str
    killed: tuple               # of (law, way, model)

    def owner(self):
        module, *inner = self.where.split(':')
        owner = import_module(f'{PACKAGE}.{module}')
        *classes, name = inner[0].split('.')
        for cls in classes:
            owner = getattr(owner, cls)
        return owner, name

    def apply(self, monkeypatch):
        owner, name = self.owner()
        original = getattr_static(owner, name)
        function = getattr(original, 'func', getattr(
            original, 'fget', original))
        source = dedent(getsource(function))
        assert source.count(self.old) == 1, (
            f'{self.what}: {self.where} has changed; write the mutant anew')
        scope = {}
        exec(compile(source.replace(self.old, self.new), f'<{self.what}>',
                     'exec'), vars(sys.modules[function.__module__]), scope)
        new = scope[function.__name__]
        if isinstance(new, cached_property):
            new.__set_name__(owner, name)
        if isinstance(owner, type):
            monkeypatch.setattr(owner, name, new)
            return
        for path, module in list(sys.modules.items()):
            if (path.startswith(PACKAGE)
                    and vars(module).get(name) is original):
                monkeypatch.setattr(module, name, new)


BLOCK = 'Udwadia-Kalaba, block system'
CLOSED = 'Udwadia-Kalaba, closed form'
VORONETS = 'Hamel, Voronets equations'
MUTANTS = [
    Mutant('gyroscopic torque of the wrong sign', 'model.kinetics:rotation',
           'g.cross(spin, momentum))', 'g.cross(momentum, spin))',
           (('agreement', BLOCK, 'disc'),)),
    Mutant('half of the Coriolis forces', 'model.kinetics:from_lagrangian',
           'kinematics.bias(momentum))',
           'g.div(kinematics.bias(momentum), g.constant(2)))',
           (('power', BLOCK, 'mixed_rows'),)),
    Mutant('turning of the axes forgotten in an acceleration',
           'model.kinematics:Kinematics.derivative',
           'self._derivative_in(frame, numbers)',
           'tuple(map(self.bias, numbers))',
           (('free', BLOCK, 'sleigh'),)),
    Mutant('centripetal accelerations forgotten',
           'model.kinematics:Kinematics._turning',
           'B[i][i] = -g.add(squares[j], squares[k])', 'B[i][i] = 0',
           (('frames', BLOCK, 'four_bar*'), ('power', BLOCK, 'four_bar*'))),
    Mutant('momentum for its rate', 'model.kinetics:from_lagrangian',
           'kinematics.bias(momentum))', 'momentum)',
           (('reversal', BLOCK, 'pendulum'),)),
    Mutant('velocity for acceleration', 'model.kinetics:translation',
           'kinematics.acceleration(point, axes.linear))',
           'kinematics.velocity(point, axes.linear))',
           (('reversal', BLOCK, 'gimbals'),)),
    Mutant('lower triangle of the mass matrix empty',
           'model.kinetics:Assembly.blocks', 'self.M[min(j, k)][max(j, k)]',
           'self.M[j][k]', (('relabelled', BLOCK, 'mixed_rows'),)),
    Mutant('load at the mass centre of the first body',
           'model.kinetics:from_bodies',
           'motion_of(kinematics, location, axes)',
           'motion_of(kinematics, bodies[0].masscenter if bodies '
           'and not isinstance(location, ReferenceFrame) else location, '
           'axes)',
           (('agreement', BLOCK, 'gimbals'),)),
    Mutant('power of a moving spring left out', 'model.kinetics:add_potential',
           'g.add(assembly.power, explicit)', 'assembly.power',
           (('power', BLOCK, 'sprung_bob'),)),
    Mutant('parallel axes forgotten',
           'model.composite_bodies:CompositeRoute._shift',
           'for frame, d in parts.items():', 'for frame, d in ():',
           (('agreement', BLOCK, 'four_bar*'),)),
    Mutant('inertia of a body in the axes of another frame',
           'model.composite_bodies:CompositeRoute._joined',
           'self.kinematics.rotated_matrix(self.axes, frame, (',
           '(lambda matrix, entries: matrix)((',
           (('power', BLOCK, 'bicycle*'),)),
    Mutant('bias of the rows dropped', 'model.constraints:differentiated',
           'right = -rate_of(phi)', 'right = 0',
           (('levels', BLOCK, 'pendulum'),)),
    Mutant('explicit time dropped', 'graph.calculus:time_derivative',
           '{builder.input(builder.time, dynamic=True): 1, **rates}',
           'rates',
           (('levels', BLOCK, 'turning_wire'),
            ('frames', BLOCK, 'pendulum'))),
    Mutant('gradient of a row by the wrong speeds',
           'model.constraints:differentiated',
           'row = gradient(g, phi, kinematics.u)',
           'row = gradient(g, phi, kinematics.u)[::-1]',
           (('levels', BLOCK, 'mixed_rows'),)),
    Mutant('A for its transpose', 'methods.udwadia_kalaba:'
           'UdwadiaKalabaMethod.equations',
           '[M, -forces.T]', '[M, -forces.T[::-1]]',
           (('ideal', BLOCK, 'pendulum'), ('workless', BLOCK, 'pendulum'))),
    Mutant('multipliers of the wrong sign',
           'methods.routh:RouthMethod.equations', '[M, -A.T]', '[M, A.T]',
           (('agreement', 'Routh', 'pendulum'),
            ('ideal', 'Routh', 'turning_wire'))),
    Mutant('redundant rows kept',
           'methods.base:ConstrainedMethod.independent_rows',
           'return list(self._ranks.independent_rows)',
           'return list(range(self._system.counts[2]))',
           (('repeated', CLOSED, 'pendulum'),
            ('derived', CLOSED, 'pendulum'))),
    Mutant('multipliers of rows in the wrong order',
           'methods.gibbs_appell.hypersurface:Hypersurface.multipliers',
           'lam[k] = x', 'lam[len(self.rows) - 1 - k] = x',
           (('scaled', 'Gibbs-Appell', 'damped_double_pendulum'),)),
    Mutant('weight of the rows not taken back',
           'methods.null_space:elimination',
           'g.sub(x, g.mul(w, y))', 'x',
           (('units', CLOSED, 'massless'),)),
    Mutant('Voronets term dropped',
           'methods.hamel.embedded_equations:EmbeddedEquations.projected',
           "solve(g, A1.rows, self.at(flat(out['b'])))",
           '[0]*len(one)',
           (('gauss', VORONETS, 'sleigh'),)),
    Mutant('transpositional term of the mapping dropped',
           'methods.linear_mapping.mapping:map_velocities',
           '[-bias(g.add(g.dot(row, w), x)) for row, x in zip(a, a0)]',
           '[0 for row in a]',
           (('gauss', 'Linear mapping, orthogonal', 'pendulum'),)),
    Mutant('forces of the mapping on the wrong columns',
           'methods.linear_mapping.mapping:solved',
           '[list(row) for row in zip(*columns)]',
           '[list(row) for row in columns]',
           (('agreement', 'Linear mapping', 'pendulum'),)),
    Mutant('sign in the variation of the rows', 'methods.variation:vary',
           'g.sub(along(x[i]), x[len(u) + i])',
           'g.add(along(x[i]), x[len(u) + i])',
           (('vakonomic', 'Routh', 'pendulum'),)),
    Mutant('twice the force in a closed form',
           'methods.null_space:along_basis',
           'Z.T @ rest', '(Z.T @ rest) + (Z.T @ rest)',
           (('agreement', 'Gibbs-Appell', 'pendulum'),)),
    Mutant('speeds projected and positions not',
           'numeric.manifold.projection:project',
           'if not compiled.has(name):',
           "if not compiled.has(name) or name == 'holonomic':",
           (('start', BLOCK, 'pendulum'),)),]
