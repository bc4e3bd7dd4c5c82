"""Inputs for the generated op tests: seeded by the op's name, drawn from the op's domain.

A declaration says `samples` in one of three forms:

* a name of `SETS`, where the signature says all: ``samples="unary"``;
* a list of what follows the first argument, a tensor of shape (3, 4): ``samples=[(0, 1)]`` is
  ``op(tensor, 0, 1)`` and ``samples=[(), {"dim": 1}]`` two calls;
* a function of a `Maker` that gives the calls, each ``(args, kwargs)`` or a tuple of positional
  arguments, which may end with a dictionary of keywords.
"""

from __future__ import annotations

import zlib

import rushlight
from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.machine import np
from rushlight.ops._table.domains import away_from, real


class Maker:
    """Makes tensors of one dtype from a domain; the same seed gives the same tensors."""

    def __init__(self, name, domain=real, dtype=None, requires_grad=False):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.domain = domain if not isinstance(domain, str) else away_from(0.0)
        if domain == "integers" and dtype is None:
            dtype = rushlight.int64
        self.dtype, self.requires_grad = dtype or rushlight.float64, requires_grad

    def array(self, shape):
        """Values in the domain, as float64."""
        domain = self.domain
        if not isinstance(domain, away_from):
            return self.random.uniform(*domain, size=shape)
        values = self.random.uniform(domain.low, domain.high, size=shape)
        for _ in range(100):
            near = np.zeros(np.shape(values), bool)
            for point in domain.points:
                near |= np.abs(values - point) < domain.gap
            if not near.any():
                break
            values = np.where(near, self.random.uniform(domain.low, domain.high, shape), values)
        return np.asarray(values)

    def __call__(self, *shape):
        """A tensor of a shape."""
        if self.dtype.category == COMPLEX:
            return self.complex(*shape)
        values = self.array(shape)
        if self.dtype.category < 2:
            values = np.round(np.asarray(values) * 3)
        out = rushlight.tensor(np.asarray(values)).to(self.dtype)
        return out.requires_grad_() if self.requires_grad and self.dtype.category >= 2 else out

    def complex(self, *shape):
        """A complex tensor as wide as the dtype; of a dtype without parts, complex64."""
        out = rushlight.complex(
            rushlight.tensor(self.array(shape)), rushlight.tensor(self.array(shape))
        )
        kinds = {FLOAT: self.dtype.to_complex, COMPLEX: lambda: self.dtype}
        wide = kinds.get(self.dtype.category, lambda: rushlight.complex64)()
        return out.to(wide).requires_grad_(self.requires_grad)

    def integers(self, low, high, shape, unique_dim=None):
        """int64 indices; with `unique_dim` no index repeats along it."""
        values = self.random.integers(low, high, shape)
        if unique_dim is not None:
            keys = self.random.random(
                tuple(high - low if d == unique_dim else n for d, n in enumerate(shape))
            )
            order = np.argsort(keys, axis=unique_dim)
            values = low + np.take(order, np.arange(shape[unique_dim]), unique_dim)
        return rushlight.tensor(np.asarray(values, np.int64))

    def mask(self, *shape):
        """A random bool tensor."""
        return rushlight.tensor(self.random.random(shape) > 0.5)

    def pivots(self, count):
        """The row exchanges of an LU factorization: each row with the next one."""
        return rushlight.tensor([*range(2, count + 1), count], dtype=rushlight.int32)

    def _leaf(self, array):
        out = rushlight.tensor(np.asarray(array)).to(self.dtype)
        return out.requires_grad_() if self.requires_grad and self.dtype.category >= 2 else out

    def invertible(self, *shape):
        """Square matrices far from singular: their diagonal dominates."""
        return self._leaf(self.array(shape) / shape[-1] + 4 * np.eye(shape[-1]))

    def definite(self, *shape):
        """Symmetric positive-definite matrices with eigenvalues of at least 1."""
        half = self.array(shape)
        return self._leaf(half @ np.swapaxes(half, -1, -2) + np.eye(shape[-1]))


def elementwise_samples(op, make):
    """Scalars, vectors, matrices, empty, broadcast, transposed and expanded inputs, and each
    declared variant of the attributes."""
    count = sum(kind == "Tensor" for kind in op.kinds)
    shapes = [[()] * count, [(5,)] * count, [(3, 4)] * count, [(0, 3)] * count]
    if count > 1:
        shapes.append([(3, 1), (4,), (2, 1, 1)][:count])
    variants = op.options.get("variants", ())
    first = [] if _required(op) or op.options.get("only_variants") else [{}]
    found = [(tuple(make(*s) for s in row), kw) for row in shapes for kw in (first or variants)]
    if len(variants):
        found += [(tuple(make(3, 4) for _ in range(count)), kw) for kw in variants]
    options = (first or list(variants))[0]
    found.append((tuple(make(4, 3).t() for _ in range(count)), options))
    found.append((tuple(make(4, 6)[::2, 1::2] for _ in range(count)), options))
    found.append((tuple(make(1, 4).expand(3, 4) for _ in range(count)), options))
    return found


def _required(op):
    from rushlight.ops._table.op import REQUIRED

    return any(d is REQUIRED and k == "attr" for d, k in zip(op.defaults, op.kinds, strict=True))


# Calls of a composite whose signature says all. The third is the one of checks that take one.
SETS = {
    "unary": lambda make: [(make(),), (make(0, 3),), (make(3, 4),)],
    "binary": lambda make: [(make(), make()), (make(3, 1), make(4)), (make(3, 4), make(3, 4))],
    "matrix": lambda make: [(make(0, 3),), (make(2, 3, 2),), (make(3, 4),)],
    "square": lambda make: [(make(0, 0),), (make(2, 2, 2),), (make(3, 3),)],
    "invertible": lambda make: [
        (make(0, 0),),
        (make.invertible(2, 2, 2),),
        (make.invertible(3, 3),),
    ],
    "definite": lambda make: [(make(0, 0),), (make.definite(2, 2, 2),), (make.definite(3, 3),)],
    "matrices": lambda make: [(make(3, 2), make(2, 4)), (make(0, 2), make(2, 3))],
}


def _call(sample):
    """A sample as ``(args, kwargs)``."""
    if len(sample) == 2 and isinstance(sample[0], tuple) and isinstance(sample[1], dict):
        return sample
    if sample and isinstance(sample[-1], dict):
        return tuple(sample[:-1]), sample[-1]
    return tuple(sample), {}


def _following(make, rest):
    """A call whose first argument is a tensor; `rest` follows it."""
    return (make(3, 4), *(rest if isinstance(rest, tuple) else (rest,)))


def samples_of(op, dtype=None, requires_grad=False):
    """The sample calls of an op, as ``(args, kwargs)``."""
    domain = op.options.get("domain", real)
    make = Maker(op.name, domain, dtype, requires_grad)
    declared = op.options.get("samples")
    if declared is None:
        return elementwise_samples(op, make) if op.kind == "elementwise" else []
    if isinstance(declared, list):
        return [_call(_following(make, rest)) for rest in declared]
    return [_call(sample) for sample in SETS.get(declared, declared)(make)]
