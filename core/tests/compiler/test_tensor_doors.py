"""Tensors and views made by machine code: against Python's way, against NumPy, and counts."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight
from rushlight.machine import native_functions as llvm_door
from rushlight.tensor import construction
from rushlight.tensor.tensor import Tensor

pytestmark = pytest.mark.skipif(
    not llvm_door.is_available(), reason="this interpreter has other object headers"
)
STEP = ("op", [1])
BASE = np.arange(240.0, dtype=np.float32).reshape(4, 3, 4, 5)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    rushlight.ones(2) + rushlight.ones(2)  # machine code is in use from here on
    assert type(construction.made) is type(len)


def around(array):
    return construction.made(array, rushlight.float32)


def strided(draw):
    array = BASE[: draw.randrange(5)] if draw.random() < 0.9 else BASE[:, 0, 0, 0]
    for _ in range(draw.randrange(3)):
        step = [slice(draw.randrange(2), None, draw.choice([1, 2])) for _ in array.shape]
        array = array[tuple(step)]
        array = array.transpose(draw.sample(range(array.ndim), array.ndim))
    if draw.random() < 0.3:  # NumPy then keeps the strides where they were, away from the shape
        array = array[:, None, ..., None].squeeze() if array.ndim else array
    return array


def index_item(draw, extent):
    kind = draw.random()
    if kind < 0.35:
        return draw.randrange(-extent - 1, extent + 1)
    if kind < 0.75:
        start, stop = (
            None if draw.random() < 0.3 else draw.randrange(-extent - 3, extent + 3)
            for _ in range(2)
        )
        return slice(start, stop, draw.choice([None, 1, 2, 3, 7]))
    return None if kind < 0.88 else Ellipsis


def indexed(draw, array):
    index = index_item(draw, array.shape[0] if array.ndim else 1)
    if draw.random() < 0.7:
        count = draw.randrange(array.ndim + 1)
        index = tuple(index_item(draw, n) for n in array.shape[:count])
    items = index if type(index) is tuple else (index,)
    got = construction.indexed(around(array), index)
    if got is NotImplemented:
        return None
    assert got._path[0][1] == [items]
    return got, array[items if Ellipsis in items else (*items, ...)]


def permuted(draw, array):
    order = [d - draw.choice([0, array.ndim]) for d in draw.sample(range(array.ndim), array.ndim)]
    if order and draw.random() < 0.1:
        order[0] = order[-1]
    got = construction.permuted(around(array), tuple(order), STEP)
    return None if got is NotImplemented else (got, array.transpose(order))


def swapped(draw, array):
    first, second = (draw.randrange(-array.ndim - 1, array.ndim + 1) for _ in range(2))
    got = construction.swapped(around(array), first, second, STEP)
    return None if got is NotImplemented else (got, array.swapaxes(first, second))


def expanded(draw, array):
    lead = tuple(draw.randrange(3) for _ in range(draw.randrange(3)))
    sizes = [draw.choice([n, n, -1, 5 if n == 1 else n, n + 1]) for n in array.shape]
    got = construction.expanded(around(array), (*lead, *sizes), STEP)
    if got is NotImplemented:
        return None
    shape = [n if m == -1 else m for m, n in zip(sizes, array.shape, strict=True)]
    return got, np.broadcast_to(array, (*lead, *shape))


def reshaped(draw, array):
    sizes, left = [], array.size
    while left > 1 and draw.random() < 0.7:
        sizes.append(draw.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= sizes[-1]
    sizes.append(left)
    draw.shuffle(sizes)
    if draw.random() < 0.4:
        sizes[draw.randrange(len(sizes))] = -1
    if draw.random() < 0.1:
        sizes.append(draw.choice([1, 2, -2, 0]))
    got = construction.reshaped(around(array), tuple(sizes), STEP)
    return None if got is NotImplemented else (got, array.reshape(sizes))


def windowed(draw, array):
    """A diagonal, in parts of its length, at a place inside."""
    if array.ndim < 2 or not array.size:
        return None
    offset = draw.randrange(array.shape[1])
    want = array.diagonal(offset, 0, 1)
    got = construction.windowed(
        around(array), want.shape, want.strides, offset * array.strides[1], STEP
    )
    return None if got is NotImplemented else (got, want)


@pytest.mark.parametrize("take", [indexed, permuted, swapped, expanded, reshaped, windowed])
def test_views_are_numpys(take):
    """Whatever is taken at all has NumPy's shape, strides, memory and flags."""
    draw, done = random.Random(take.__name__), 0
    for _ in range(3000):
        array = strided(draw)
        found = take(draw, array)
        if found is None:
            continue
        got, want = found
        a, done = got._array, done + 1
        assert a.shape == want.shape
        np.testing.assert_array_equal(a, want)
        if a.size:
            assert a.ctypes.data == want.ctypes.data
            assert all(
                s == t or n == 1 for s, t, n in zip(a.strides, want.strides, a.shape, strict=True)
            )
        assert a.flags.c_contiguous == want.flags.c_contiguous
        assert a.flags.f_contiguous == want.flags.f_contiguous
        repeats = any(s == 0 and n > 1 for s, n in zip(want.strides, want.shape, strict=True))
        assert a.flags.writeable == (take is not expanded or not repeats)
        assert a.flags.aligned and not a.flags.owndata and got._dtype is rushlight.float32
    assert done > 600


