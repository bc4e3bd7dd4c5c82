"""Calls of known layouts by machine code: what they take, what they refuse, what they keep."""

from __future__ import annotations

import gc
import math
import sys
import threading

import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import native_functions as llvm_door
from rushlight.ops.indexing import gathering
from rushlight.ops.linalg import products as matrix
from rushlight.ops.neural import softmax
from rushlight.ops.reduction import scan
from rushlight.ops.shape import joining
from rushlight.tensor import construction

pytestmark = pytest.mark.skipif(
    REFERENCE or not llvm_door.is_available(), reason="there is no machine code around kernels"
)
CALLS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "cumsum": lambda x: x.cumsum(0),
    "cat": lambda x: rushlight.cat([x, x], 1),
    "stack": lambda x: rushlight.stack((x, x, x)),
    "mm": lambda x: x @ x.T,
    "mv": lambda x: x @ x[0],
    "tril": lambda x: x.tril(),
    "logsumexp": lambda x: x.logsumexp(1),
    "bfloat16": lambda x: x.bfloat16(),
    "diag": lambda x: x.diag(1),
    "trace": lambda x: x.trace(),
    "take": lambda x: x.take(rushlight.tensor([[0, -1], [2, 1]])),
}


def short_of(function):
    return function.op.cpu_kernel.short


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.float64])
def test_results_are_those_of_the_kernel(name, dtype):
    """Twenty layouts, more than a table holds, back and forth."""
    call = CALLS[name]
    sources = [rushlight.rand(3, n, dtype=dtype) for n in range(1, 11)]
    sources += [rushlight.rand(n, 3, dtype=dtype).t() for n in range(1, 11)]
    first = [call(x) for x in sources]
    for _ in range(3):
        for x, want in zip(sources, first, strict=True):
            got = call(x)
            assert got.dtype is want.dtype and got.stride() == want.stride()
            assert got.tolist() == want.tolist() and got._base is None and got is not want
            assert not got.requires_grad and got._node is None


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_recorded(name):
    call, x = CALLS[name], rushlight.rand(3, 4)
    for _ in range(3):
        plain = call(x)
    leaf = x.clone().requires_grad_()
    grads = []
    for _ in range(3):
        out = call(leaf)
        assert out.tolist() == plain.tolist() and out.requires_grad
        leaf.grad = None
        out.square().sum().backward()
        grads.append(leaf.grad.tolist())
    assert grads[0] == grads[1] == grads[2]
    with rushlight.no_grad():
        assert not call(leaf).requires_grad
    with rushlight.inference_mode():
        assert call(rushlight.rand(3, 4)).is_inference()


def test_attributes_count():
    x = rushlight.arange(6.0).reshape(2, 3).clone()
    for _ in range(3):
        assert x.cumsum(0).tolist() == [[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]]
        assert x.cumsum(1).tolist() == [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]
        assert x.cumsum(1, dtype=rushlight.float64).dtype is rushlight.float64
        assert x.tril(1).tolist() == [[0.0, 1.0, 0.0], [3.0, 4.0, 5.0]]
        assert x.tril(diagonal=-1).tolist() == [[0.0] * 3, [3.0, 0.0, 0.0]]
        assert rushlight.cat([x, x]).shape == (4, 3) and rushlight.cat([x, x], 1).shape == (2, 6)
        assert rushlight.cat([x], 0).shape == (2, 3) and rushlight.cat([x] * 7).shape == (14, 3)
        assert rushlight.cat([x, x.double()]).dtype is rushlight.float64
    with pytest.raises(IndexError):
        x.cumsum(2)
    with pytest.raises(RuntimeError, match="non-empty|at least"):
        rushlight.stack([])


def test_what_is_refused():
    x = rushlight.rand(3, 4)
    for _ in range(40):  # other layouts may have filled the table
        x.cumsum(0), rushlight.cat([x, x])
    scanned, joined = short_of(scan.cumsum).call, short_of(joining.cat).call
    assert scanned(x, 0).tolist() == x.cumsum(0).tolist()
    others = x.t(), x[:, :2], x._array, None, x.half(), [x], x.to("meta")
    for arguments in ((), (x,), (x, 0, 0), (x, 0.0), (x, 1 << 70), *((o, 0) for o in others)):
        assert scanned(*arguments) is NotImplemented
    for arguments in (([x, x],), ([], 0), ([x] * 9, 0), ([x, None], 0), ((x, x.t()), 0), (x, 0),
                      ({x: x}, 0), ([x, x._array], 0)):  # fmt: skip
        assert joined(*arguments) is NotImplemented

    class Sub(rushlight.Tensor):
        pass

    sub = x.as_subclass(Sub)
    assert scanned(sub, 0) is NotImplemented and type(sub.cumsum(0)) is Sub


