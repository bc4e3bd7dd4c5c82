"""What the property tests draw (values, layouts in memory, numbers of threads) and how they judge.

Arrays lie as programs' tensors do: dims in any order, elements apart, a few behind the start of
their memory, the last one at its very end. What is before and between them is NaN (or the largest
integer), so that reading it shows in the result.
"""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import rushlight

EXAMPLES = float(os.environ.get("RUSHLIGHT_PROPERTY_EXAMPLES", "1"))  # times as many
THREADS = (1, 2, 5)
EPSILON = {"float32": 2.0**-24, "float64": 2.0**-53, "bfloat16": 2.0**-8, "float16": 2.0**-11,
           "complex64": 2.0**-24, "complex128": 2.0**-53}  # fmt: skip
LEAST = {"float16": 2.0**-25}  # a rounding error of the smallest numbers
_NUMPY = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def examples(count):
    """How often a property is tried; the same draws in every run."""
    return settings(max_examples=max(1, round(count * EXAMPLES)), deadline=None, derandomize=True)


def numpy_dtype(name):
    """NumPy's dtype of a name, bfloat16 among them."""
    return _NUMPY.get(name) or np.dtype(name)


class Layout:
    """How an array lies in memory: the order of its dims, steps, the offset of its start."""

    def __init__(self, order, step, offset):
        self.order, self.step, self.offset = order, step, offset

    def __repr__(self):
        return f"Layout({self.order}, {self.step}, {self.offset})"

    def place(self, values, dtype):
        """`values` as an array of this layout in memory of its own."""
        dtype = numpy_dtype(dtype)
        inside = values.transpose(self.order)
        extents = list(inside.shape)
        count = inside.size
        if extents and count:
            extents[-1] = (extents[-1] - 1) * self.step + 1
        room = np.empty(int(np.prod(extents)) + self.offset, dtype)
        room[...] = np.nan if dtype.kind in "fcVb" else np.iinfo(dtype).max
        view = room[self.offset :].reshape(extents)
        if self.step > 1 and count and view.ndim:
            view = view[..., :: self.step]
        with np.errstate(over="ignore"):  # what is too large for float16 is infinite
            view[...] = inside
        return view.transpose(np.argsort(self.order))


@st.composite
def layouts(draw, dims, plain=0.4):
    """A layout for `dims` dims; often the ordinary one."""
    if draw(st.integers(0, 99)) < 100 * plain:
        return Layout(tuple(range(dims)), 1, 0)
    order = draw(st.permutations(range(dims)))
    return Layout(tuple(order), draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(0, 5)))


def sizes(largest, least=1):
    """A size: small, or beside a multiple of a vector's length; 0 at times if `least` allows it."""
    near = [n + d for n in (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512, 1024) for d in (-1, 0, 1)]
    near = [n for n in near if least <= n <= largest]
    small = st.integers(least, min(largest, max(least, 20)))
    return st.one_of(small, st.sampled_from(near)) if near else small


def shapes(dims, largest, elements=1 << 16, least=1):
    """A shape of `dims` dims (a number or a strategy) with at most so many elements."""
    dims = st.just(dims) if isinstance(dims, int) else dims
    found = dims.flatmap(lambda n: st.tuples(*[sizes(largest, least)] * n))
    return found.filter(lambda shape: np.prod(shape, dtype=np.int64) <= elements)


