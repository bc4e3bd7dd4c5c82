"""Capture a program at several sizes until it is clear what depends on them."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace

from rushlight.export.dynamic import sampling, windows
from rushlight.export.dynamic.declared import Declaration
from rushlight.export.dynamic.expressions import ValueRanges
from rushlight.export.dynamic.fixes import FAR, as_multiple, dim_text, fixes, suggestions
from rushlight.export.dynamic.unifying import DifferentProgramsError, Unified
from rushlight.export.dynamic.values import CAPTURES, REFUSALS, Values
from rushlight.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
from rushlight.fx.experimental.tracked_sizes import Tracking
from rushlight.tensor.tensor import Tensor

MOST_SAMPLES = 24
FOLLOWING = 16  # sizes next to the example that are tried where a range ends
LOOKED_AT = 4096  # sizes tried to tell two expressions apart
TELLING = 6  # captures tried for that


class Captures:
    """The captures of one program by sizes; ``trace(sizes, sample, draws)`` makes one, with a
    graph; `more` are ways to choose sizes beside those that are always tried."""

    def __init__(self, trace, declaration, *more):
        self.trace, self.declaration = trace, declaration
        self.known: dict = {}
        self.rows = (sampling.wide, sampling.near, sampling.ordered, *more)
        self.values, self._draws = Values(declaration.free), {}
        self.lengths: frozenset[int] = frozenset()
        self.tracking = Tracking(bool(declaration.free))
        self.differed = False  # whether captures differed in what no expression gives
        self.again = False  # whether the program was one of several sizes before
        self.refused = True  # whether the last attempt had none that did

    def at(self, sizes, sample, turn=0):
        """The capture at a sample; where the program reads numbers, with others in each turn."""
        key = turn, *sorted((place, e.value(sample)) for place, e in sizes.items())
        if key not in self.known:
            found, draws = self.values.captured(lambda draws: self._traced(sizes, sample, draws))
            if self.tracking.begins():
                traced = lambda draws: self._traced(sizes, sample, draws)  # noqa: E731
                found, draws = self.values.captured(traced)
            self.known[key], self._draws[id(found)] = found, draws
        return self.known[key]

    def _traced(self, sizes, sample, draws):
        draws.tracking = self.tracking
        return self.trace(sizes, sample, draws)

    def draws(self, capture):
        """The numbers that the program reads in a capture."""
        return self._draws[id(capture)]

    def all(self, sizes, samples):
        """The captures at some samples, and these with the numbers that the program reads."""
        first = self.at(sizes, samples[0])
        if not self.draws(first).numbers:
            return [self.at(sizes, sample) for sample in samples], samples
        samples = [samples[i % len(samples)] for i in range(max(CAPTURES, len(samples)))]
        captures = [self.at(sizes, sample, turn) for turn, sample in enumerate(samples)]
        pairs = zip(samples, captures, strict=True)
        return captures, [sample | self.draws(capture).values for sample, capture in pairs]

    def unified(self, declaration, samples) -> Unified:
        """The program that the captures at these samples are; more samples where they are needed
        to tell expressions apart."""
        samples = self._with_longer(declaration, samples)
        found = self._told(declaration, samples, MOST_SAMPLES)
        if found.guessed:
            further = self._further(declaration, samples)
            with contextlib.suppress(DifferentProgramsError):  # `bounded` sees to these
                most = MOST_SAMPLES + len(further)
                found = self._told(declaration, [*samples, *further], most)
        return found

    def _told(self, declaration, samples, most):
        """The program; `most` samples are taken to tell expressions apart."""
        while True:
            found = self._at_all(declaration, samples)
            several = (apart(doubt, declaration, found.samples) for doubt in found.doubts)
            taken = (self._first_taken(declaration, each) for each in several)
            more = next(filter(None, taken), None)
            if more is None:
                return found
            if len(samples) >= most:
                raise DifferentProgramsError(
                    f"{len(samples)} captures do not tell what a size of the program is: "
                    f"{' or '.join(map(str, found.doubts[0]))}"
                )
            samples = [*samples, more]

    def _further(self, declaration, samples):
        """Samples between these, those that the program takes."""
        found = []
        for name, one in declaration.free.items():
            most = min(one.range.upper, max(sample[name] for sample in samples))
            low = max(one.range.lower, sampling.LEAST)
            for size in sampling.between(low, most, one.example):
                sample = self._first_taken(declaration, [{**samples[0], name: size}])
                found += [sample] if sample is not None and sample not in samples else []
        return found

    def _with_longer(self, declaration, samples):
        """The samples, and those beyond lengths of the program that it takes and that are the same
        program."""
        first = self.at(declaration.sizes, samples[0])
        self.lengths = windows.lengths_of(first.graph)
        for sample in windows.beyond(self.lengths, declaration, samples):
            if self._first_taken(declaration, [sample]) is not None:
                pair = [samples[0], sample]
                with contextlib.suppress(DifferentProgramsError):  # `bounded` sees to these
                    self._at_all(declaration, pair)
                    samples = [*samples, sample]
        return samples

    def _first_taken(self, declaration, samples):
        """The first of some samples that the program takes; None without one."""
        for sample in itertools.islice(samples, TELLING):
            try:
                self.at(declaration.sizes, sample)
            except REFUSALS:
                continue
            return sample
        return None

    def _at_all(self, declaration, samples):
        captures, samples = self._of_constants(declaration, samples)
        _check_calls(captures)
        draws = [self.draws(capture) for capture in captures]
        return Unified([capture.graph for capture in captures], samples, draws, self.lengths)

    def _of_constants(self, declaration, samples):
        """:meth:`all`; where the program makes tensors of numbers that differ, captures in which
        these are computed."""
        found = self.all(declaration.sizes, samples)
        try:
            _check_constants(found[0])
        except DifferentProgramsError:
            if self.tracking.numbers:
                raise
            self.tracking.numbers = True
            self.known.clear()
            found = self.all(declaration.sizes, samples)
            _check_constants(found[0])
        return found

    def settled(self) -> tuple[Declaration, Unified]:
        """The declaration that the program keeps to, and the program."""
        reasons: list[str] = []
        declaration = self.declaration
        found = self.attempt(declaration, reasons) or self._computing(declaration)
        if found is None:
            declaration = self._without_fixed(declaration)
            found = self.attempt(declaration, reasons)
        if found is None:
            declaration = self._one_by_one(declaration)
            found = self.attempt(declaration, reasons)
        if found is None and not declaration.free:
            self.at(declaration.sizes, {})  # what the program itself raises is told as it is
            raise GuardOnDataDependentSymNode(
                "Could not guard on data-dependent expression: what is captured depends on a "
                f"number that item() reads: {reasons[-1]}"
            )
        if found is None:
            names = ", ".join(declaration.free)
            raise ConstraintViolationError(
                f"Constraints violated ({names})! These sizes do not vary together: {reasons[-1]}"
            )
        return declaration, found

    def _computing(self, declaration):
        """The program in which numbers that are computed of sizes are nodes; None where it is no
        single one."""
        if not self.tracking.possible:
            return None
        known, self.known = self.known, {}
        self.tracking.compute(True)
        found = self.attempt(declaration, [])
        if found is None:
            self.tracking.compute(False)
            self.known = known
        return found

    def attempt(self, declaration, reasons):
        """The program of these sizes; None where it is no single one: `reasons` gets why."""
        self.refused = True
        for rows in self.rows:
            # sizes that are multiples hide what others would show, unless others are refused
            if rows is sampling.multiples and not self.refused:
                break
            found = self._tried(declaration, rows(declaration.free), reasons)
            if found is not None:
                return found
        if not self.refused or not (self.again or self._inferred(declaration)):
            return None
        takes = lambda sample: self._first_taken(declaration, [sample]) is not None  # noqa: E731
        samples = sampling.taken(declaration.free, takes)
        return samples and self._tried(declaration, samples, reasons)

    @staticmethod
    def _inferred(declaration):
        """Whether no size has a name: of those that have one all in their range are taken."""
        return all(one.inferred for one in declaration.free.values())

    def _tried(self, declaration, samples, reasons):
        """The program that the captures at these samples are; None, with a reason, without one."""
        try:
            return self.unified(declaration, samples)
        except DifferentProgramsError as error:
            self.refused, self.differed = False, True
            reasons.append(_located(error))
        except GuardOnDataDependentSymNode:
            raise
        except REFUSALS as error:
            reasons.append(f"at another size the program raises {type(error).__name__}: {error}")
        return None

    def _without_fixed(self, declaration):
        """The declaration with those sizes fixed, or equal to others, that must be and may be."""
        reasons = {}
        for name in declaration.free:
            found: list[str] = []
            if self.attempt(declaration.only([name]), found) is None:
                reasons[name] = found[0]
        for group in _alike(declaration, reasons):
            several = [*_partners(declaration, group[0], reasons), *group]
            joined = declaration.merged(several)
            if len(several) > 1 and self.attempt(joined.only(several[:1]), []) is not None:
                declaration = joined
                continue
            for name in group:
                if not declaration.free[name].auto:
                    raise self._violated(declaration, name, reasons)
                multiple = as_multiple(self, declaration, name, name)
                declaration = multiple or declaration.without(name)
        return declaration

    def _one_by_one(self, declaration):
        """The declaration without those sizes that may be fixed, and do not vary with others."""
        kept = [name for name, one in declaration.free.items() if not one.auto]
        for name, one in declaration.free.items():
            if one.auto and self.attempt(declaration.only([*kept, name]), []) is not None:
                kept.append(name)
        return declaration.only(kept)

    def _violated(self, declaration, name, reasons):
        """The error for a size that cannot differ, with what is to be said of all such sizes."""
        wrong = [n for n in reasons if n in declaration.free and not declaration.free[n].auto]
        end = suggestions(fixes(self, declaration, wrong))
        return ConstraintViolationError(
            f"Constraints violated ({', '.join(wrong)})! You marked {declaration.labels[name]} as "
            f"dynamic, but the program needs it to be {declaration.free[name].example}, or in a "
            f"narrower range: {reasons[name]}. Leave the size out of dynamic_shapes, give its Dim "
            f"another min or max, or use Dim.AUTO{end}"
        )

    def within(self, declaration, found):
        """The program of a declaration, and the ranges within which it is the same: of one that
        these captures do not tell for certain, and only in narrower ranges, numbers that it
        computes of sizes are nodes."""
        if not (found.guessed or self.differed) or self.tracking.computing:
            return self.bounded(declaration, found)
        try:
            within, same = self.bounded(declaration.copied(), found)
        except ConstraintViolationError:
            within, same = None, None
        if within is not None and within.free == declaration.free:
            return within, same
        more = self._computing(declaration)
        if more is None:
            return self.bounded(declaration, found)
        return self.bounded(declaration, more)

    def bounded(self, declaration, found):
        """The declaration without small sizes at which the program is another, nor those above a
        length of the program at which it is; and the program, which may compute with more than
        those samples tell that it was captured at."""
        for name, one in list(declaration.free.items()):
            low, found = self._from(declaration, found, name)
            low, high, found = self._up_to(declaration, found, name, low)
            if found.guessed:
                low, high = self._between(declaration, found, name, (low, high))
            if (low, high) != (declaration.least(name), one.range.upper):
                declaration.free[name] = replace(one, range=ValueRanges(low, high))
        return declaration, found

    def _from(self, declaration, found, name):
        """The least size at which the program is the same, and the program."""
        low, example = declaration.least(name), declaration.free[name].example
        # a number may be 0 or 1 as well, where programs often do something else
        for size in (low, 1) if low < sampling.LEAST else (low,):
            if low <= size < example and not self._same(declaration, found, name, size):
                more = self._adopted(declaration, found, name, size)
                if more is None:
                    low = self._limited(declaration, found, name, size, "min")
                found = more or found
        return low, found

    def _up_to(self, declaration, found, name, low):
        """The least and the greatest size at which the program is the same, and the program."""
        one = declaration.free[name]
        for size in self._large(declaration, found, name):
            if not self._same(declaration, found, name, size):
                more = self._adopted(declaration, found, name, size)
                if more is None:
                    high = self._limited(declaration, found, name, size, "max")
                    low = self._beside(declaration, found, name, one.example, low)
                    return low, high, found
                found = more
        return low, one.range.upper, found

    def _adopted(self, declaration, found, name, size):
        """The program told from one more size, such as ``max(s, 7)`` where larger ones only told
        ``s``; None where that is none, or another one between the sizes it was captured at."""
        if any(draws.numbers for draws in found.draws):
            return None
        samples = [*found.samples, {**found.sample, name: size}]
        try:
            more = self._told(declaration, samples, MOST_SAMPLES + 1)
        except (DifferentProgramsError, *REFUSALS):
            return None
        ends = sorted((size, declaration.free[name].example))
        sizes = sampling.between(*ends, declaration.free[name].example)
        return more if all(self._same(declaration, more, name, each) for each in sizes) else None

    def _between(self, declaration, found, name, limits):
        """The limits of a size within which the program is the same at sizes between those that it
        was captured at, too: round() and sqrt() are like divisions at some."""
        example, (low, high) = declaration.free[name].example, limits
        most = max(sample[name] for sample in found.samples)
        for size in sampling.between(low, min(high, most), example):
            if low <= size <= high and not self._same(declaration, found, name, size):
                if size < example:
                    low = self._limited(declaration, found, name, size, "min")
                else:
                    high = self._limited(declaration, found, name, size, "max")
        return low, high

    def _large(self, declaration, found, name):
        """Sizes at which a length of the program or a branch on the size may tell; among them
        those far from the example's, where captures near it alone agree. Without an upper limit no
        larger size is tried: tables of it may not fit in memory."""
        several = windows.beyond(self.lengths, declaration, found.samples)
        sizes = {sample[name] for sample in several}
        sizes.add(max(sample[name] for sample in sampling.wide(declaration.free)))
        upper = declaration.free[name].range.upper
        if upper != math.inf:
            sizes.add(int(min(upper, FAR)))
        tried = max(sample[name] for sample in found.samples)
        return sorted(size for size in sizes if size > tried)

    def _limited(self, declaration, found, name, size, word):
        """The size next to `size` at which the program is the same as at the example's; an error
        that names it where the size's range is the user's."""
        one = declaration.free[name]
        limit = self.last(declaration, found, name, one.example, size)
        if not one.inferred:
            limits = (limit, one.range.upper) if word == "min" else (one.range.lower, limit)
            end = suggestions([dim_text(name, *limits)])
            raise ConstraintViolationError(
                f"Constraints violated ({name})! At {size} for {declaration.labels[name]} the "
                f"program is another than at {one.example}.{end}"
            )
        return limit

    def last(self, declaration, found, name, same, other):
        """Between two sizes the last at which the program is the same as at the first, and at
        those next to that."""
        first = same
        while abs(same - other) > 1:
            middle = (same + other) // 2
            if self._same(declaration, found, name, middle):
                same = middle
            else:
                other = middle
        return self._beside(declaration, found, name, first, same)

    def _beside(self, declaration, found, name, first, end):
        """The last size from `first` to `end` before one at which the program is another, of those
        next to `first`."""
        step = 1 if end > first else -1
        for size in itertools.islice(range(first + step, end + step, step), FOLLOWING):
            if not self._same(declaration, found, name, size):
                return size - step
        return end

    def _same(self, declaration, found, name, size):
        """Whether the program is the same at one other size, or refuses that itself."""
        sample = dict(found.sample, **{name: size})
        try:
            other = self.at(declaration.sizes, sample)
        except REFUSALS:
            return True
        try:
            samples = [*found.samples, sample | self.draws(other).values]
            both = Unified([*found.graphs, other.graph], samples, lengths=self.lengths)
        except DifferentProgramsError:
            return False
        # at this size alone a float may be on the other side of an abs(), or a number of another
        # expression that all other sizes do not tell from the one that was found
        return found.holds(both) and both.nodes.magnitudes() == found.nodes.magnitudes()


def _check_constants(captures):
    """Tensors that the program makes of Python's numbers are no constants where these differ."""
    first, *others = ({n: t for n, t in _constants(c) if t.numel() <= LOOKED_AT} for c in captures)
    for other in others:
        for name in first.keys() & other.keys():
            one, two = first[name], other[name]
            if one is not two and not _same_values(one, two):
                raise DifferentProgramsError(
                    f"the constant {name} is made of numbers that differ from call to call, as in "
                    "tensor(k): write full((), k) or multiply a constant"
                )


