"""What ops save for backward: a write in place after the call is refused, or changes no gradient.

The whole of PyTorch's op table is compared by ``ci/pytorch/table.py --checks saved``.
"""

from __future__ import annotations

import warnings

import pytest

import rushlight
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.tensor.tensor import Tensor
from rushlight.testing.samples import samples_of

_deferred.load_all()
ILL_DEFINED = {"linalg_eig"}  # a sum depends on the phases of vectors
DIFFERENTIABLE = sorted(
    name
    for name, op in TABLE.items()
    if (op.formulas or op.joint) and op.kind != "composite" and name not in ILL_DEFINED
)


def _tensors(value):
    if isinstance(value, (list, tuple)):
        return [t for item in value for t in _tensors(item)]
    return [value] if isinstance(value, Tensor) else []


def _mapped(value, function):
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(item, function) for item in value])
    return function(value) if isinstance(value, Tensor) else value


def _write(tensor):
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.add_(1)
    elif tensor.dtype is rushlight.bool:
        tensor.logical_not_()
    else:
        tensor.zero_()


def _overlaps(tensor):
    """Whether elements share memory, as windows do: a write to one is a write to others."""
    size = tensor.numel()
    places = rushlight.arange(tensor.untyped_storage().nbytes() // tensor.itemsize)
    shown = places.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return shown.unique().numel() < size


def _tried(op, given, keywords, at):
    """Gradients after a write to tensor number `at` of inputs and results; how many these are; and
    None for the former where the write or backward is refused."""
    leaves = [t for t in _tensors(given) if t.requires_grad]
    written = _mapped(given, lambda t: t.clone())
    rushlight.manual_seed(1)
    results = _tensors(op.function(*written, **keywords))
    every = [*_tensors(written), *(t for t in results if not _overlaps(t))]
    try:
        if at is not None:
            _write(every[at])
        parts = [(t * (i + 2)).sum() for i, t in enumerate(results) if t.requires_grad]
        if not parts:
            return None, len(every)
        total = sum((p.real if p.is_complex() else p) for p in parts)
        return rushlight.autograd.grad(total, leaves, allow_unused=True), len(every)
    except RuntimeError:
        assert at is not None, "refused without a write"
        return None, len(every)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_no_write_changes_a_gradient(name):
    """Every tensor of two samples of every op of the table; what is computed again from a result
    has that one's rounding."""
    op = TABLE[name]
    rounding = 1e-14 if "restored" in op.options else 0.0
    for args, keywords in samples_of(op, rushlight.float64, True)[-2:]:
        if not any(t.requires_grad for t in _tensors(args)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain, count = _tried(op, args, keywords, None)
            for at in range(count if plain else 0):
                found, _ = _tried(op, args, keywords, at)
                for a, b in zip(found or (), plain, strict=False):
                    assert (a is None) == (b is None)
                    if a is not None:
                        assert rushlight.allclose(a, b, rtol=rounding, atol=0.0, equal_nan=True), (
                            f"tensor {at}"
                        )


def _of(home, *shape):
    count = 1
    for n in shape:
        count *= n
    return (home.arange(count, dtype=home.float64) * 0.7).sin().reshape(shape) + 1.5


def _index(home, *values):
    return home.tensor(values)


# Calls of tensors x, y (3, 4) and two index tensors; PyTorch's code, as programs write it.
CALLS = {
    "div": lambda home, x, y, i, j: x / y,
    "div_broadcast": lambda home, x, y, i, j: x / y[:1],
    "div_number": lambda home, x, y, i, j: x / 3.0,
    "number_div": lambda home, x, y, i, j: 2.0 / x,
    "zero_div": lambda home, x, y, i, j: 0.0 / x,
    "pool_of_nothing": lambda home, x, y, i, j: home.nn.functional.adaptive_avg_pool1d(
        x[:0].reshape(0, 3, 4), 5
    ),
    "bags": lambda home, x, y, i, j: home.nn.functional.embedding_bag(i.reshape(1, 2), x),
    "weighted_bags": lambda home, x, y, i, j: home.nn.functional.embedding_bag(
        i.reshape(1, 2), x, mode="sum", per_sample_weights=y[:1, :2]
    ),
    "erfinv": lambda home, x, y, i, j: home.erfinv(x / 4),
    "ldexp": lambda home, x, y, i, j: home.ldexp(x, y),
    "normalize": lambda home, x, y, i, j: home.nn.functional.normalize(x),
    "cov": lambda home, x, y, i, j: home.cov(x),
    "expand": lambda home, x, y, i, j: x.expand(1, 3, 4),
    "split": lambda home, x, y, i, j: home.tensor_split(x, 2)[0],
    "hsplit": lambda home, x, y, i, j: home.hsplit(x, 2)[1],
    "chunk": lambda home, x, y, i, j: home.chunk(x, 2)[0],
    "two_indices": lambda home, x, y, i, j: x[i, j],
    "index": lambda home, x, y, i, j: x[i],
    "column": lambda home, x, y, i, j: x[:, i],
    "mask": lambda home, x, y, i, j: x[x.detach() > 1.5],
    "narrow": lambda home, x, y, i, j: x.narrow(0, i[0], 2),
    "put": lambda home, x, y, i, j: x.index_put((i,), y[:2]),
    "put_accumulated": lambda home, x, y, i, j: x.index_put((i, j), y[0, :2], accumulate=True),
    "take_along": lambda home, x, y, i, j: home.take_along_dim(x, j.reshape(1, 2), 1),
    "instance_norm": lambda home, x, y, i, j: home.nn.functional.instance_norm(
        x.reshape(1, 3, 4), weight=y[:, 0]
    ),
    "mul": lambda home, x, y, i, j: x * y,
    "exp": lambda home, x, y, i, j: x.exp(),
    "softmax": lambda home, x, y, i, j: x.softmax(0),
    "matmul": lambda home, x, y, i, j: x @ y.t(),
    "gather": lambda home, x, y, i, j: x.gather(1, j.reshape(1, 2)),
}


def _outcome(home, call, at):
    leaves = [_of(home, 3, 4).requires_grad_(), (_of(home, 3, 4) * 0.5).requires_grad_()]
    given = [*(leaf * 1 for leaf in leaves), _index(home, 1, 0), _index(home, 3, 1)]
    result = call(home, *given)
    try:
        _write_at([*given, result][at])
        found = home.autograd.grad((result * result.detach()).sum(), leaves, allow_unused=True)
    except RuntimeError:
        return "refused"
    return [None if g is None else g.tolist() for g in found]


def _write_at(tensor):
    if tensor.is_floating_point():
        tensor += 1
    else:
        tensor.zero_()


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name, at):
    """What works in PyTorch works here; gradients are those of PyTorch, or where that refuses those
    without the write."""
    torch = pytest.importorskip("torch")
    call = CALLS[name]
    found, wanted = _outcome(rushlight, call, at), _outcome(torch, call, at)
    if wanted == "refused":
        return
    assert found != "refused"
    for a, b in zip(found, wanted, strict=True):
        if b is not None:
            assert _near(a, b)


def _near(a, b):
    return rushlight.allclose(rushlight.tensor(a), rushlight.tensor(b), rtol=1e-12, atol=1e-12)


def test_number_divided():
    x = rushlight.tensor([2.0, 4.0], requires_grad=True)
    y = 4.0 / x
    y += 1.0
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, -0.25]


