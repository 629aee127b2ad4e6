"""The numbers by which the numeric layer decides, and why.

They are relative, unless a comment says otherwise. Those of integrations are
in :mod:`~sympy_constrained.numeric.integrate`.
"""
import numpy as np

EPS = np.finfo(float).eps

# -- States on the constraints: distances relative to the size of the state ---

# A distance that counts as zero, and one that further steps hardly improve.
CLOSE = 4*EPS
GOOD = 4*CLOSE
# An iteration that stalls below this distance has reached rounding.
ROUNDING = 1e-11
# The same for rows that were left out. Where the independent rows become
# dependent, such as at a change point, these no longer imply the others.
LEFT_OUT = 1e-13
# A projection moves a state about as far as it is from the constraints, or by
# LEAST_MOVE. If it moves a state nearer than NEAR by more than this multiple,
# the state is close to a singular configuration and remains as it was.
JUMP, NEAR, LEAST_MOVE = 1e5, 1e-6, 1e-15
# A state counts as on the constraint set, where its rank is decided.
ON_SET = 1e-10
# A start is consistent.
TOLERANCE = 1e-8
# A state that someone has typed is on the constraints.
TYPED = 1e-6
# Smaller singular values are ignored. At velocity level the remaining position
# error makes redundant rows look independent, most where gradients vanish.
LEAST_CUT = {'holonomic': 1e-11, 'velocity': 1e-7, 'upper': 1e-11}
LARGEST_CUT = 1e-3
# Gradients shorter than this part of the longest are rounding errors.
NO_GRADIENT = 1e-12
# A smaller pivot, of its diagonal entry, is a massless direction.
NO_MASS = 1e-10
# In machine code a speed without mass has this part of all masses.
LIGHT = 1e-4
# A smaller eigenvalue of the mass matrix, scaled to a diagonal of ones, is
# negative. Speeds with a larger part of its vector than PART are named.
NEGATIVE, PART = -1e-8, 0.1
# Rows with a smaller pivot, of gradients of length one, are redundant.
REDUNDANT = 1e-7
# A row below this part of the largest one vanishes.
VANISHED = 1e-10
# Gradients may vanish at a guess, such as all zeros: it is moved by these.
OFFSETS = 1e-3, 0.1
# Independent rows look alike if units or masses differ by many orders. Then
# singular values are ignored only below these parts of the distance.
PARTS = 1e-3, 1e-6

# -- The rank of scaled equations, on the constraint set ----------------------

# A state is singular below this reciprocal condition, where at most six digits
# are left. Smaller singular values are zero if a jump of GAP separates them.
SINGULAR, GAP = 1e-10, 1e3
# Scaled entries below this leave no doubt, nor do singular values above CLEAR
# of the largest one, and this many times above rounding errors.
FAR, CLEAR = 1e3, 1e-6
# Singular values are undecided where residuals stall, as at double roots.
UNDECIDED = 1e-7
# Rounding residual of a redundant row.
LEFT = 1e-10
# sigma_(rank+1) above this, and above this many times the drift, is a rise.
# (In the multiplier system it is of the order of the square of the drift.)
RISE, DRIFT_FACTOR = 1e-8, 1e2
# Accuracy of the time of a rise, relative to the step.
EXACT = 1e-8
# Smaller entries of their row and column determine no factor of the scaling.
RESIDUE = 1e-14
# Entries above this need a new scaling before the condition is judged.
OUTGROWN = 1e4
# Below this condition, or pivot, the independent rows may be chosen better.
POOR_CHOICE = 1e-6
# They are chosen again if their condition is worse than that of all rows.
WORN = 1e-3
# A null vector with a larger part in the accelerations moves them.
MOTION_PART = 1e-6

# -- States near one whose rank is decided ------------------------------------

# Their distance, relative to the size of each state.
NEARBY, NEARER = 1e-2, 1e-4
# Steps along admissible speeds keep invariants only to their square. Rows with
# a smaller independent part stay redundant, so that speeds do not jump.
CARRIED_CUT = 1e-3
# Some hundred roundings of a state, as a projection leaves them. An entry that
# changes with them by more than NOISE is a rounding error.
ROUNDINGS, NOISE = 1e-13, 1e-3
# An entry with more values among close states is a quotient of roundings.
JUMPS = 3
# Rates above this may be such errors: they are compared with those beside.
HUGE = 1e10
# The same for the last digits of constants and time.
LAST_DIGITS, NO_DIGIT = 4*EPS, 0.1
# Entries this small may be cancelled exact numbers; more digits decide.
DOUBTFUL = 1e-12
# A state below this part of the others counts as zero.
SMALL = 1e-3
# The size of a zero state changes the scaled W by one, up to this factor.
ABOUT = 1e3
# A row this much smaller on the constraint set than off it is zero there.
VANISHING = 1e-6

# -- Solutions ----------------------------------------------------------------

# Smallest pivot of its diagonal entry, or of the size of its row and column,
# and largest residual of the terms of its equation, in generated code.
PIVOT, RESIDUAL = 1e-10, 1e-9
# The smallest pivot of an elimination that does not exchange rows.
SMALL_PIVOT = 1e-4
# A row is violated if its residual is a larger part of its own terms, unless
# rounding explains it: BACKWARD of the largest scaled terms of all equations.
CONTRADICTION, BACKWARD = 1e-7, 1e-10
# Scaled right sides below this are zero.
NOTHING = 1e-40
# Columns that are not preferred as dependent count this much.
REST = 1e-4

# -- Tables -------------------------------------------------------------------

# Times outside a table, relative to its length.
OUTSIDE = 1e-12
# Oscillation of a spline away from its changes, relative to the largest value.
RINGING = 1e-15