def _check_calls(captures):
    """Submodules whose call signatures are kept take and give the same numbers in every call."""
    first, *others = (getattr(capture, "calls", {}) for capture in captures)
    for other in others:
        for name, signature in first.items():
            if other.get(name) != signature:
                raise DifferentProgramsError(
                    f"'{name}', which preserve_module_call_signature names, takes or gives numbers "
                    "that differ from call to call: pass them as tensors, or as their shapes"
                )


def _constants(capture):
    """Names and tensors."""
    found = getattr(capture, "constants", None)
    found = dict(capture.named_buffers()) if found is None else found
    return [(name, value) for name, value in found.items() if isinstance(value, Tensor)]


def _same_values(one, two):
    if one.shape != two.shape or one.dtype is not two.dtype:
        return False
    return one.device.type == "meta" or one.tolist() == two.tolist() or _all_nan(one, two)


def _all_nan(one, two):
    return bool((one.isnan() & two.isnan() | (one == two)).all())


def _located(error):
    lines = (getattr(error.node, "stack_trace", None) or "").strip().splitlines()
    return "\n".join([str(error), *lines[-2:]])


def _alike(declaration, names):
    """The names in groups of equal examples; those that a user gave stand alone."""
    groups: dict = {}
    for name in names:
        one = declaration.free[name]
        groups.setdefault(one.example if one.inferred else name, []).append(name)
    return groups.values()