@pytest.mark.parametrize("unbinds", [False, True])
def test_parts_are_numpys(unbinds):
    """Pieces along a dimension, and slices without it."""
    draw, done = random.Random(5), 0
    for _ in range(1500):
        array = strided(draw)
        if not array.ndim:
            continue
        dim, sizes = draw.randrange(-array.ndim, array.ndim), None
        extent = array.shape[dim]
        if not unbinds:
            cuts = sorted(draw.choices(range(extent + 1), k=draw.randrange(4)))
            sizes = tuple(b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True))
        source = around(array)
        got = construction.parts(source, dim, sizes, "no writes")
        if unbinds:
            want = [array.take(i, dim) for i in range(extent)]
        else:
            want = np.split(array, cuts, dim)
        assert type(got) is tuple and len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a._array, b)
            assert a._path == () and a._writable == "no writes" and a._base is source
            assert (
                a._storage is source._storage and np.may_share_memory(a._array, array) or not b.size
            )
        done += 1
    assert done > 1000


def test_writes_to_parts():
    x = rushlight.arange(12.0).reshape(3, 4).clone()
    for _ in range(3):
        rows, pieces = x.unbind(), x.split(2)
        assert [r.tolist() for r in rows] == x.tolist() and pieces[1].tolist() == x[2:].tolist()
    rows[1].add_(1.0)
    assert pieces[0][1].tolist() == x[1].tolist() == [5.0, 6.0, 7.0, 8.0]
    w = rushlight.ones(3, 4, requires_grad=True)
    for _ in range(3):
        rows = (w * 1.0).unbind()
    with pytest.raises(RuntimeError, match="being modified inplace"):
        rows[0].mul_(2.0)
    (rows[0] * 3 + w.split([1, 2])[1].sum()).sum().backward()
    assert w.grad.tolist() == [[3.0] * 4, [4.0] * 4, [4.0] * 4]


