"""The same graph with fewer operations.

Sums and products of two become those of many where a part has one user. Then
common factors are taken out of sums, and pairs that several sums or products
have in common become nodes, the most frequent first.
"""
from bisect import bisect_left
from collections import Counter
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import chain

from .nodes import ADD, CALL, CONST, COS, INPUT, MUL, ROOT

MOST_PARTS = 24                 # of a sum or product whose pairs are compared


def compacted(nodes, order, uses, refs):
    """Nodes with fewer operations, and a map from old to new references.

    ``order`` and ``uses`` are those of :func:`.used_nodes` for the nodes whose
    operations are reduced, ``refs`` are all outputs.
    """
    parts = Parts(nodes, order, uses)
    parts.factor()
    CommonPairs(parts, parts.sums).share()
    CommonPairs(parts, parts.products).share()
    return parts.written(refs)


class Parts:
    """Sums and products of many, by node.

    Parts of a sum are references, parts of a product are nodes. What is new
    has a number beyond those of the nodes.
    """

    def __init__(self, nodes, order, uses):
        self.nodes = nodes
        self.next = len(nodes)
        sums, products = self.sums, self.products = {}, {}
        self.others = []
        for k in order:
            kind, x, y = nodes[k]
            if kind == MUL:
                table = products
            elif kind == ADD:
                table = sums
            else:
                self.others.append(k)
                continue
            parts = [x]
            if uses[x] == 1 and x in table:
                parts = table.pop(x)
            j = y if y > 0 else -y
            if uses[j] == 1 and j in table:
                parts += signed(table.pop(j), y)
            else:
                parts.append(y)
            table[k] = parts
        # those with one user: sums, and products with their factors
        self.single = {k for k in sums if uses[k] == 1}
        self.factors = {k: parts for k, parts in products.items()
                        if uses[k] == 1}

    def new(self):
        self.next += 1
        return self.next - 1

    # -- common factors --------------------------------------------------

    def factor(self):
        """Take out of every sum the factor that most of its terms have."""
        waiting, begun = list(self.sums), {}
        while waiting:
            k = waiting[-1]
            if k not in self.sums:      # it became part of another one
                waiting.pop()
                continue
            if k not in begun:
                factors = [*chain.from_iterable(filter(None, map(
                    self.factors.get, map(abs, self.sums[k]))))]
                if len({*factors}) == len(factors):     # most sums
                    waiting.pop()
                    continue
                begun[k] = Terms(self.factors, self.sums[k])
            terms = begun[k]
            frequent = terms.most_frequent()
            if frequent is None:
                self.sums[k] = terms.left()
                waiting.pop()
                continue
            factor, group = frequent
            inner = self.new()
            self.single.add(inner)
            self.sums[inner] = [part for ref in group
                                for part in self._divided(ref, factor)]
            is_part = terms.new or terms.taken < len(terms.old)
            product = self.new() if is_part else k
            self.products[product] = [factor, inner]
            if is_part:
                terms.new.append(product)
            else:
                del self.sums[k]
            if is_part or k in self.single:
                self.factors[product] = self.products[product]
            waiting.append(inner)

    def _divided(self, ref, factor):
        """Terms of a product without one of its factors."""
        parts = self.products.pop(abs(ref))
        del self.factors[abs(ref)]
        parts.remove(factor)
        if len(parts) > 1:
            rest = self.new()
            self.products[rest] = self.factors[rest] = parts
            parts = [rest]
        elif parts[0] in self.single and parts[0] in self.sums:
            parts = self.sums.pop(parts[0])
        return signed(parts, ref)

    # -- nodes -----------------------------------------------------------

    def written(self, refs):
        """Nodes of two operands, and the map of references."""
        nodes, sums, products = self.nodes, self.sums, self.products
        known = {}                      # nodes in order, with their numbers
        moved = [None]*2*self.next      # also by negative references
        for k in (0, 1):
            moved[k] = number(known, nodes[k])
            moved[-k] = -k
        # nodes that are no part of others, then outputs, in reverse order
        waiting = sorted(chain(self.others, sums, products))
        del waiting[bisect_left(waiting, len(nodes)):]
        waiting += map(abs, refs)
        waiting.reverse()
        moved_of = moved.__getitem__
        while waiting:
            k = waiting.pop()
            if moved[k] is not None:
                continue
            if k in products:
                write, parts = product_of, products[k]
            elif k in sums:
                write, parts = sum_of, sums[k]
            else:
                write, parts = self._as_before(k)
            operands = [*map(moved_of, parts)]
            if None in operands:
                waiting.append(k)
                waiting += [abs(x) for x in parts if moved[x] is None]
                continue
            ref = moved[k] = write(known, operands)
            moved[-k] = -ref
        return list(known), moved

    def _as_before(self, k):
        """How to write a node with the operands that it had, and these."""
        kind, x, y = old = self.nodes[k]
        if kind == ADD or kind == MUL:
            return sum_of if kind == ADD else product_of, (x, y)
        return partial(function_of, old), y if kind == CALL else (
            ) if kind in (CONST, INPUT) else (x,)