@pytest.mark.parametrize("number", [2.0, 0.0, 3, 1 - 2j])
def test_number_divided_by_what_changes_then(number):
    """What was divided by is computed from the quotient; not where that was written to as well.
    Second derivatives and hooks on saved tensors are those without a write."""
    found = []
    for written in (False, True):
        x = rushlight.tensor([2.0, -4.0], dtype=rushlight.float64, requires_grad=True)
        y = x * 1
        z = number / y
        y += float(written)
        (first,) = rushlight.autograd.grad(z.real.sum(), x, create_graph=True)
        (second,) = rushlight.autograd.grad(first.sum(), x)
        found.append([first, second])
    for plain, restored in zip(*found, strict=True):
        assert rushlight.allclose(plain, restored, rtol=1e-14)
    z = number / y
    y += 1.0
    z += 1.0
    with pytest.raises(RuntimeError, match="_rdiv saved input"):
        z.real.sum().backward()


def test_hooks_get_what_formulas_read():
    seen = []
    x = rushlight.tensor([2.0, 4.0], requires_grad=True)
    with rushlight.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = 4.0 / x
    assert [t is x for t in seen] == [True]
    y += 1.0
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, -0.25]


def test_indices_written_after_put():
    """The graph keeps indices of its own where the write is one of several."""
    x = rushlight.zeros(4, 3, requires_grad=True)
    index = rushlight.tensor([1, 2])
    y = x * 1
    y[index, index] = 5.0
    index.zero_()
    y.sum().backward()
    assert x.grad[1, 1] == x.grad[2, 2] == 0.0
    assert x.grad.sum() == 10.0