def test_indices_out_of_range_are_errors():
    x, index = rushlight.rand(4, 3), rushlight.tensor([0, 3, 1])
    for _ in range(40):
        assert x.index_select(0, index).tolist() == [x[i].tolist() for i in (0, 3, 1)]
        assert x.gather(0, index[None]).shape == (1, 3)
    taken, wrong = short_of(gathering.index_select).call, rushlight.tensor([0, 4, 1])
    assert taken(x, index, 0).tolist() == x.index_select(0, index).tolist()
    assert taken(x, wrong, 0) is NotImplemented
    with pytest.raises(IndexError, match="out of (range|bounds)"):
        x.index_select(0, wrong)
    with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
        x.gather(0, wrong[None])


def test_several_results():
    arrays = tuple(rushlight.rand(n)._array for n in range(4))
    got = construction.results(arrays)
    assert type(got) is tuple and all(t._array is a for t, a in zip(got, arrays, strict=True))
    assert construction.results(()) == ()
    some, none = construction.results((arrays[0], None))
    assert some._array is arrays[0] and none is None
    for other in (list(arrays), (arrays[0], 1), (arrays[0].view(">f4"),), arrays * 3, 1):
        assert construction.results(other) is NotImplemented
    before = [sys.getrefcount(o) for o in (arrays[1], rushlight.float32, arrays)]
    for _ in range(500):
        construction.results(arrays)
        construction.results((arrays[1], None))
        construction.results((arrays[1], 1))
    assert [sys.getrefcount(o) for o in (arrays[1], rushlight.float32, arrays)] == before


def test_several_results_of_a_kernel():
    scores, targets = rushlight.rand(5, 7), rushlight.arange(5)
    call = rushlight.nn.functional.cross_entropy
    want = -scores.log_softmax(1)[targets, targets].mean()
    for _ in range(5):
        assert abs(call(scores, targets).item() - want.item()) < 1e-6
    with pytest.raises(IndexError, match="out of bounds"):
        call(scores, targets + 3)
    arrays = scores._array, targets._array
    from rushlight.kernels.losses import cross_entropy as losses

    found = losses.prepare_mean(*arrays, -100)
    assert found.__name__ == "several" and [a.shape for a in found(*arrays)] == [(), (5,), ()]
    assert found(arrays[0]) is NotImplemented and found(*arrays[::-1]) is NotImplemented
    before = [sys.getrefcount(o) for o in (*arrays, arrays[0].dtype, found.__self__)]
    for _ in range(500):
        found(*arrays), found(*arrays[::-1]), found(arrays[0])
    assert [sys.getrefcount(o) for o in (*arrays, arrays[0].dtype, found.__self__)] == before


def test_nothing_is_kept():
    x = rushlight.rand(3, 4)
    pair = [x, x]
    for _ in range(40):
        x.softmax(1), rushlight.cat(pair), x @ x.T
    calls = [short_of(f).call for f in (softmax._softmax, joining.cat, matrix.mm)]
    turned = x.T
    plans = [short_of(f).known.kept[0][0].__self__ for f in (softmax._softmax, joining.cat)]
    objects = (x, x._array, pair, turned, x._dtype, *plans)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        assert type(calls[0](x, 1)) is rushlight.Tensor
        assert type(calls[1](pair, 0)) is rushlight.Tensor
        assert type(calls[2](x, turned)) is rushlight.Tensor
        assert calls[0](x, 5) is NotImplemented and calls[1](pair, 7) is NotImplemented
    assert [sys.getrefcount(o) for o in objects] == before


def test_threads_fill_the_table_at_once():
    failures = []

    def work(seed):
        for step in range(400):
            n = (seed * 7 + step) % 40 + 1
            x = rushlight.ones(2, n)
            if x.cumsum(1)[0, -1].item() != n or rushlight.cat([x, x], 1).shape != (2, 2 * n):
                failures.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.int64, rushlight.uint8])
def test_membership(dtype):
    """Few others are compared with one by one, more are looked up; nan is no member."""
    for n in (1, 5, 40, 64, 65):
        tests = rushlight.arange(0, 2 * n, 2).to(dtype)
        for shape in ((7,), (3, 5)):
            x = rushlight.arange(float(math.prod(shape))).reshape(shape).to(dtype)
            want = (x.long() % 2 == 0) & (x < 2 * n)
            for _ in range(3):
                assert rushlight.isin(x, tests).equal(want)
                assert rushlight.isin(x, tests, invert=True).equal(~want)
    odd = rushlight.tensor([float("nan"), -0.0, 1.0])
    for _ in range(3):
        assert rushlight.isin(odd, odd[:2].neg().clone()).tolist() == [False, True, False]
    with rushlight.inference_mode():
        assert rushlight.isin(odd, odd).is_inference()


def test_a_take_out_of_range_is_an_error():
    x = rushlight.arange(6.0)
    for _ in range(3):
        assert x.take(rushlight.tensor([-6, 5])).tolist() == [0.0, 5.0]
        for place in (-7, 6):
            with pytest.raises(IndexError, match="out of range"):
                x.take(rushlight.tensor([0, place]))
