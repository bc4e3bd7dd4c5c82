"""Views of known layouts by machine code: what they take, what they refuse, what they keep."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import native_functions as llvm_door
from rushlight.ops.indexing import slicing
from rushlight.ops.shape import views as shape

pytestmark = pytest.mark.skipif(
    REFERENCE or not llvm_door.is_available(), reason="there is no machine code around kernels"
)
CALLS = {
    "diagonal": lambda x: x.diagonal(),
    "offset": lambda x: x.diagonal(-1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "movedim": lambda x: x.movedim(0, -1),
    "moveaxis": lambda x: rushlight.moveaxis(x, 1, 0),
}
KNOWN = {
    "diagonal": slicing.diagonal.op.options["known"],
    "unfold": slicing.unfold.op.options["known"],
    "movedim": shape._moved,
}


@pytest.fixture(autouse=True, scope="module")
def _compiled():
    """Views do not ask for a compiler: it is there once a kernel has run."""
    rushlight.rand(3, 3).softmax(1)


def test_the_machine_code_is_used():
    x = rushlight.rand(5, 6)
    for name, known in KNOWN.items():
        for _ in range(3):
            CALLS[name](x)
        assert known.call.__name__ == "known", name


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [rushlight.float32, rushlight.int8, rushlight.complex64])
def test_views_are_those_of_the_long_way(name, dtype):
    """Forty layouts, more than a table holds, back and forth; each is a part of its source."""
    call = CALLS[name]
    sources = [rushlight.rand(3, n).mul(9).to(dtype) for n in range(2, 22)]
    sources += [rushlight.rand(n, 4).mul(9).to(dtype)[1:].t() for n in range(3, 23)]
    first = [call(x) for x in sources]
    for _ in range(3):
        for x, want in zip(sources, first, strict=True):
            got = call(x)
            assert got.dtype is want.dtype and got.stride() == want.stride()
            assert got.storage_offset() == want.storage_offset()
            assert got.tolist() == want.tolist() and got is not want
            assert got._base is want._base and got._path[-1][0] is want._path[-1][0]
            assert got.data_ptr() == want.data_ptr() and got._node is None


@pytest.mark.parametrize("name", CALLS)
def test_views_are_recorded_and_written(name):
    call = CALLS[name]
    for _ in range(3):
        plain = call(rushlight.ones(4, 4))
    leaf = rushlight.ones(4, 4, requires_grad=True)
    grads = []
    for _ in range(3):
        out = call(leaf)
        assert out.requires_grad and out.shape == plain.shape
        leaf.grad = None
        out.square().sum().backward()
        grads.append(leaf.grad.tolist())
        base = leaf * 1
        call(base).mul_(3.0)  # through the view into what is recorded
        leaf.grad = None
        base.sum().backward()
        assert set(leaf.grad.reshape(-1).tolist()) <= {1.0, 3.0} and leaf.grad.max() == 3
    assert grads[0] == grads[1] == grads[2]
    with rushlight.no_grad():
        assert not call(leaf).requires_grad
    with rushlight.inference_mode():
        assert call(rushlight.ones(4, 4)).is_inference()


def test_what_is_refused():
    x, known = rushlight.rand(4, 4), KNOWN["diagonal"]
    for _ in range(40):  # of those that come late, one in 32 is learned
        x.diagonal()
    assert known.call(x, 0, 0, 1) is not NotImplemented
    for call in (
        lambda: known.call(x, 1000, 0, 1),
        lambda: known.call(x, 0.0, 0, 1),
        lambda: known.call(x, False, 0, 1),
        lambda: known.call(x, 0, 0),
        lambda: known.call(x.double(), 0, 0, 1),
        lambda: known.call(x[1:], 0, 0, 1),
        lambda: known.call([x], 0, 0, 1),
        lambda: known.call(x.to("meta"), 0, 0, 1),
    ):
        assert call() is NotImplemented
    with pytest.raises(RuntimeError, match="identical"):
        x.diagonal(0, 1, 1)
    assert x.expand(2, 4, 4).diagonal().shape == (4, 2)


def test_nothing_is_kept():
    x = rushlight.rand(6, 6)
    for name in KNOWN:
        for _ in range(40):
            CALLS[name](x)
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(x._array)
    for name in KNOWN:
        for _ in range(100):
            CALLS[name](x)
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(x._array)) == before


def test_threads_fill_the_table_at_once():
    """Each works on layouts of its own."""
    wrong = []

    def work(seed):
        for round in range(200):
            n = 2 + (seed * 7 + round) % 29
            x = rushlight.arange(float(n * n)).reshape(n, n)
            if x.diagonal().tolist() != [i * (n + 1.0) for i in range(n)]:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
