"""Complex numbers of any shapes and layouts: values and gradients against complex128."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import differentiated, each, extents, some  # noqa: E402
from drawn import close, examples, name_of, tensors  # noqa: E402
from families import size_of  # noqa: E402

COMPLEX = st.sampled_from(("complex64", "complex64", "complex128"))
# Away from zero, where quotients and roots are moderate.
UNARY = (
    "exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "angle", "conj", "reciprocal", "square",
    "sigmoid", "sinh", "cosh", "neg", "real", "imag", "sgn", "rsqrt", "exp2", "log1p",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "pow")
AMOUNTS = st.sampled_from((1 << 8, 1 << 11, 1 << 14))


def away_from_zero(draw, shape, dtype):
    """Numbers whose real parts lie in [0.4, 1.6), imaginary ones in [-0.8, 0.8), in any layout."""
    made = draw(tensors(shape, dtype))
    with rushlight.no_grad():
        made.copy_(rushlight.complex(1.0 + 0.6 * made.real.tanh(), 0.8 * made.imag.tanh()))
    return made.requires_grad_()


def judged(program, given, data, terms=1):
    """Compare the result and all gradients with the truth, beside the largest of what comes in."""
    with rushlight.no_grad():
        dtype = name_of(program(rushlight, *given))  # real for a few functions of complex numbers
    found, truth, above = differentiated(program, given, data, dtype)
    close(found[0], truth[0], size_of(truth[0]), 32.0 + terms**0.5)
    for ours, right in zip(found[1:], truth[1:], strict=True):
        close(ours, right, size_of(right) + size_of(above), 32.0 + terms**0.5)


def try_one_argument(name, data):
    dtype, shape = data.draw(COMPLEX), data.draw(extents(st.integers(0, 4), data.draw(AMOUNTS), 0))
    x = away_from_zero(data.draw, shape, dtype)
    judged(lambda lib, t: getattr(lib, name)(t), [x], data)


@given(some(UNARY), st.data())
@examples(12)
def test_one_argument(names, data):
    each(names, data, try_one_argument)


def try_two_arguments(name, data):
    dtype, shape = data.draw(COMPLEX), data.draw(extents(st.integers(0, 4), data.draw(AMOUNTS), 0))
    given = []
    for _ in range(2):
        own = tuple([data.draw(st.sampled_from((n, n, 1))) for n in shape])
        given.append(away_from_zero(data.draw, own[data.draw(st.sampled_from((0, 0, 1))) :], dtype))
    if data.draw(st.integers(0, 3)) == 0:  # one of them real
        given[1] = given[1].detach().real.clone().requires_grad_()
    terms = max(1, rushlight.Size(shape).numel())
    judged(lambda lib, a, b: getattr(lib, name)(a, b), given, data, terms)


@given(some(BINARY, 2), st.data())
@examples(20)
def test_two_arguments(names, data):
    each(names, data, try_two_arguments)


@given(st.data())
@examples(40)
def test_products(data):
    """Matrices and batches of them, conjugated and transposed operands."""
    dtype, (n, k, m) = data.draw(COMPLEX), [data.draw(st.integers(1, 40)) for _ in "nkm"]
    lead = data.draw(st.sampled_from((((), ()), ((3,), (3,)), ((2, 1), (3,)))))
    a = data.draw(tensors((*lead[0], n, k), dtype, grad=True))
    b = data.draw(tensors((*lead[1], m, k), dtype, grad=True))
    judged(lambda lib, x, y: x @ y.mH, [a, b], data, k)


@given(st.sampled_from(("sum", "mean", "prod", "cumsum", "norm")), st.data())
@examples(60)
def test_reductions(name, data):
    dtype = data.draw(COMPLEX)
    shape = data.draw(extents(st.integers(1, 4), 1 << 8 if name == "prod" else data.draw(AMOUNTS)))
    dim = data.draw(st.integers(0, len(shape) - 1))
    x = away_from_zero(data.draw, shape, dtype)
    if name == "prod":
        x = (x.detach() / x.detach().abs()).requires_grad_()
    judged(lambda lib, t: getattr(lib, name)(t, dim=dim), [x], data, shape[dim])


@given(st.sampled_from(("fft", "ifft", "rfft", "irfft", "fft2", "fftn")), st.data())
@examples(60)
def test_fourier_transforms(name, data):
    """Of any lengths, longer or shorter than what is given, in their three scales."""
    dtype, shape = data.draw(COMPLEX), data.draw(extents(st.integers(1, 3), 1 << 11))
    if name == "fft2" and len(shape) < 2:
        return
    real = name == "rfft"
    kind = {"complex64": "float32", "complex128": "float64"}[dtype] if real else dtype
    x = data.draw(tensors(shape, kind, grad=True))
    more = {"norm": data.draw(st.sampled_from((None, "ortho", "forward")))}
    if name in ("fft", "ifft", "rfft", "irfft"):
        more["dim"] = data.draw(st.integers(-len(shape), len(shape) - 1))
        more["n"] = data.draw(st.one_of(st.none(), st.integers(1, 70)))
    if name == "irfft" and more["n"] is None and shape[more["dim"]] == 1:
        return
    judged(lambda lib, t: getattr(lib.fft, name)(t, **more), [x], data, 64)


@given(st.data())
@examples(50)
def test_moved_elements(data):
    """Joined, chosen and written elements, and real and imaginary parts as views."""
    dtype = data.draw(COMPLEX)
    rows, width = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 40))
    x, y = (data.draw(tensors((rows, width), dtype, grad=True)) for _ in "xy")
    index = data.draw(tensors((data.draw(st.integers(1, 50)),), "int64", 0, rows)).clone()
    kinds = (
        lambda lib, a, b, i: lib.cat([a, b.conj()], 1),
        lambda lib, a, b, i: a.index_select(0, i) * b[i],
        lambda lib, a, b, i: lib.where(a.real > b.imag, a, b),
        lambda lib, a, b, i: lib.view_as_complex(lib.view_as_real(a) * 2.0) + b.flip(0),
        lambda lib, a, b, i: lib.complex(a.real, b.imag),
        lambda lib, a, b, i: a.index_add(0, i, b[i]),
        lambda lib, a, b, i: a.masked_fill(a.abs() > 1.0, 2.0) * b,
    )
    program = data.draw(st.sampled_from(kinds))
    judged(program, [x, y, index], data, 50)
