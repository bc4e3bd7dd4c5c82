"""The models of a program at several samples: sizes of its inputs, and numbers that it reads.

A number that a program reads from a tensor is a constant of each model, another one in each.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from rushlight.export.decomposing import decomposed
from rushlight.export.dynamic import sampling, windows
from rushlight.export.dynamic.capturing import TELLING, apart
from rushlight.export.dynamic.export import shapes_at
from rushlight.export.dynamic.values import CAPTURES, Values

_TAKEN = (RuntimeError, ValueError, IndexError)  # what a program raises that refuses a sample


class Sample(NamedTuple):
    """Sizes of inputs by symbol; each sample has a `turn` of its own, the first 0."""

    sizes: dict
    turn: int = 0


class Models:
    """The models of one program; ``translated(program)`` makes that of one with fixed sizes."""

    def __init__(self, program, declaration, translated):
        self.program, self.declaration, self.translated = program, declaration, translated
        self.values = Values(declaration.free)
        self._programs: dict = {}
        self._known: dict = {}
        self._turns = itertools.count(1)

    def rows(self):
        """Ways to choose sizes; at last those of a few that the program takes."""
        free = self.declaration.free
        if not free:
            yield [{}]
            return
        for way in (sampling.wide, sampling.near, sampling.ordered, sampling.about):
            yield way(free)
        few = sampling.taken(free, self._takes)
        if few is not None:
            yield few

    def _takes(self, sizes):
        """Whether the program takes these sizes."""
        return next(self._taken([self._next(sizes)]), None) is not None

    def at(self, sample):
        """The exporter at a sample, made anew for the first, which is rewritten."""
        program, _ = self._program(sample)
        if sample.turn == 0:
            return self.translated(program)
        if sample.turn not in self._known:
            self._known[sample.turn] = self.translated(program)
        return self._known[sample.turn]

    def numbers(self, sample):
        """All sizes and numbers of a sample by symbol."""
        return sample.sizes | self._program(sample)[1].values

    def origins(self, sample):
        """By symbol where the program reads a number: a node, and a dimension of its result."""
        return self._program(sample)[1].origins

    def _program(self, sample):
        if sample.turn not in self._programs:
            shapes = shapes_at(self.program, self.declaration.sizes, sample.sizes)
            self._programs[sample.turn] = self.values.captured(
                lambda draws: decomposed(self.program, {}, shapes, draws)
            )
        return self._programs[sample.turn]

    def all(self, rows, lengths):
        """Samples of some sizes, of those beyond `lengths` that the program takes, and with numbers
        enough."""
        first = Sample(rows[0])
        samples = [first, *map(self._next, rows[1:])]
        beyond = windows.beyond(lengths, self.declaration, rows)
        samples += self._taken(map(self._next, beyond))
        if self._program(first)[1].values:
            missing = max(0, CAPTURES - len(samples))
            samples += [self._next(samples[i % len(samples)].sizes) for i in range(missing)]
        return samples

    def _next(self, sizes):
        return Sample(sizes, next(self._turns))

    def telling(self, doubts, samples):
        """A sample at which two expressions differ that gave the same numbers so far, if there is
        one that the program takes."""
        for doubt in doubts:
            several = self._apart(doubt, [self.numbers(sample) for sample in samples])
            found = next(self._taken(several), None)
            if found is not None:
                return found
        return None

    def _apart(self, doubt, rows):
        """Samples that tell two expressions apart: other sizes, or other numbers."""
        for row in itertools.islice(apart(doubt, self.declaration, rows), TELLING):
            yield self._next({name: row[name] for name in self.declaration.free})
        drawn = doubt[0].symbols() - self.declaration.free.keys()
        for _ in range(TELLING if drawn else 0):
            sample = self._next({name: rows[0][name] for name in self.declaration.free})
            first, second = (side.value(self.numbers(sample)) for side in doubt)
            if first != second:
                yield sample

    def _taken(self, samples):
        """Those samples that the program takes."""
        for sample in samples:
            try:
                self.at(sample)
            except _TAKEN:
                continue
            yield sample