def test_what_is_refused():
    """Python says what is wrong with these; nothing is left behind as an error."""
    x, many = rushlight.ones(2, 3), (0,) * 20
    for index in ("a", 1.0, True, [0], x, (True,), (0, [1]), slice(1.0), slice(None, None, -1),
                  slice(None, None, 0), (..., ...), 2, -3, 1 << 70, (0, 0, 0), many):  # fmt: skip
        assert construction.indexed(x, index) is NotImplemented
    for sizes in ((7,), (-1, -1), (-2, 3), (True, 6), (6.0,), [6], (1 << 70,), (1 << 62, 4), many):
        assert construction.reshaped(x, sizes, STEP) is NotImplemented
    assert construction.reshaped(x.t(), (6,), STEP) is NotImplemented
    for order in ((0,), (0, 0), (0, 2), (0, -3), (0, 1.0), [0, 1], (0, 1 << 70), many):
        assert construction.permuted(x, order, STEP) is NotImplemented
    for sizes in ((3,), (3, 3), (-1, 2, 3), (2, -2), (2, 3.0), [2, 3], many):
        assert construction.expanded(x, sizes, STEP) is NotImplemented
    assert construction.swapped(x, 0, 2, STEP) is NotImplemented
    for dim, sizes in ((2, None), (0, (1,)), (0, (1, 2)), (0, (3, -1)), (0, (1.0, 1)), (0, [1, 1]),
                       (True, None), (0, (0,) * 5000)):  # fmt: skip
        assert construction.parts(x, dim, sizes, "") is NotImplemented
    assert construction.swapped(x, 0, True, STEP) is NotImplemented
    assert construction.view(x, x._array.copy(), STEP) is NotImplemented
    assert construction.view(x, x._array.view(np.int32), STEP) is NotImplemented
    assert construction.result(x._array.view(">f4"), x) is NotImplemented
    assert construction.indexed(x) is NotImplemented


def test_views_know_where_they_come_from():
    x = rushlight.arange(24.0).reshape(2, 3, 4).clone()
    y = x[1]
    z = y.transpose(0, 1)
    assert y._base is x and z._base is x and len(z._path) == 2
    assert x._storage is y._storage is z._storage
    z += 1.0
    assert x._version == y._version == z._version == 1
    w = rushlight.ones(4, 3, requires_grad=True)
    z.mul_(w)
    assert x.requires_grad and y.requires_grad  # views made before the write take part in it
    x.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.arange(13.0, 25.0).reshape(3, 4).T)
    part = rushlight.ones(4).unbind()[0]
    assert part[None]._writable is not None  # a view of one of several views says so too


def test_many_views_of_one_storage():
    """The list of views does not grow with views that are gone."""
    x = rushlight.zeros(8, 8)
    for _ in range(500):
        assert x[3].shape == (8,)
    assert len(x._storage.views) <= 40
    held = [x[i % 8] for i in range(100)]
    assert len(x._storage.live_views()) == len(held)


def test_results_take_the_dtype_of_the_array():
    x = rushlight.ones(3)
    for dtype in (rushlight.float32, rushlight.bfloat16, rushlight.bool, rushlight.int64):
        array = rushlight.ones(3, dtype=dtype)._array
        out = construction.result(array, x)
        assert type(out) is Tensor and out.dtype is dtype and out._array is array
        assert out._node is None and out._storage is None and gc.is_tracked(out)


def test_nothing_is_kept():
    x, index = rushlight.ones(2, 3, 4, 5), (0, slice(1, 2))
    array, dtype = x._array, x._dtype
    x[0]  # makes the storage
    objects = (x, array, dtype, STEP, index, x._storage)
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(2000):
        construction.made(array, dtype)
        construction.result(array, x)
        construction.view(x, array[1:], STEP)
        construction.indexed(x, index)
        construction.indexed(x, 9)
        construction.reshaped(x, (120,), STEP)
        construction.reshaped(x, (7,), STEP)
        construction.permuted(x, (3, 2, 1, 0), STEP)
        construction.swapped(x, 0, 1, STEP)
        construction.expanded(x, (2, 2, 3, 4, 5), STEP)
        construction.expanded(x, (1 << 70,), STEP)
        construction.windowed(x, (2, 2), (60, 4), 8, STEP)
        construction.windowed(x, (2, 2), (60,), 8, STEP)
        construction.parts(x, 1, (1, 2), index)
        construction.parts(x, 1, None, index)
        construction.parts(x, 1, (1, 3), index)
        construction.indexed(x, index, STEP)
        construction.indexed(x, 9, STEP)
        construction.dense(x)
        construction.dense(array)
        construction.cleared(array[0])
        construction.cleared(array[:, 0])
        assert x.shape == (2, 3, 4, 5)
    assert [sys.getrefcount(o) for o in objects] == before


