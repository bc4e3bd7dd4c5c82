"""Operations that only move or convert elements, of any layout: equal to PyTorch's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import FLOATS, ODD, alike, differentiated, each, extents, same, some, twin  # noqa: E402
from drawn import close, examples, name_of, on_threads, tensors  # noqa: E402

AMOUNTS = st.sampled_from((1 << 8, 1 << 12, 1 << 12, 1 << 15, 1 << 17, 1 << 19))
KINDS = st.sampled_from(("float32", "float32", "float64", "bfloat16", "float16", "int64", "int32",
                         "int16", "uint8", "bool"))  # fmt: skip


def filled(data, shape, dtype, grad=False):
    """A tensor of any dtype."""
    kind = {"bool": (0, 2), "uint8": (0, 200)}.get(dtype, (-99, 99) if "int" in dtype else ())
    return data.draw(tensors(shape, dtype, *kind, grad=grad))


@given(st.data())
@examples(60)
def test_joined(data):
    """cat of up to 30 tensors of their own layouts, some of them empty; stack; their gradients."""
    count = data.draw(st.sampled_from((1, 2, 2, 3, 4, 5, 30)))
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS) // count))
    dim = data.draw(st.integers(0, len(shape) - 1))
    dtype = data.draw(KINDS)
    sizes = [data.draw(st.sampled_from((shape[dim], shape[dim], 1, 0, 2))) for _ in range(count)]
    if data.draw(st.booleans()):
        sizes = [shape[dim]] * count
    parts = [filled(data, (*shape[:dim], n, *shape[dim + 1 :]), dtype) for n in sizes]
    if data.draw(st.integers(0, 2)) == 0:  # rows that are dense but lie apart
        parts = [rushlight.cat((p, p), -1)[..., : p.shape[-1]] for p in parts]
    alike(lambda lib, *given: lib.cat(given, dim - len(shape)), *parts)
    if len(set(sizes)) == 1:
        at = data.draw(st.integers(-len(shape) - 1, len(shape)))
        alike(lambda lib, *given: lib.stack(given, at), *parts)
    if "float" in dtype:
        leaves = [p.detach().requires_grad_() for p in parts]
        program = lambda lib, *given: lib.cat(given, dim)  # noqa: E731
        found, truth, _ = differentiated(program, leaves, data, dtype)
        for ours, right in zip(found, truth, strict=True):
            close(ours, right, right.abs(), 1.0)


@given(st.data())
@examples(90)
def test_copied(data):
    """contiguous, clone, reshape and copies of parts, repeated and transposed views."""
    shape = data.draw(extents(st.integers(0, 5), data.draw(AMOUNTS), 0))
    x = filled(data, shape, data.draw(KINDS))
    for d in range(len(shape)):
        form = data.draw(st.integers(0, 7))
        if form == 0 and x.shape[d] > 2:
            x = x.narrow(d, 1, x.shape[d] - 2)
        elif form == 1 and x.shape[d] > 3:
            x = x[(slice(None),) * d + (slice(None, None, 2),)]
        elif form == 2 and x.shape[d] == 1:
            x = x.expand(*x.shape[:d], data.draw(st.integers(1, 9)), *x.shape[d + 1 :])
    order = data.draw(st.permutations(range(x.dim())))
    alike(lambda lib, t: t.permute(*order).contiguous() if order else t.contiguous(), x)
    alike(lambda lib, t: t.permute(*order).clone() if order else t.clone(), x)
    alike(lambda lib, t: t.permute(*order).reshape(-1) if order else t.reshape(-1), x)
    target = data.draw(tensors(tuple(x.shape), name_of(x), 0, 2))
    same(target.copy_(x), twin(x))
    if x.dim() == 4:
        last = on_threads(lambda: x.contiguous(memory_format=rushlight.channels_last))
        same(last, twin(x))
        assert last.is_contiguous(memory_format=rushlight.channels_last)


REARRANGED = {
    "flip": lambda lib, t, d, n: lib.flip(t, (d,)),
    "flip of all": lambda lib, t, d, n: lib.flip(t, tuple(range(t.dim()))),
    "roll": lambda lib, t, d, n: lib.roll(t, n, d),
    "roll of all": lambda lib, t, d, n: lib.roll(t, n),
    "roll of two": lambda lib, t, d, n: lib.roll(t, (n, 1 - n), (d, 0)),
    "rot90": lambda lib, t, d, n: lib.rot90(t, n % 4, (0, 1)) if t.dim() > 1 else t,
    "repeat": lambda lib, t, d, n: t.repeat(2, *[1 + (d == i) for i in range(t.dim())]),
    "tile": lambda lib, t, d, n: lib.tile(t, (1 + n % 3, 2)),
    "repeat_interleave": lambda lib, t, d, n: lib.repeat_interleave(t, abs(n) % 4, d),
    "tril": lambda lib, t, d, n: lib.tril(t, n) if t.dim() > 1 else t,
    "triu": lambda lib, t, d, n: lib.triu(t, n) if t.dim() > 1 else t,
    "diag": lambda lib, t, d, n: lib.diag(t.flatten()[:40], n),
    "diagonal": lambda lib, t, d, n: lib.diagonal(t).clone() if t.dim() > 1 else t,
    "chunk": lambda lib, t, d, n: tuple(c.clone() for c in lib.chunk(t, 1 + abs(n), d)),
    "split": lambda lib, t, d, n: tuple(
        c.clone() for c in lib.split(t, 1 + abs(n) + t.shape[d] // 9, d)
    ),
    "unbind": lambda lib, t, d, n: tuple(c.clone() for c in lib.unbind(t, d)[:9]),
    "unfold": lambda lib, t, d, n: t.unfold(d, min(3, t.shape[d]), 2).contiguous(),
    "movedim": lambda lib, t, d, n: lib.movedim(t, d, 0).contiguous(),
    "pad": lambda lib, t, d, n: lib.nn.functional.pad(t, (1, abs(n))),
    "strided": lambda lib, t, d, n: t[..., ::2].contiguous(),
}  # fmt: skip


@given(some(REARRANGED, 4), st.data())
@examples(40)
def test_rearranged(names, data):
    each(names, data, try_rearranged)


def try_rearranged(name, data):
    shape = data.draw(extents(st.integers(1, 4), data.draw(AMOUNTS)))
    d, n = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(-9, 9))
    dtype = data.draw(KINDS)
    x = filled(data, shape, dtype)
    if name == "unbind" and shape[d] > 2000 or name == "repeat" and len(shape) > 3:
        return
    found = alike(lambda lib, t: REARRANGED[name](lib, t, d, n), x)
    if "float" not in dtype or isinstance(found, tuple):
        return
    x = x.detach().requires_grad_()
    ours, truth, above = differentiated(
        lambda lib, t: REARRANGED[name](lib, t, d, n), [x], data, dtype
    )
    close(ours[1], truth[1], truth[1].abs() + (8.0 if name in ("repeat", "tile", "unfold",
          "repeat_interleave") else 0.0), 6.0)  # fmt: skip


@given(st.data())
@examples(40)
def test_repeated_by_numbers(data):
    """repeat_interleave where every slice has a number of its own."""
    shape = data.draw(extents(st.integers(1, 3), 1 << 12))
    d = data.draw(st.integers(0, len(shape) - 1))
    times = data.draw(tensors((shape[d],), "int64", 0, 4))
    alike(
        lambda lib, t, k: lib.repeat_interleave(t, k, d),
        filled(data, shape, data.draw(KINDS)),
        times,
    )


NUMBERS = ("float32", "float64", "bfloat16", "float16", "int64", "int32", "int16", "int8", "uint8",
           "bool", "complex64")  # fmt: skip


@given(st.sampled_from(NUMBERS[:-1]), st.sampled_from(NUMBERS), st.data())
@examples(100)
def test_converted(source, target, data):
    """Between all dtypes: bits are PyTorch's; of floats to integers where these hold them."""
    shape = data.draw(extents(st.integers(0, 3), data.draw(AMOUNTS), 0))
    if source == "bool":
        x = data.draw(tensors(shape, source, 0, 2))
    elif "int" in source:
        least = {"uint8": 0, "int8": -128, "int16": -(1 << 15)}.get(source, -(1 << 31))
        most = {"uint8": 256, "int8": 128, "int16": 1 << 15}.get(source, (1 << 31) - 1)
        x = data.draw(tensors(shape, source, least, most))
    else:
        whole = "int" in target
        bound = 100.0 if whole else data.draw(st.sampled_from((1.0, 300.0, 1e5, 1e-6)))
        least = 0.0 if target == "uint8" else -bound
        odd = () if whole else (*ODD, 0.0, -0.0, 1e-40, 65504.0, 65520.0, 3.3e38, 5.9e-8, 2.9e-8)
        x = data.draw(tensors(shape, source, least, bound, odd=odd))
    if target == "complex64":
        found = on_threads(lambda: rushlight.view_as_real(x.to(rushlight.complex64)))
        same(found, torch.view_as_real(twin(x).to(torch.complex64)))
        return
    alike(lambda lib, t: t.to(getattr(lib, target)), x)
    into = data.draw(tensors(shape, target, 0, 2))
    same(into.copy_(x), twin(x).to(getattr(torch, target)))


@given(FLOATS, FLOATS, st.data())
@examples(40)
def test_gradients_of_conversions(source, target, data):
    shape = data.draw(extents(st.integers(0, 3), 1 << 13))
    x = data.draw(tensors(shape, source, grad=True))
    top = data.draw(tensors(shape, target))
    out = x.to(getattr(rushlight, target))
    if out is x:
        return
    grad = on_threads(lambda: rushlight.autograd.grad(x.to(out.dtype), x, top)[0])
    same(grad, twin(top).to(getattr(torch, source)))
