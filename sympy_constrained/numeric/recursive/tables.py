"""Everything that the sweeps know of a model, in one array of integers."""
from itertools import chain

import numpy as np
from scipy.sparse import csr_array
from sympy import Symbol

from ...errors import MissingIngredientError
from ..codegen.profile import Profile
from . import sweeps
from .kinds import ACCUMULATED, Kernels, Parts, Writing, grouped, row_kernel
from .sweeps import BIAS, RECORD


class Tables:
    """Kernels, and the array that the sweeps read.

    ``loads`` are ``(body, place, force, torque)``, the last two in inertial
    axes; ``forces`` the generalized forces by speed, ``rows`` :class:`.Row`
    objects. All references are on the builder of the ``tree``.
    """

    def __init__(self, tree, loads, forces, rows, potential):
        self.tree, self.rows = tree, rows
        self.builder = tree.builder
        inertial = [[] for _ in tree.bodies]
        for k, *refs in loads:
            inertial[k].append(refs)
        parts = [Parts.of(body, forces, refs)
                 for body, refs in zip(tree.bodies, inertial)]
        self.states = (*tree.kinematics.coordinates, *tree.kinematics.speeds)
        jobs = [[*chain(*part)] for part in parts]
        at_rows = len(jobs)
        jobs += [row.refs for row in rows]
        at_rates = len(jobs)
        known = {ref: k for k, ref in enumerate(
            (*tree.kinematics.q, *tree.kinematics.u))}
        rates = tree.kinematics.rates
        jobs += [[ref] for ref in rates if ref not in known]
        jobs += [[potential]] if potential else []
        self._find_constants(jobs)
        self.kinds, self._lists, self._jobs = {}, [], [None]*len(jobs)
        self.size = BIAS                # after the ground
        self._place_jobs(jobs, parts)
        self.values = np.array(self.numbers, dtype=float)
        bodies, speeds = self._bodies()
        later = iter(range(at_rates, len(jobs)))
        self._sections = {
            sweeps.AT_JOBS: [job[:5] for job in self._jobs],
            sweeps.AT_BODIES: bodies, sweeps.AT_SPEEDS: [speeds],
            sweeps.AT_ROWS: self._rows(at_rows, speeds),
            sweeps.AT_THROUGH: self._through(len(bodies)),
            sweeps.AT_RATES: [
                (known[ref], 0) if ref in known else
                (-1, self._jobs[next(later)][4]) for ref in rates]}
        self._header = {
            sweeps.COUNT: len(bodies), sweeps.SPEEDS: len(speeds),
            sweeps.STATES: len(self.states),
            sweeps.CONSTANTS: len(self.states) + len(self.constants),
            sweeps.NUMBERS: len(self.numbers),
            sweeps.JOB_COUNT: len(jobs), sweeps.ROW_COUNT: len(rows),
            sweeps.WIDTH: max([1, *(job[1] for job in self._jobs)]),
            sweeps.SIZE: self.size, sweeps.Y_SIZE: self.begins[-1],
            sweeps.POTENTIAL: self._jobs[-1][4] if potential else 0}

    # -- data ------------------------------------------------------------

    def _find_constants(self, jobs):
        known = {*self.states, self.builder.time}
        others = [x for x in self.builder.symbols_of(*chain(*jobs))
                  if x not in known]
        self.constants = tuple(x for x in others if isinstance(x, Symbol))
        strange = [str(x) for x in others if not isinstance(x, Symbol)]
        if strange:
            raise MissingIngredientError(
                f"No expression was given for {', '.join(strange)}. Give one "
                "in `inputs`, with the function itself as key; the recursive "
                "equations take expressions, no Python functions and tables.")
        self.numbers = []
        self._places = {x: k for k, x in enumerate(
            (*self.states, *self.constants))}

    def _source(self, item):
        """Position of a datum among the states, constants and numbers."""
        place = self._places.get(item)
        if place is None:
            place = self._places[item] = len(self._places)
            self.numbers.append(item)
        return place

    def _listed(self, entries):
        """A stand-in for the place of a list."""
        self._lists.append([*entries])
        return 'list', len(self._lists) - 1

    def _new(self, count):
        """The place of so many numbers in the work of a sweep."""
        self.size += count
        return self.size - count

    # -- kernels ---------------------------------------------------------

    def _place_jobs(self, jobs, parts):
        """Code, data and places of all jobs."""
        bodies, members = self.tree.bodies, len(parts)
        labels = [('body', body.parent < 0, tuple(map(len, part)))
                  for body, part in zip(bodies, parts)]
        labels += [('job',)]*(len(jobs) - members)
        kernels = [None]*members
        for group in grouped(self.builder, [*zip(labels, jobs)]):
            first = group[0][0]
            if first < members:
                kernel = Kernels(self.builder, parts[first],
                                 bodies[first].parent < 0)
                code = kernel.go
            else:
                work = Writing(self.builder.time)
                kernel = code = work.code(work.copied(
                    self.builder, jobs[first]))
            self.kinds[id(kernel)] = kernel
            for member, data in group:
                self._jobs[member] = [
                    code.address, len(data), self._listed(map(
                        self._source, data)), 0, self._new(code.size)]
                if member < members:
                    kernels[member] = kernel
        self._kernels = kernels
        for k, body in enumerate(bodies):
            if body.parent >= 0:
                self._jobs[k][3] = self._jobs[body.parent][4]

    def _bodies(self):
        """Entries of the bodies, and all speeds by joint."""
        found, speeds, forces = [], [], {}
        for body, kernel, job in zip(
                self.tree.bodies, self._kernels, self._jobs):
            record, k = job[4], len(body.columns)
            for j, speed in enumerate(body.columns):
                forces[speed] = len(speeds) + j, record + RECORD + j
            shared = [forces[j] for j in body.dependent]
            found.append([
                body.parent, record, self._new(ACCUMULATED + 8*k),
                self._new(6 + k), k, len(speeds), kernel.fold.address,
                kernel.accelerate.address, kernel.push.address, len(shared),
                self._listed(place for place, _ in shared),
                self._listed(at for _, at in shared)])
            speeds += body.columns
        return found, speeds

    def _rows(self, at_rows, speeds):
        """Entries of the constraint rows, and their ways to the root."""
        place = {speed: k for k, speed in enumerate(speeds)}
        found, self.ways, codes, self.begins = [], [], {}, [0]
        for k, row in enumerate(self.rows):
            at = self._jobs[at_rows + k][4]
            way = self.way(row)
            self.ways.append(way)
            if row.speeds is None:
                code = codes.get(row.kind)
                if code is None:
                    code = codes[row.kind] = row_kernel(
                        self.builder.time, row.kind)
                    self.kinds[id(code)] = code
                entry = [code.address, at, *(
                    self._jobs[i][4] if i >= 0 else 0 for i in row.bodies),
                    *row.bodies]
            else:
                entry = [0, at, self._listed(place[j] for j in row.speeds),
                         len(row.speeds), -1, -1]
            found.append([
                *entry, self._listed(way), len(way), row.levels,
                self.begins[-1], self._listed(row.coordinates),
                len(row.coordinates)])
            self.begins.append(self.begins[-1] + sum(
                len(self.tree.bodies[i].columns) for i in way))
        return found

    def way(self, row):
        """Bodies whose joints a row moves, from the leaves to the root."""
        tree, found = self.tree, set()
        for i in row.bodies if row.speeds is None else map(
                tree.owner.get, row.speeds):
            while i >= 0 and i not in found:
                found.add(i)
                i = tree.bodies[i].parent
        return sorted(found, reverse=True)

    def _through(self, count):
        """For every body, its rows, and the places of its speeds in ``Y``."""
        through = [[] for _ in range(count)]
        for k, (way, place) in enumerate(zip(self.ways, self.begins)):
            for i in way:
                through[i] += k, place
                place += len(self.tree.bodies[i].columns)
        return [(self._listed(rows), len(rows)//2) for rows in through]

    # -- the array -------------------------------------------------------

    def array(self, use=(), places=None, checks=True):
        """The tables for the independent rows in ``use``; for the correction
        of states also those at the level of ``places``.

        Whether other rows are consistent with these is checked, or not.
        """
        where, at = [], sweeps.HEADER + sum(
            len(row) for rows in self._sections.values() for row in rows)
        for entries in self._lists:
            where.append(at)
            at += len(entries)
        head = [0]*sweeps.HEADER
        for name, value in self._header.items():
            head[name] = value
        for name, rows in self._sections.items():
            head[name] = len(head)
            head += [where[x[1]] if isinstance(x, tuple) else x
                     for row in rows for x in row]
        parts = [head, *self._lists]
        for name, rows in (
                (sweeps.AT_USE, use), (sweeps.AT_PLACES, places or ())):
            head[name] = at
            chosen = [len(rows)]
            if len(rows):
                profile = self.profile(rows)
                chosen += [*(rows[k] for k in profile.order), *profile.tables]
            parts.append(chosen)
            at += len(chosen)
        head[sweeps.CORRECTS], head[sweeps.CHECKS] = (
            places is not None, checks)
        tables = np.concatenate([np.array(x, np.int64) for x in parts])
        tables[sweeps.LENGTH] = len(tables)
        return tables

    def profile(self, use):
        """The :class:`.Profile` of the Schur complement of some rows."""
        ways = [set(self.ways[k]) for k in use]
        return Profile(np.array([[not a.isdisjoint(b) for b in ways]
                                 for a in ways]), len(use))

    def sparse(self, Y):
        """``Y`` as a sparse matrix with a column for every joint speed."""
        bodies, first = self.tree.bodies, 0
        spans = []
        for body in bodies:
            spans.append(range(first, first + len(body.columns)))
            first += len(body.columns)
        columns = [j for way in self.ways for i in way for j in spans[i]]
        return csr_array((Y, columns, self.begins), (len(self.ways), first))

    def kinetic(self, work):
        """Kinetic energy, from the work of a sweep."""
        at, total = work.ctypes.data, np.zeros(1)
        result = 0.
        for kernel, job in zip(self._kernels, self._jobs):
            place = at + 8*job[4]
            kernel.energy.function(0., place, place, place, total.ctypes.data)
            result += total[0]
        return float(result)
