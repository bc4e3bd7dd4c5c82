"""Calls every op of the table with inputs of some hundred elements, in the order of the table or
backwards, and prints a checksum of each result and gradient: argv[1] is "forwards" or "backwards".
"""

from __future__ import annotations

import json
import sys
import warnings
import zlib

import rushlight
from rushlight.ops._table import deferred
from rushlight.ops._table.op import TABLE
from rushlight.tensor.tensor import Tensor
from rushlight.testing import samples
from rushlight.testing.ops import _ours, is_differentiable
from rushlight.utils._pytree import tree_leaves, tree_map

FACTOR = 11  # (3, 4) becomes (33, 44): no whole number of vectors
DTYPES = (rushlight.float32, rushlight.float64)


class Larger(samples.Maker):
    """Makes vectors and matrices larger by a factor; their contents are the larger tensor's own."""

    def array(self, shape):
        return super().array(tuple(shape) if len(shape) > 2 else [FACTOR * n for n in shape])

    def integers(self, low, high, shape, unique_dim=None):
        larger = shape if len(shape) > 2 else [FACTOR * n for n in shape]
        return super().integers(low, high, larger, unique_dim)


samples.Maker = Larger


def calls():
    """Each op with a dtype; a sample that is no valid call at this size has none of its own."""
    deferred.load_all()
    return [(op, dtype) for op in TABLE.values() for dtype in DTYPES]


def copied(value, with_grad):
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(with_grad and value.is_floating_point())


def checksum(values):
    found = 0
    for value in values:
        if isinstance(value, Tensor) and value.layout is rushlight.strided:
            found = zlib.crc32(value.detach().contiguous().numpy().tobytes(), found)
    return found


def called(op, args, kwargs):
    """The checksum of the results, and of the gradients where there are some."""
    with_grad = is_differentiable(op)
    args, kwargs = tree_map(lambda value: copied(value, with_grad), (tuple(args), dict(kwargs)))
    results = tree_leaves(_ours(op)(*args, **kwargs))
    followed = [v for v in results if isinstance(v, Tensor) and v.requires_grad]
    for value in followed:
        value.backward(rushlight.full_like(value, 0.37), retain_graph=True)
    leaves = [v.grad for v in tree_leaves((args, kwargs)) if isinstance(v, Tensor)]
    return [checksum(results), checksum(leaves)]


def made(op, dtype):
    try:
        return samples.samples_of(op, dtype)
    except (RuntimeError, ValueError, IndexError, TypeError):
        return []  # the declaration puts together tensors of sizes that do not fit when larger


def run(backwards):
    found = {}
    for op, dtype in reversed(calls()) if backwards else calls():
        for place, (args, kwargs) in enumerate(made(op, dtype)):
            try:
                found[f"{op.name} {dtype} {place}"] = called(op, args, kwargs)
            except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
                continue  # the same
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(run(sys.argv[1] == "backwards")))
