"""What would make an export possible whose sizes cannot differ as declared: a relation to another
size, a narrower range, a multiple, or one number. Lines as PyTorch's errors suggest them."""

from __future__ import annotations

import math
from dataclasses import replace

from rushlight.export.dynamic import sampling
from rushlight.export.dynamic.declared import Declaration
from rushlight.export.dynamic.expressions import ValueRanges, add, symbol, times

HEAD = "Suggested fixes:"
FAR = 1 << 13  # the largest size that is tried because a size may be as large
_FACTORS = 4  # how many factors of the example's size are tried


def suggestions(lines: list[str]) -> str:
    """The end of an error that suggests fixes."""
    return "".join(f"\n{line}" for line in (HEAD, *(f"  {e}" for e in lines))) if lines else ""


def dim_text(name, low, high) -> str:
    """The declaration of a size of a range, without limits that all sizes have."""
    low_text = f", min={low}" if low > 0 else ""
    return f"{name} = Dim('{name}'{low_text}{'' if high == math.inf else f', max={high}'})"


def fixes(captures, declaration: Declaration, names) -> list[str]:
    """A line or two for each size, of those that the user named, that cannot differ by itself."""
    lines: list[str] = []
    settled: set[str] = set()
    free = declaration.free
    for name in names:
        if name in settled or free[name].inferred:
            continue
        others = [n for n, one in free.items() if n not in settled | {name} and not one.inferred]
        related = _relation(captures, declaration, name, others)
        if related is not None:
            settled.update(related)
            lines.append(f"{related[0]} = {related[2]}")
            continue
        lines += (
            _range(captures, declaration, name)
            or _multiple(captures, declaration, name)
            or [f"{name} = {free[name].example}"]
        )
    return lines


def _relation(captures, declaration, name, others):
    """A size that follows another, that other, and how; None where none does."""
    order = list(declaration.free)
    for other in others:
        pair = sorted((name, other), key=lambda n: (declaration.free[n].example, order.index(n)))
        root, follows = pair
        sizes = [declaration.free[n].example for n in pair]
        for expression in _expressions(root, *sizes):
            tried = declaration.substituted(follows, expression, [declaration.free[root]])
            if captures.attempt(tried.only([root]), []) is not None:
                return follows, root, expression
    return None


def _expressions(root, small, large):
    """How a size may follow another that is not larger."""
    yield add(symbol(root), large - small)
    if 1 < small < large and large % small == 0:
        yield times(large // small, symbol(root))


def _range(captures, declaration, name):
    """The line of a range on one side of the example's size in which it may differ."""
    one = declaration.free[name]
    low, high = max(one.range.lower, sampling.LEAST), one.range.upper
    for limits, end in (((one.example, high), low), ((low, one.example), min(high, FAR))):
        if limits[0] == limits[1]:
            continue
        found = captures.attempt(_ranged(declaration, one, *limits), [])
        if found is None:
            continue
        last = captures.last(declaration.only([name]), found, name, one.example, int(end))
        limits = (one.range.lower, last) if end > one.example else (last, high)
        if captures.attempt(_ranged(declaration, one, *limits), []) is not None:
            return [dim_text(name, *limits)]
    return None


def _ranged(declaration, one, low, high):
    found = declaration.only([one.name])
    free = {one.name: replace(one, range=ValueRanges(low, high))}
    return Declaration(free, found.sizes, found.labels)


def _multiple(captures, declaration, name):
    """The lines of a size that may be any multiple of a number."""
    part = f"_{name}"
    found = as_multiple(captures, declaration, name, part)
    if found is None:
        return None
    limits = found.free[part].range
    factor = declaration.free[name].example // found.free[part].example
    expression = times(factor, symbol(part))
    return [dim_text(part, limits.lower, limits.upper), f"{name} = {expression}"]


def as_multiple(captures, declaration, name, part):
    """The declaration in which a size is the least multiple of another, `part`, that it may be;
    None where no multiple varies by itself."""
    one = declaration.free[name]
    factors = [n for n in range(2, one.example // 2 + 1) if one.example % n == 0]
    for factor in factors[:_FACTORS]:
        low, high = -(-one.range.lower // factor), one.range.upper
        high = high if high == math.inf else high // factor
        limits, example = ValueRanges(low, high), one.example // factor
        free = replace(one, name=part, range=limits, example=example)
        tried = declaration.substituted(name, times(factor, symbol(part)), [free])
        if captures.attempt(tried.only([part]), []) is not None:
            return tried
    return None
