"""The catalogue of bad input: every area with its cases."""
from errors import (
    bodies_that_touch, call_shapes, computing, masses, motion, names, rows,
    tools)

AREAS = {
    'Arguments': (call_shapes, call_shapes.CASES),
    'Names': (names, names.CASES),
    'Frames, points and kinematic equations': (motion, motion.CASES),
    'Masses, forces and energies': (masses, masses.CASES),
    'Levels of constraints': (rows, rows.LEVELS),
    'Constraints that contradict or repeat each other': (
        rows, rows.CONTRADICTIONS),
    'Methods': (rows, rows.METHODS),
    'Surfaces and contacts': (bodies_that_touch, bodies_that_touch.CONTACTS),
    'Variable mass': (bodies_that_touch, bodies_that_touch.MASS),
    'Constants': (computing, computing.CONSTANTS),
    'Equations in numbers': (computing, computing.MODELS),
    'Inputs': (computing, computing.INPUTS),
    'Simulations': (computing, computing.STARTS),
    'Ready models, pictures and the command line': (tools, tools.CASES)}