def _partners(declaration, name, reasons):
    """A size that differs by itself and may be the one of this name: an index for a scatter has no
    more rows than what is scattered, and by default as many."""
    one = declaration.free[name]
    found = (
        other
        for other, each in declaration.free.items()
        if other not in reasons and each.inferred and each.example == one.example
    )
    return list(itertools.islice(found if one.inferred else (), 1))


def apart(doubt, declaration, samples):
    """Samples at which two expressions differ that agree in all so far: first those in the middle
    of sizes that follow each other, by which most numbers are told from each other."""
    first, second = doubt
    start, looked_at = samples[0], max(LOOKED_AT, 4 * first.largest())
    for name in sorted(first.symbols() & declaration.free.keys()):
        one = declaration.free[name]
        low, high = max(one.range.lower, sampling.LEAST), one.range.upper
        rows = (dict(start, **{name: size}) for size in itertools.count(low))
        end = int(min(looked_at, max(0, high + 1 - low)))
        told = (row for row in itertools.islice(rows, end) if first.value(row) != second.value(row))
        run = list(itertools.islice(_following(told, name), windows.MOST))
        if run:
            yield run[len(run) // 2]
            yield from (run[0], run[-1])
            yield from told


def _following(rows, name):
    """Of rows those at the beginning of which each has a size one above the one before."""
    before = None
    for row in rows:
        if before is not None and row[name] != before + 1:
            return
        before = row[name]
        yield row