class CommonPairs:
    """Pairs that several sums, or several products, have in common."""

    def __init__(self, parts, table):
        self.new, self.table = parts.new, table
        self.counts = ()
        self.whole = {}                 # pair -> the node that consists of it
        if max(map(len, table.values()), default=0) > 2:
            self.counts = Counter(
                map(abs, chain.from_iterable(table.values())))
            for k, refs in table.items():
                refs.sort(key=abs)
                self._note(k)

    def _note(self, k):
        """Remember a node that consists of a pair, or of its negative."""
        refs = self.table[k]
        if len(refs) == 2:
            x, y = refs
            if x > 0:
                self.whole.setdefault((x, y), k)
            else:
                self.whole.setdefault((-x, -y), -k)

    def share(self):
        """Form pairs that occur more than once only once."""
        some = [k for k, refs in self.table.items()
                if 2 < len(refs) <= MOST_PARTS]
        self.fresh = self.counts        # parts that are new
        while some:
            users = self._users(some)
            often = sorted(
                ((len(ks) + (pair in self.whole), pair)
                 for pair, ks in users.items()
                 if len(ks) > 1 or pair in self.whole), reverse=True)
            self.fresh, changed = set(), set()
            for _, pair in often:
                changed.update(self._replace(pair, users[pair]))
            some = [k for k in some
                    if k in changed and len(self.table[k]) > 2]

    def _users(self, some):
        """Pair -> the sums or products with it, if one part is fresh."""
        users = {}
        for k in some:
            parts = [x for x in self.table[k] if self.counts[abs(x)] > 1]
            is_fresh = [abs(ref) in self.fresh for ref in parts]
            for i, y in enumerate(parts):
                for j, x in enumerate(parts[:i]):
                    if is_fresh[i] or is_fresh[j]:
                        pair = (x, y) if x > 0 else (-x, -y)
                        users.setdefault(pair, []).append(k)
        return users

    def _replace(self, pair, users):
        """Put a node in the place of a pair, if it still occurs twice."""
        places = {k: self._place(k, *pair) for k in users}
        places = {k: place for k, place in places.items() if place}
        if len(places) + (pair in self.whole) < 2:
            return ()
        if pair not in self.whole:
            self.whole[pair] = self.new()
            self.table[self.whole[pair]] = list(pair)
        joined = self.whole[pair]
        self.fresh.add(abs(joined))
        self.counts[abs(joined)] += len(places)
        for k, (x, y) in places.items():
            refs = self.table[k]
            refs.remove(x)
            refs.remove(y)
            refs.append(joined if x == pair[0] else -joined)
            refs.sort(key=abs)
            self._note(k)
        return places

    def _place(self, k, a, b):
        """The pair or its negative in a longer sum or product, or None."""
        refs = self.table[k]
        for x, y in ((a, b), (-a, -b)) if len(refs) > 2 else ():
            if x in refs and y in refs and (x != y or refs.count(x) > 1):
                return x, y
        return None


class Terms:
    """The terms of a sum, and which factors they have in common."""

    def __init__(self, factors, terms):
        self.factors = factors          # of products with one user
        self.old, self.new = terms, []
        self.is_taken = [False]*len(terms)
        self.taken = 0
        self.places = {}                # of the terms with a factor
        for place, ref in enumerate(terms):
            for factor in dict.fromkeys(factors.get(abs(ref), ())):
                self.places.setdefault(factor, []).append(place)
        self.ranks = [self._rank(factor, places) for factor, places
                      in self.places.items() if len(places) > 1]
        heapify(self.ranks)

    def _rank(self, factor, places):
        """The most frequent factor is the first, then the leftmost."""
        first = self.factors[abs(self.old[places[0]])]
        return -len(places), places[0], first.index(factor), factor

    def most_frequent(self):
        """A factor and the terms that have it, which are taken; or None."""
        while self.ranks:
            rank = heappop(self.ranks)
            factor = rank[-1]
            places = self.places[factor] = [
                k for k in self.places[factor] if not self.is_taken[k]]
            if len(places) < 2:
                continue
            if rank != self._rank(factor, places):
                heappush(self.ranks, self._rank(factor, places))
                continue
            for k in places:
                self.is_taken[k] = True
            self.taken += len(places)
            return factor, [self.old[k] for k in places]
        return None

    def left(self):
        """What the sum is made of now."""
        return [ref for ref, taken in zip(self.old, self.is_taken)
                if not taken] + self.new


def signed(refs, sign):
    return refs if sign > 0 else [-ref for ref in refs]


def number(known, key):
    """Number of a node among the known ones."""
    return known.setdefault(key, len(known))


def function_of(old, known, refs):
    kind, x, y = old
    if kind == CALL:
        return number(known, (CALL, x, tuple(refs)))
    if not refs:
        return number(known, old)
    if refs[0] > 0 or kind == ROOT:
        return number(known, (kind, refs[0], y))
    return number(known, (kind, -refs[0], None))*(1 if kind == COS else -1)


def product_of(known, refs):
    sign, ref = 1, 0
    for x in refs:
        if x < 0:
            sign, x = -sign, -x
        if ref:
            x = known.setdefault((MUL, ref, x) if ref < x else (MUL, x, ref),
                                 len(known))
        ref = x
    return sign*ref


def sum_of(known, refs):
    ref = refs[0]
    for x in refs[1:]:
        if 0 < x < ref or ref < 0 < x or ref < x < 0:
            ref, x = x, ref
        sign = 1 if ref > 0 else -1
        ref = sign*known.setdefault((ADD, sign*ref, sign*x), len(known))
    return ref
