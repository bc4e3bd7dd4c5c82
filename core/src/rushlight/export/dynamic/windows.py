"""Lengths that a program compares its sizes with: extents and steps of windows, ends of slices.

What such a length does is seen only at sizes beyond it, so these are tried too. Otherwise a step
above all sizes tried would leave one window at each, and their number would be taken for a
constant.
"""

from __future__ import annotations

import itertools
import math

from rushlight.export.dynamic import sampling
from rushlight.fx.experimental.inner_graphs import graphs_within

_WORDS = frozenset(
    "size step stride kernel_size dilation start end length n_fft hop_length win_length "
    "split_size split_sizes".split()
)
MOST = 1 << 16  # longer ones, as the end of a slice that has none, are not tried
_TRIED = 3  # of several lengths


def lengths_of(graph) -> frozenset[int]:
    """The lengths among the arguments of a graph's calls, found by the names of parameters."""
    found = set()
    for node in itertools.chain.from_iterable(each.nodes for each in graphs_within(graph)):
        schema = getattr(node.target, "_schema", None) if node.op == "call_function" else None
        names = () if schema is None else tuple(a.name for a in schema.arguments)
        if "storage_offset" in names:
            continue  # its strides are those of memory
        given = dict(zip(names, node.args, strict=False))
        for name, value in {**given, **node.kwargs}.items():
            if name not in _WORDS or name == "size" and type(value) is not int:
                continue  # sizes in lists are those of results
            for number in value if isinstance(value, list | tuple) else (value,):
                if type(number) is int and 1 < number <= MOST:
                    found.add(number)
    return frozenset(found)


def beyond(lengths, declaration, samples) -> list[dict[str, int]]:
    """Samples well above those lengths that the samples do not reach three times."""
    found = []
    for name, one in declaration.free.items():
        tried = max(sample[name] for sample in samples)
        wanted = sorted((n for n in lengths if 3 * n > tried), reverse=True)
        low, high = max(one.range.lower, sampling.LEAST), one.range.upper
        for length in wanted[:_TRIED]:
            for size in (2 * length + length // 3 + 1, 4 * length - 1):
                if low <= size <= high:
                    found.append({**samples[0], name: size})
            if high != math.inf and length < high < 2 * length:
                found.append({**samples[0], name: int(high)})
    return found
