"""Every op of the table on a CUDA device agrees with the CPU: the tests follow from declarations.

Forward and gradients in float32; elementwise ops in bfloat16 and int64 too. The last test prints
how many ops run by generated kernels, handwritten ones, the solver library, and array code, and
holds the parts that must not shrink.
"""

from __future__ import annotations

import contextlib
import functools

import pytest

import rushlight
from rushlight.compiler.cuda import array_code, translation
from rushlight.machine.cuda import runtime
from rushlight.ops._table import cuda as _cuda
from rushlight.tensor.tensor import Tensor
from rushlight.testing import cuda_listing
from rushlight.testing.ops import _holds_tensors, _ours, _sampled, flat, is_differentiable
from rushlight.testing.samples import samples_of

ON_CPU = {"histogram", "histogramdd"}  # as in PyTorch
OPS = [op for op in _sampled() if _holds_tensors(op) and op.name not in ON_CPU]
# Calls of these alone are counted; others run several ops, also those whose results tests compare
# by what is unique of them.
PARTS = [op for op in OPS if op.kind != "composite" and "compared" not in op.options]
ELEMENTWISE = [op for op in OPS if op.kind == "elementwise"]
LOW = (rushlight.bfloat16, rushlight.int64)
REFUSED = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
# How far float32 sums in another order, and factorizations that amplify it, may differ.
LOOSE = {
    "linalg_matrix_exp": 1e-3, "linalg_lu_factor_ex": 1e-3, "linalg_solve_ex": 1e-3,
    "pca_lowrank": 1e-3,
}  # fmt: skip
passed: dict[str, set] = {}
waiting: set[str] = set()  # ops whose forward asked the device for something and waited
# Those that may: their results' sizes depend on data, they look at numbers that choose a method
# (rare special functions), or no public function calls them with tensors of a device (`_nll_mean`
# and those that follow).
MAY_WAIT = frozenset(
    "_nonzero masked_select masked_scatter bincount histc _pinv linalg_matrix_exp igamma igammac "
    "_derivative_of_digamma _zeta_pair _nll_mean _multi_margin _multilabel_margin _segments".split()
)
POLYNOMIAL = "_polynomial_"


@pytest.fixture(scope="module", autouse=True)
def _compiled(_emulated):
    """Kernels of all ops, compiled in a few sources before the first test."""
    cuda_listing.load(cuda_listing.programs((rushlight.float32, *LOW)))


def moved(value, device="cuda"):
    """Arguments with their tensors on the device, leaves of their own."""
    if isinstance(value, Tensor):
        copy = value.detach().to(device)
        return copy.requires_grad_() if value.requires_grad else copy
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(moved(item, device) for item in value)
    return value


def tensors_of(value, graded=False):
    """The tensors among results or arguments."""
    found = [t for t in flat(value) if isinstance(t, Tensor)]
    return [t for t in found if t.requires_grad] if graded else found


