"""What properties of operations share: shapes, and running one program by both libraries.

A program is a function ``f(library, *tensors)``: with rushlight it gives what is looked at, with
PyTorch in float64 the truth.
"""

from __future__ import annotations

import torch
from drawn import exact, numpy_dtype, on_threads, sizes, tensors
from hypothesis import note
from hypothesis import strategies as st

import rushlight

FLOATS = st.sampled_from(("float32", "float32", "float32", "float64", "bfloat16", "float16"))
WIDE = st.sampled_from(("float32", "float32", "float64"))
ODD = (float("nan"), float("inf"), float("-inf"))


@st.composite
def extents(draw, dims, elements=1 << 15, least=1):
    """A shape of at most so many elements, sometimes one whose one extent is long."""
    dims = dims if isinstance(dims, int) else draw(dims)
    found, room = [], elements
    for _ in range(dims):
        n = draw(sizes(max(least, 1, min(room, 1025)), least))
        found.append(n)
        room //= max(n, 1)
    if dims and room > 1 and draw(st.integers(0, 7)) == 0:
        at = draw(st.integers(0, dims - 1))
        found[at] *= draw(st.integers(1, room))
    return tuple(draw(st.permutations(found)))


def some(names, step=5):
    """Every so many-th of the names, from a drawn one on: all of them have their turns."""
    return st.integers(0, step - 1).map(lambda first: tuple(names)[first::step])


def each(names, data, attempt):
    """``attempt(name, data)`` for each of some names; the one that fails is noted."""
    for name in names:
        note(name)
        attempt(name, data)


def short(dtype):
    """A dtype's name without its library's."""
    return str(dtype).rpartition(".")[2]


def twin(tensor):
    """The same values as PyTorch's tensor of the same dtype."""
    plain = tensor.detach().contiguous()
    if plain.dtype == rushlight.bfloat16:
        made = torch.from_numpy(plain.view(rushlight.int16).numpy().copy()).view(torch.bfloat16)
    else:
        made = torch.from_numpy(plain.numpy().copy())
    return made.requires_grad_(tensor.requires_grad)


def same(found, truth):
    """Whether two results have one shape, dtype and the same values, NaN among them."""
    if isinstance(truth, (tuple, list)):
        assert len(found) == len(truth)
        for a, b in zip(found, truth, strict=True):
            same(a, b)
        return
    assert short(found.dtype) == short(truth.dtype)
    assert tuple(found.shape) == tuple(truth.shape)
    ours = twin(found.detach())
    assert torch.equal(torch.isnan(ours), torch.isnan(truth)), "NaN elsewhere"
    equal = (ours == truth) | torch.isnan(truth)
    assert bool(equal.all()), (
        f"{int((~equal).sum())} of {equal.numel()} differ, the first at "
        f"{(~equal).nonzero()[0].tolist()}: {ours[~equal][0]}, expected {truth[~equal][0]}"
    )


def alike(program, *given):
    """Run a program of moved values by both libraries in the same dtypes: results must be equal."""
    found = on_threads(lambda: program(rushlight, *given))
    same(found, program(torch, *map(twin_of, given)))
    return found


def twin_of(value):
    """:func:`twin` of a tensor; other values as they are."""
    return twin(value) if isinstance(value, rushlight.Tensor) else value


def truth_of(program, given):
    """The truth, and the float64 tensors it was computed with."""
    wide = [exact(t) if isinstance(t, rushlight.Tensor) else t for t in given]
    return program(torch, *wide), wide


@st.composite
def tops(draw, shape, dtype):
    """A gradient that comes to a result: any layout, sometimes one number for all elements."""
    if draw(st.integers(0, 4)) == 0:
        return draw(tensors((), dtype)).expand(shape)
    return draw(tensors(shape, dtype))


def differentiated(program, given, data, dtype):
    """(result and gradients) of rushlight, of the truth, the gradient that came in, in float64."""
    truth, wide = truth_of(program, given)
    top = data.draw(tops(tuple(truth.shape), dtype))
    wanted = [t for t in given if isinstance(t, rushlight.Tensor) and t.requires_grad]

    def run():
        out = program(rushlight, *given)
        return (out, *rushlight.autograd.grad(out, wanted, top))

    found = on_threads(run)
    above = exact(top)
    leaves = [t for t in wide if isinstance(t, torch.Tensor) and t.requires_grad]
    return found, (truth, *torch.autograd.grad(truth, leaves, above)), above


def is_low(dtype):
    """Whether a dtype of a name is stored in 16 bits."""
    return numpy_dtype(dtype).itemsize == 2
