"""What tests of captures ask: how many graphs there were, of how many calls, whether results are
alike. Under the names that programs import from ``torch._dynamo.testing``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight
from rushlight._dynamo.backends.registry import lookup_backend
from rushlight.tensor.tensor import Tensor

_SAME_DIRECTION = 0.99  # the least cosine of results that count as alike


class CompileCounter:
    """A backend that runs graphs as they are, and counts: `frame_count` graphs, `op_count` calls.

    >>> import rushlight
    >>> from rushlight._dynamo.testing import CompileCounter
    >>> counter = CompileCounter()
    >>> layers = rushlight.nn.Sequential(rushlight.nn.ReLU(), rushlight.nn.Tanh())
    >>> _ = rushlight.compile(layers, backend=counter)(rushlight.ones(2))
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        """Count a graph module; returns its `forward`."""
        self.frame_count += 1
        self.op_count += _calls(gm)
        return gm.forward

    def clear(self) -> None:
        """Begin again at 0."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """The same before another backend, by its name, whose result runs; `graphs` are the graph
    modules that it was given."""

    def __init__(self, backend: str):
        self.backend = backend
        self.clear()

    def __call__(self, gm, example_inputs):
        """Count and keep a graph module, and give it to the backend."""
        self.frame_count += 1
        self.op_count += _calls(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Begin again at 0, without graphs."""
        self.frame_count = self.op_count = 0
        self.graphs: list = []


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps their modules in `graphs`."""

    def __init__(self):
        self.graphs: list = []

    def __call__(self, gm, example_inputs):
        """Keep a graph module."""
        self.graphs.append(gm)
        return gm.forward


def _calls(module):
    return sum(node.op.startswith("call_") for node in module.graph.nodes)


def rand_strided(
    size: Sequence[int],
    stride: Sequence[int],
    dtype=rushlight.float32,
    device="cpu",
    extra_size: int = 0,
) -> Tensor:
    """A tensor of a shape and strides in elements: samples of the standard normal distribution, of
    types that have no fractions zeros.

    Args:
        size, stride: shape and strides, as many of each.
        dtype, device: of the tensor; float32 on the CPU by default.
        extra_size: elements that its storage has besides.

    >>> from rushlight._dynamo.testing import rand_strided
    >>> rand_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    steps = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    count = extra_size + (steps + 1 if all(n > 0 for n in size) else 0)
    if dtype.is_floating_point or dtype.is_complex:
        held = rushlight.randn(count, dtype=rushlight.float32 if dtype.itemsize < 4 else dtype)
        held = held.to(dtype=dtype, device=device)
    else:
        held = rushlight.zeros(count, dtype=dtype, device=device)
    return rushlight.as_strided(held, size, stride)


def same(
    ref,
    res,
    fp64_ref=None,
    cos_similarity: bool = False,
    tol: float = 1e-4,
    equal_nan: bool = False,
    exact_dtype: bool = True,
) -> bool:
    """Whether results are alike: structures of lists, tuples and dicts, tensors in them up to a
    tolerance, all else equal.

    Args:
        ref, res: what is expected, what was found.
        fp64_ref: what is expected, computed in float64; a tensor that is further than `tol` from
            `ref` still counts where its error against this is at most twice that of `ref`.
        cos_similarity: compare the directions of tensors alone.
        tol: the relative and the absolute tolerance, 1e-4.
        equal_nan: whether NaN is NaN; not by default.
        exact_dtype: whether dtypes have to be the same, as by default.

    >>> import rushlight
    >>> from rushlight._dynamo.testing import same
    >>> x = rushlight.ones(2)
    >>> same([x, 3], [x + 1e-6, 3]), same(x, x + 1), same(x, x.double())
    (True, False, False)
    """
    options: dict[str, Any] = {
        "cos_similarity": cos_similarity, "tol": tol, "equal_nan": equal_nan,
        "exact_dtype": exact_dtype,
    }  # fmt: skip
    if isinstance(ref, list | tuple):
        if not isinstance(res, list | tuple) or len(ref) != len(res):
            return False
        exact = fp64_ref if fp64_ref is not None else [None] * len(ref)
        rows = zip(ref, res, exact, strict=True)
        return all(same(*row, **options) for row in rows)
    if isinstance(ref, dict):
        if not isinstance(res, dict) or ref.keys() != res.keys():
            return False
        exact = fp64_ref if fp64_ref is not None else dict.fromkeys(ref)
        return all(same(ref[key], res[key], exact[key], **options) for key in ref)
    if isinstance(ref, Tensor) and isinstance(res, Tensor):
        return _alike(ref, res, fp64_ref, **options)
    if isinstance(ref, float) and isinstance(res, float):
        alike = math.isclose(ref, res, rel_tol=tol, abs_tol=tol)
        return alike or (equal_nan and math.isnan(ref) and math.isnan(res))
    return type(ref) is type(res) and bool(ref == res)


def _alike(ref, res, exact, cos_similarity, tol, equal_nan, exact_dtype):
    """The same of two tensors."""
    if ref.shape != res.shape or (exact_dtype and ref.dtype != res.dtype):
        return False
    if not ref.dtype.is_floating_point and not ref.dtype.is_complex:
        return rushlight.equal(ref, res.to(ref.dtype))
    wide = rushlight.complex128 if ref.dtype.is_complex else rushlight.float64
    ref, res = ref.detach().to(wide), res.detach().to(wide)
    if cos_similarity:
        one, other = ref.flatten(), res.flatten()
        lengths = one.norm() * other.norm()
        if not lengths:
            return not one.norm() and not other.norm()
        return bool((one * other.conj()).sum().real / lengths >= _SAME_DIRECTION)
    if rushlight.allclose(ref, res, rtol=tol, atol=tol, equal_nan=equal_nan):
        return True
    if exact is None:
        return False
    exact = exact.detach().to(wide)
    errors = [float((each - exact).abs().square().mean().sqrt()) for each in (ref, res)]
    return errors[1] <= 2 * errors[0] + tol / 10
