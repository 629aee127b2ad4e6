"""Nodes with value numbering: how they are declared, merged and examined."""
import math
from fractions import Fraction
from functools import lru_cache, reduce
from hashlib import blake2b
from itertools import compress
from operator import or_

from sympy import Symbol

CONST, INPUT, ADD, MUL, INV, ROOT, SIN, COS, CALL = range(9)

PRIME = 2**127 - 1
SHADOW_TOLERANCE = 1e-6


@lru_cache(maxsize=4096)
def digest(seed, *key):
    """A random number that belongs to a key."""
    text = repr((seed, key)).encode()
    return int.from_bytes(blake2b(text, digest_size=16).digest(), 'big')


class Nodes:
    """The nodes of a :class:`.GraphBuilder`, without arithmetic."""

    def __init__(self, time=Symbol('t'), seed=0):
        self.time = time
        self.seed = seed
        self.nodes = [(CONST, 0, None), (CONST, 1, None)]
        self.values = [0, 1]            # fingerprints
        self.shadows = [0.0, 1.0]
        self.depends = [0, 0]           # bit i: depends on input i
        self.inputs = []                # SymPy objects, by position
        self.dynamic = 0                # bits of the inputs that move
        self.templates = []             # of CALL nodes
        self.bound = {}                 # SymPy object -> reference
        self.read = {}                  # id of an expression -> reference
        self.kept = []                  # what was read
        self._shared = {}               # equal bits are one object
        self._known = {0: 0, 1: 1, PRIME - 1: -1}
        self._constants = {0: 0, 1: 1}
        self._memo = {}
        self._template_index = {}
        self.partials = {}              # memo of calculus.partial
        self.unwanted = 0               # bits of inputs, see avoid
        self._divides = False           # whether there is an inverse
        # A product -> bits of its sines and cosines, one for each of them,
        # and products in which one may be squared.
        self._sines, self._squared = {}, set()
        self._factor_memo = {}
        self.at_states = None
        self.pivots = {}                # memo of linalg.lu_solve

    def input(self, symbol, dynamic=False):
        """Reference of an input, which is declared by the first call."""
        ref = self.bound.get(symbol)
        if ref is None:
            position = len(self.inputs)
            value = digest(self.seed, 'input', position) % PRIME
            shadow = 0.3 + digest(self.seed, 'shadow', position) % 10**9/1e9
            self.inputs.append(symbol)
            if dynamic:
                self.dynamic |= 1 << position
            ref = self._new((INPUT, position, None), value, shadow, 1.0,
                            1 << position)
            self.bound[symbol] = ref
        return ref

    def constant(self, value, text=None):
        """Reference of an exact rational; ``text`` is a SymPy Float."""
        ref = self._constants.get(value)
        if ref is not None:
            return ref
        if not isinstance(value, int):
            value = Fraction(value)
        if value < 0:
            return -self.constant(-value, None if text is None else -text)
        number = value.numerator*pow(value.denominator, -1, PRIME) % PRIME
        ref = self._known.get(number)
        if ref is None or self.depends[abs(ref)]:
            try:
                shadow = float(value)
            except OverflowError:
                shadow = math.nan
            ref = self._new((CONST, value, text), number, shadow, 1.0, 0)
        self._constants[value] = ref
        return ref

    def _new(self, key, value, shadow, scale, depends):
        """The node with this value: an old one, or a new one."""
        ref, differs = self._known.get(value), False
        if ref is not None:
            # a false merge, or another branch: keep the two apart
            old = self.shadow(ref)
            differs = abs(shadow - old) > SHADOW_TOLERANCE*max(
                scale, abs(old))
            # an old one may have inputs that only cancel; a number has none
            unwanted = self.unwanted & ~depends if depends else -1
            if not differs and not self.depends[abs(ref)] & unwanted:
                return ref
        ref = len(self.nodes)
        self.nodes.append(key)
        self.values.append(value)
        self.shadows.append(shadow)
        self.depends.append(self._shared.setdefault(depends, depends))
        if not differs:
            self._known[value] = ref
            self._known[PRIME - value] = -ref
        return ref

    def fingerprint(self, ref):
        value = self.values[abs(ref)]
        return value if ref >= 0 else -value % PRIME

    def with_fingerprint(self, value):
        """Reference of a node with this fingerprint, None if there is none."""
        return self._known.get(value)

    def shadow(self, ref):
        """Value of a reference at the random real point; may be nan."""
        return self.shadows[ref] if ref >= 0 else -self.shadows[-ref]

    def avoid(self, inputs):
        """Do not merge new nodes with old ones that depend on these inputs.

        Needed where inputs are eliminated that cancel in old expressions.
        """
        mask = self.mask(inputs)
        if mask & ~self.unwanted:
            self.unwanted |= mask
            self._memo = {
                key: ref for key, ref in self._memo.items()
                if key[0] in (SIN, COS)
                or not self.depends[abs(ref)] & self.unwanted}

    def same_value(self, a, b):
        """Whether two references agree at the random real point.

        This also sees identities of sines of sums, unlike fingerprints.
        """
        if a == b:
            return True
        s, t = self.shadow(a), self.shadow(b)
        return abs(s - t) <= SHADOW_TOLERANCE*max(abs(s), abs(t), 1)

    def mask(self, refs):
        """Bits of the inputs on which any of the references depend."""
        return reduce(or_, map(self.depends.__getitem__, map(abs, refs)), 0)

    def depends_on(self, ref, *inputs):
        """Whether a reference depends on any of these input references."""
        return bool(self.depends[abs(ref)] & self.mask(inputs))

    def symbols_of(self, *refs):
        """The inputs on which any of the references depend."""
        mask = self.mask(refs)
        return tuple(compress(
            self.inputs, map(int, reversed(bin(mask)[2:]))))