@st.composite
def tensors(draw, shape, dtype="float32", low=None, high=None, layout=None, grad=False, odd=()):
    """A tensor of a shape at some layout: normal values, or uniform ones in [low, high); where
    there are `odd` values, in a third of the draws some elements are these."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = numpy_dtype(dtype).kind
    if kind in "iub":
        values = rng.integers(0 if low is None else low, 10 if high is None else high, shape)
    elif low is None:
        values = rng.standard_normal(shape)
        values = values + 1j * rng.standard_normal(shape) if kind == "c" else values
    else:
        values = rng.uniform(low, high, shape)
    if odd and draw(st.integers(0, 2)) == 0:
        values = np.where(
            rng.random(shape) < rng.choice((0.01, 0.2)), rng.choice(odd, shape), values
        )
    layout = draw(layouts(len(shape))) if layout is None else layout
    made = as_tensor(layout.place(np.asarray(values), dtype))
    return made.requires_grad_() if grad else made


def as_tensor(array):
    """A tensor over the memory of an array, bfloat16 too."""
    if array.dtype == _NUMPY["bfloat16"]:
        return rushlight.from_numpy(array.view(np.int16)).view(rushlight.bfloat16)
    return rushlight.from_numpy(array)


def exact(tensor):
    """The same values as PyTorch's float64 (complex128, integers as int64), to compute the truth
    with."""
    import torch

    plain = tensor.detach()
    if plain.is_complex() or plain.dtype.is_floating_point:
        made = torch.from_numpy(np.array(wide(plain), order="C"))
    else:
        made = torch.from_numpy(plain.contiguous().numpy().copy())
        made = made if made.dtype == torch.bool else made.to(torch.int64)
    return made.requires_grad_(tensor.requires_grad)


def on_threads(compute):
    """What `compute` gives, which must be the same to the bit on one, two and five threads."""
    before, found = rushlight.get_num_threads(), []
    try:
        for count in THREADS:
            rushlight.set_num_threads(count)
            found.append(compute())
    finally:
        rushlight.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(_flat(found[0]), _flat(other), strict=True):
            assert _bits(a) == _bits(b), "the number of threads changes bits"
    return found[0]


def _flat(value):
    return value if isinstance(value, (tuple, list)) else (value,)


def _bits(tensor):
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    whole = plain.ndim and plain.numel()
    content = plain.view(rushlight.uint8).numpy().tobytes() if whole else str(plain.tolist())
    return plain.shape, plain.dtype, content


def name_of(tensor):
    """A dtype's name, which both libraries share."""
    return str(tensor.dtype).rpartition(".")[2]


def allowed(terms):
    """Units of rounding for sums of so many products: a random walk, with room."""
    return 4.0 + terms**0.5


def wide(tensor):
    """The values as NumPy's float64 or complex128."""
    plain = tensor.detach().resolve_conj()
    return plain.to(rushlight.complex128 if plain.is_complex() else rushlight.float64).numpy()


def close(found, truth, scale=None, units=8.0, dtype=None):
    """Whether every element of `found` is within `units` rounding errors of `truth`.

    One rounding error is that of the result's dtype (or `dtype`'s) times `scale`: a number or a
    float64 tensor (what the absolute values add up to, say); by default the largest of `truth`.
    NaN and infinities must be where `truth` has them. Errors of complex numbers are distances.
    """
    name = str(dtype or found.dtype).rpartition(".")[2]
    got, want = wide(found), truth.detach()
    want = (want.cdouble().resolve_conj() if want.is_complex() else want.double()).numpy(force=True)
    assert got.shape == want.shape, (got.shape, want.shape)
    if not want.size:
        return
    finite = np.isfinite(want)
    assert np.array_equal(np.isnan(got), np.isnan(want)), "NaN elsewhere"
    assert np.array_equal(got[np.isinf(want)], want[np.isinf(want)]), "infinities differ"
    if not finite.any():
        return
    if scale is None:
        scale = np.abs(want[finite]).max()
    scale = scale.detach().numpy() if hasattr(scale, "detach") else np.asarray(scale)
    bound = np.broadcast_to(units * EPSILON[name] * scale + LEAST.get(name, 1e-37), want.shape)
    error = np.abs(np.where(finite, got, 0) - np.where(finite, want, 0))
    worst = np.argmax(np.where(finite, error / bound, 0))
    place = np.unravel_index(worst, want.shape)
    assert (error[finite] <= bound[finite]).all(), (
        f"at {place}: {got[place]!r}, expected {want[place]!r}, "
        f"{error[place] / bound[place] * units:.3g} units of {EPSILON[name] * 1.0:.2g} x scale"
    )