def test_shapes_are_sizes():
    for shape in ((), (0,), (3, 1), (2, 0, 5), (1,) * 20, (1 << 40, 0)):
        found = around(np.zeros(shape, np.float32)).shape
        assert type(found) is rushlight.Size and found == shape and gc.is_tracked(found)
        assert hash(found) == hash(shape) and found.numel() == np.prod(shape)
    assert rushlight.ones(2, 3, device="meta").shape == (2, 3)
    x = rushlight.ones(4, 5)
    assert x.size(-1) == 5 and x.size(dim=0) == 4 and x.size() == x.shape
    for tensor, dim in ((x, 2), (x, -3), (x.sum(), 0)):
        with pytest.raises(IndexError, match="Dimension out of range"):
            tensor.size(dim)


def test_contiguous_is_the_tensor_itself():
    x = rushlight.ones(3, 4)
    leaf = rushlight.nn.Parameter(x)
    assert x.contiguous() is x and leaf.contiguous() is leaf and x[:0].contiguous().shape == (0, 4)
    turned = x.t().contiguous()
    assert turned.is_contiguous() and turned.stride() == (3, 1)
    seen = []

    class Watching(rushlight.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    with Watching():
        assert x.contiguous() is x
    assert rushlight.Tensor.contiguous in seen
    image = rushlight.ones(2, 3, 4, 5)
    last = image.contiguous(memory_format=rushlight.channels_last)
    assert last is not image and last.is_contiguous(memory_format=rushlight.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        x.contiguous(3)


def test_zeros_are_written_where_asked():
    draw = random.Random(3)
    for _ in range(300):
        memory = np.ones((4, 3, 4, 5), draw.choice([np.float32, np.int64, np.bool_, np.float16]))
        steps = [slice(draw.randrange(2), None, draw.choice([1, 1, 2])) for _ in memory.shape]
        want, array = memory.copy(), memory[tuple(steps[: draw.randrange(5)])]
        want[tuple(steps)] = 0
        array = memory[tuple(steps)].transpose(draw.sample(range(4), 4))
        tensor = rushlight.from_numpy(array)
        before = tensor._version
        assert tensor.zero_() is tensor and tensor._version == before + 1
        np.testing.assert_array_equal(memory, want)
    one = rushlight.ones(1, 1)
    assert one.zero_().item() == 0 and rushlight.ones(()).zero_().item() == 0
    leaf = rushlight.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.zero_()
    product = leaf * 2
    view = product[1:]
    view.zero_()
    product.sum().backward()
    assert leaf.grad.tolist() == [2.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="more than one element"):
        rushlight.ones(1).expand(3).zero_()


def test_short_views_say_how_they_were_taken():
    """Views by index keep the name and the values of their op."""
    x = rushlight.arange(24.0).reshape(2, 1, 3, 4).clone()
    taken = {
        "unsqueeze": [lambda t: t.unsqueeze(-2), lambda t: t.unsqueeze(4)],
        "squeeze": [lambda t: t.squeeze(1), lambda t: t.squeeze(-1)],
        "select": [lambda t: t.select(2, -1), lambda t: t.select(-1, 0)],
        "narrow": [lambda t: t.narrow(3, 1, 2), lambda t: t.narrow(-2, 0, 0)],
        "permute": [lambda t: t.T, lambda t: t.movedim(0, -1)],
        "diagonal": [lambda t: t.diagonal(), lambda t: t.diagonal(-1, 2, -1)],
        "unfold": [lambda t: t.unfold(2, 2, 1), lambda t: t.unfold(-1, 3, 2)],
        "reshape": [lambda t: t.flatten(1)],
    }
    for name, calls in taken.items():
        for call in calls:
            for _ in range(3):
                out = call(x)
            assert out._base is x and [step.name for step, _ in out._path] == [name]
            leaf = rushlight.ones(2, 1, 3, 4, requires_grad=True)
            for _ in range(3):
                leaf.grad = None
                recorded = call(leaf)
                assert recorded.grad_fn.op.name == name
                recorded.sum().backward()
            assert leaf.grad.sum().item() == out.numel()
            with rushlight.inference_mode():
                assert call(rushlight.ones(2, 1, 3, 4)).is_inference()
    for bad in (lambda: x.select(0, 2), lambda: x.unsqueeze(6), lambda: x.squeeze(4)):
        with pytest.raises(IndexError):
            bad()
    with pytest.raises(RuntimeError, match="exceeds dimension size"):
        x.narrow(0, 1, 2)


def test_diagonals_and_windows_are_numpys():
    draw = random.Random(11)
    for _ in range(400):
        array = strided(draw)
        x = around(array)
        if array.ndim and array.size:
            dim = draw.randrange(-array.ndim, array.ndim)
            size, step = draw.randrange(1, array.shape[dim] + 1), draw.randrange(1, 4)
            windows = np.lib.stride_tricks.sliding_window_view(array, size, dim)
            cut = (slice(None),) * (dim % array.ndim) + (slice(None, None, step),)
            for _ in range(2):
                np.testing.assert_array_equal(x.unfold(dim, size, step)._array, windows[cut])
        if array.ndim > 1:
            first, second = draw.sample(range(-array.ndim, 0), 2)
            offset = draw.randrange(-3, 4)
            want = array.diagonal(offset, first, second)
            for _ in range(2):
                np.testing.assert_array_equal(x.diagonal(offset, first, second)._array, want)
            source, target = draw.randrange(array.ndim), draw.randrange(-array.ndim, 0)
            want = np.moveaxis(array, source, target)
            np.testing.assert_array_equal(x.movedim(source, target)._array, want)


def test_threads_make_views_at_once():
    x, failures = rushlight.arange(64.0).reshape(8, 8).clone(), []

    def work(seed):
        draw = random.Random(seed)
        for _ in range(3000):
            i, j = draw.randrange(8), draw.randrange(8)
            if x[i].reshape(2, 4)[j // 4, j % 4].item() != i * 8 + j:
                failures.append((i, j))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_python_can_do_it_all():
    """The switch keeps to Python, with the same results."""
    code = (
        "import rushlight as r; from rushlight.tensor import construction as c\n"
        "x = r.arange(12.0).reshape(3, 4) + 0; assert type(c.made) is not type(len)\n"
        "y = x.t()[1:, :2].expand(2, 3, 2); print(y.tolist(), x[1].sum().item(), y._base is x)"
    )
    environment = {**os.environ, "RUSHLIGHT_FAST_PATH": "off"}
    printed = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    row = [[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]
    assert printed.strip() == f"{[row, row]} 22.0 True"


def test_shapes_taken_from_others():
    x, y = rushlight.arange(6.0).reshape(2, 3).clone(), rushlight.ones(3, 2)
    for _ in range(3):
        seen, wide = x.view_as(y), x[:1].expand_as(rushlight.ones(4, 3))
        assert seen.tolist() == [[0, 1], [2, 3], [4, 5]] and seen._base is x
        assert [op.name for op, _ in seen._path] == ["view"]
        assert wide.tolist() == [[0, 1, 2]] * 4 and wide.stride() == (0, 1)
        assert [op.name for op, _ in wide._path][-1] == "expand"
        leaf = rushlight.ones(2, 3, requires_grad=True)
        (leaf.view_as(y) * seen).sum().backward()
        assert leaf.grad.tolist() == [[0, 1, 2], [3, 4, 5]]
        with rushlight.inference_mode():
            made = rushlight.ones(2, 3)
            assert made.view_as(y).is_inference() and made[:1].expand_as(made).is_inference()
    assert rushlight.vmap(lambda t: t.view_as(y))(rushlight.ones(5, 2, 3)).shape == (5, 3, 2)
    for wrong in (lambda: x.view_as(rushlight.ones(5)), lambda: x.t().view_as(x.reshape(6)),
                  lambda: x.expand_as(rushlight.ones(2, 4))):  # fmt: skip
        with pytest.raises(RuntimeError, match="size"):
            wrong()
    with pytest.raises(RuntimeError, match="more than one element"):
        x[:1].expand_as(x).add_(1)