def assert_close(expected, found, tolerance, what):
    """Same dtype, shape and values."""
    assert found.is_cuda, f"{what} is on {found.device}"
    assert found.dtype is expected.dtype
    assert tuple(found.shape) == tuple(expected.shape)
    rushlight.testing.assert_close(
        found.detach().cpu(), expected.detach(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def samples(op, dtype, requires_grad):
    """The op's sample calls in a dtype, or in its own where it does not take that one."""
    with contextlib.suppress(*REFUSED):
        return samples_of(op, dtype, requires_grad)
    return samples_of(op, None, requires_grad)


def total(tensors):
    """A real number that depends on all of them."""
    return sum((t * t.conj()).real.sum() if t.is_complex() else (t * t).sum() for t in tensors)


def check(op, args, kwargs, tolerance):
    """One call: results, and the gradients of the sum of their squares."""
    expected = _ours(op)(*args, **kwargs)
    there, named = moved(args), {k: moved(v) for k, v in kwargs.items()}
    counters = runtime.current().counters
    before = counters.synchronizations
    found = _ours(op)(*there, **named)
    if counters.synchronizations != before and op in PARTS:
        waiting.add(op.name)
    for a, b in zip(tensors_of(expected), tensors_of(found), strict=True):
        assert_close(a, b, tolerance, "the result")
    leaves = [t for t in tensors_of(args, True) if t.is_leaf]
    copies = [t for t in tensors_of(there, True) if t.is_leaf]
    live = tensors_of(expected, True)
    if not live or not leaves or len(leaves) != len(copies):
        return
    for leaf in leaves:
        leaf.grad = None
    total(live).backward()
    total(tensors_of(found, True)).backward()
    for a, b in zip(leaves, copies, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert_close(a.grad, b.grad, 10 * tolerance, "the gradient")


def check_samples(op):
    """Every sample in float32, or if the op takes integers alone in these."""
    tolerance = LOOSE.get(op.name, 1e-4)
    done = 0
    for args, kwargs in samples(op, rushlight.float32, is_differentiable(op)):
        try:
            op.function(*args, **kwargs)
        except REFUSED:  # float32 is not for every sample of every op
            continue
        check(op, args, kwargs, tolerance)
        done += 1
    if not done:  # the op is for integers
        for args, kwargs in samples_of(op):
            check(op, args, kwargs, tolerance)
            done += 1
    assert done, "no sample was taken"


@pytest.mark.parametrize("op", PARTS, ids=lambda op: op.name)
def test_forward_and_gradient(op):
    check_samples(op)
    passed.setdefault("float32", set()).add(op.name)


@pytest.mark.parametrize("dtype", LOW, ids=lambda d: d.name)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise_in_low_precision_and_integers(op, dtype):
    tolerance = 1e-2 if dtype is rushlight.bfloat16 else 1e-5
    done = 0
    for args, kwargs in samples(op, dtype, False)[2:]:
        try:
            expected = op.function(*args, **kwargs)
        except REFUSED as error:
            if "ZeroDivision" in str(error):  # to see a zero there would be to wait for it
                continue
            with pytest.raises(REFUSED):
                op.function(*moved(args), **{k: moved(v) for k, v in kwargs.items()})
            continue
        found = op.function(*moved(args), **{k: moved(v) for k, v in kwargs.items()})
        for a, b in zip(tensors_of(expected), tensors_of(found), strict=True):
            assert_close(a, b, tolerance, "the result")
        done += 1
    if done:
        passed.setdefault(dtype.name, set()).add(op.name)


@functools.cache
def ways():
    """Which way each op of the table has run, by name."""
    code = {op for (op, _), n in array_code.functions.items() if n}
    solved = {op for op, n in translation.solved.items() if n}
    names = {op.name for op in PARTS}
    handwritten = {op for op, n in translation.used.items() if n} & names
    found = {"array code": (code - solved) & names, "solver": solved & names}
    found["handwritten"] = handwritten - found["array code"]
    found["views"] = {op for op, n in _cuda.ran["view"].items() if n} & names
    rest = (names - set().union(*found.values())) & passed.get("float32", set())
    elementwise = {op.name for op in ELEMENTWISE}
    found["generated"] = rest & elementwise
    found["kernels in place of NumPy's words"] = rest - elementwise
    return found


def test_how_the_table_runs(capsys):
    """At least 95 of 100 ops run; most of them by kernels."""
    names = {op.name for op in PARTS}
    ran = passed.get("float32", set()) & names
    if len(ran) < len(PARTS) // 2:
        pytest.skip("the whole table was not run")
    found = ways()
    missing = sorted(names - ran)
    with capsys.disabled():
        print(f"\nops of the table on CUDA: {len(PARTS)}, agreeing with the CPU: {len(ran)}")
        for name, ops in found.items():
            print(f"  {name}: {len(ops)}")
        for name in ("bfloat16", "int64"):
            print(f"  elementwise in {name}: {len(passed.get(name, ()))} of {len(ELEMENTWISE)}")
        print(f"  array code: {', '.join(sorted(found['array code']))}")
        print(f"  wait for the device: {', '.join(sorted(waiting))}")
        print(f"  not run: {', '.join(missing)}")
    assert len(ran) >= 0.95 * len(PARTS)
    assert len(found["array code"]) <= 0.08 * len(PARTS)
    assert {op for op in waiting if POLYNOMIAL not in op} <= MAY_WAIT


@pytest.mark.parametrize("op", [op for op in OPS if op not in PARTS], ids=lambda op: op.name)
def test_calls_of_several_ops(op):
    """After the count above, since with complex numbers ops run in other ways."""
    check_samples(op)


def test_wrong_shapes_are_named_as_on_the_cpu():
    with pytest.raises(RuntimeError, match=r"add: The size of tensor input \(3\) must match"):
        rushlight.ones(3, device="cuda") + rushlight.ones(4, device="cuda")
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        rushlight.ones(2, 3, device="cuda") @ rushlight.ones(4, 2, device="cuda")
