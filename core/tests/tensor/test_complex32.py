"""complex32: what tensors of it are, meet and become, compared with PyTorch."""

from __future__ import annotations

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import rushlight
from rushlight import dtypes
from rushlight.testing import make_tensor
from rushlight.utils import data

torch = pytest.importorskip("torch")

NAMES = [d.name for d in dtypes.ALL]
# Errors, from the most special to the most general: ours must be of PyTorch's first.
KINDS = (NotImplementedError, OverflowError, TypeError, IndexError, ValueError, RuntimeError)
pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning")


def attempt(function, home):
    """What a function gives with one of the two libraries, or the kind of its error."""
    try:
        return function(home)
    except Exception as error:
        return next(kind for kind in KINDS if isinstance(error, kind))


def name_of(value):
    """A dtype's bare name, the dtype of a tensor, an error's kind."""
    value = getattr(value, "dtype", value)
    return value.__name__ if isinstance(value, type) else str(value).split(".")[-1]


def plain(value):
    """A result as nested lists with its dtype; nan as a text, so that it is equal to itself."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return name_of(value), repr(value.tolist())
    return value


def same(function):
    """Both libraries give equal results, or errors of one kind."""
    ours, theirs = attempt(function, rushlight), attempt(function, torch)
    assert plain(ours) == plain(theirs)
    return ours


# ---------------------------------------------------------------------------------- the dtype
def test_the_dtype_says_what_it_is():
    ours, theirs = rushlight.complex32, torch.complex32
    assert rushlight.chalf is ours
    for field in ("itemsize", "is_signed", "is_floating_point", "is_complex"):
        assert getattr(ours, field) == getattr(theirs, field)
    for name in ("float16", "bfloat16", "float32", "float64", "complex32", "complex64"):
        for method in ("to_real", "to_complex"):
            found = getattr(getattr(rushlight, name), method)()
            assert name_of(found) == name_of(getattr(getattr(torch, name), method)())
    assert repr(rushlight.finfo(ours)) == repr(torch.finfo(theirs))
    same(lambda home: home.iinfo(home.complex32))
    same(lambda home: home.set_default_dtype(home.complex32))
    assert repr(ours) == "rushlight.complex32"
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours


def test_promotion_of_every_pair():
    for other in NAMES:
        for pair in (("complex32", other), (other, "complex32")):
            for rule in ("promote_types", "can_cast"):

                def call(home, pair=pair, rule=rule):
                    return getattr(home, rule)(*[getattr(home, n) for n in pair])

                ours, theirs = attempt(call, rushlight), attempt(call, torch)
                assert name_of(ours) == name_of(theirs), (rule, pair)


def _operands(home, name):
    """Tensors with and without dimensions, in a dtype."""
    dtype = getattr(home, name)
    return home.ones(2, dtype=dtype), home.ones((), dtype=dtype)


@pytest.mark.parametrize("function", ["result_type", "add", "mul", "eq", "div"])
def test_operands_of_every_dtype(function):
    """Tensors, 0-d tensors and Python numbers meet as in PyTorch, errors included."""
    for other, places in itertools.product(NAMES, itertools.product((0, 1), repeat=3)):
        if function != "result_type" and dtypes.NAMES[other] in dtypes.EIGHT_BITS:
            continue  # test_float8.py has what computes with them
        left, right, turned = places

        def call(home, other=other, left=left, right=right, turned=turned):
            pair = [_operands(home, "complex32")[left], _operands(home, other)[right]]
            return getattr(home, function)(*(pair[::-1] if turned else pair))

        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        assert name_of(ours) == name_of(theirs), (other, places)
    for name, number, place in itertools.product(
        ("complex32", "float16", "bfloat16"), (True, 3, 2.5, 1j), (0, 1)
    ):

        def call(home, name=name, number=number, place=place):
            return getattr(home, function)(_operands(home, name)[place], number)

        assert name_of(attempt(call, rushlight)) == name_of(attempt(call, torch)), (name, number)


@pytest.mark.parametrize("default", ["float16", "float64"])
def test_numbers_under_another_default_dtype(default):
    def shown(home):
        home.set_default_dtype(getattr(home, default))
        try:
            return [
                home.tensor(1j).dtype, home.full((1,), 1j).dtype, (home.ones(1).int() * 1j).dtype,
                (home.ones(1) * 1j).dtype, home.scalar_tensor(1.0).dtype,
                repr(home.zeros(2, dtype=home.complex32)),
                repr(home.zeros(2, dtype=home.complex64)),
            ]  # fmt: skip
        finally:
            home.set_default_dtype(home.float32)

    ours = [str(v).replace("rushlight", "torch") for v in shown(rushlight)]
    assert ours == [str(v) for v in shown(torch)]


# ---------------------------------------------------------------------------------- making
_MAKERS = """
zeros(2, dtype=c) ; ones(2, 3, dtype=c) ; full((2,), 1.1 - 2.2j, dtype=c) ; empty(2, 0, dtype=c)
full((2,), 7e4, dtype=c) ; tensor([7e4, -1e-9, 1], dtype=c) ; tensor(1.1j, dtype=c)
tensor([True, False], dtype=c) ; tensor([[1, 2j], [3.3, -0.0]], dtype=c) ; as_tensor(1j, dtype=c)
asarray([1, 2j], dtype=c) ; scalar_tensor(1j, dtype=c) ; scalar_tensor(2, dtype=c)
tensor([home.tensor(3j, dtype=c), 1]) ; tensor(complex("nan+infj"), dtype=c)
zeros(2, dtype=c).new_ones(3) ; ones_like(home.zeros(2, dtype=c)) ; empty(2, dtype=c).fill_(1.1j)
full_like(home.zeros(2, dtype=c), 1j) ; zeros(2, dtype=c).new_tensor([1j]) ; eye(2, dtype=c)
arange(3, dtype=c) ; linspace(0, 1, 3, dtype=c) ; randperm(3, dtype=c)
logspace(0, 1, 3, dtype=c) ; complex(home.ones(2).half(), home.ones(2).half())
zeros(2, dtype=c, requires_grad=True) ; polar(home.ones(2).half(), home.ones(2).half())
view_as_complex(home.ones(3, 2).half()) ; view_as_complex(home.ones(3, 2).bfloat16())
view_as_real(home.ones(2, dtype=c)) ; complex(home.ones(2).half(), home.ones(2))
ones(2, dtype=c).real ; ones(2, dtype=c).imag ; frombuffer(bytearray(b"12345678"), dtype=c)
randint(0, 3, (3,), dtype=c) ; nn.Linear(1, 1, dtype=c) ; zeros(2, dtype=c).random_()
zeros(2, dtype=c).bernoulli_() ; zeros(2, dtype=c).exponential_()
"""


@pytest.mark.parametrize("line", _MAKERS.strip().splitlines())
def test_makers(line):
    for text in line.split(" ; "):

        def call(home, text=text):
            made = eval(f"home.{text}", {"home": home, "c": home.complex32})  # noqa: S307
            return None if isinstance(made, home.nn.Module) else made.detach()

        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        assert plain(ours) == plain(theirs), text


@pytest.mark.parametrize("count", [3, 40])
def test_draws_of_a_seed(count):
    def near(function):
        rushlight.manual_seed(5)
        torch.manual_seed(5)
        ours, theirs = function(rushlight), function(torch)
        assert ours.dtype is rushlight.complex32
        assert theirs.dtype is torch.complex32
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=2e-3)  # within a rounding

    near(lambda home: home.randn(count, dtype=home.complex32))
    near(lambda home: home.rand(count, dtype=home.complex32))
    near(lambda home: home.randn_like(home.zeros(count, dtype=home.complex32)))
    near(lambda home: home.rand_like(home.zeros(count, dtype=home.complex32)))
    near(lambda home: home.zeros(count, dtype=home.complex32).normal_(1.0, 0.5))
    near(lambda home: home.zeros(count, dtype=home.complex32).uniform_(-2.0, 3.0))
    near(lambda home: home.normal(0.5, 2.0, (count,), dtype=home.complex32))
    made = make_tensor(3, 4, dtype=rushlight.complex32, device="cpu", noncontiguous=True)
    assert made.dtype is rushlight.complex32
    assert made.abs().max() < 13


# ---------------------------------------------------------------------------------- converting
@pytest.mark.parametrize("other", NAMES)
def test_conversions_both_ways(other):
    given = [0, 1, 2.5, 250.7, 65504, 3e-6, 1 / 3]
    parts = [0.5j, 1 + 3e-7j, -2.5 + 1j, -0.0, complex("inf"), 100.25 - 7j]
    same(lambda home: home.tensor(given).to(getattr(home, other)).to(home.complex32))
    same(
        lambda home: home.zeros(7, dtype=home.complex32).copy_(
            home.tensor(given).to(getattr(home, other))
        )
    )
    finite = parts if dtypes.NAMES[other].category >= dtypes.FLOAT else [1 + 2j, 99.75, 0.25j]
    same(lambda home: home.tensor(finite, dtype=home.complex32).to(getattr(home, other)))
    same(lambda home: home.tensor([1e5 + 1j, 1e-8j, 2049 + 2051j]).to(home.complex32))


def test_bits_names_and_numbers():
    def made(home):
        return home.tensor([[1 + 2j, 2, 4e4j], [3, 1 / 3, -1e-3j]], dtype=home.complex32)

    for call in (
        lambda home: made(home).view(home.int32),
        lambda home: made(home).view(home.float16),
        lambda home: made(home).view(home.uint8),
        lambda home: made(home).view(home.complex64).shape,
        lambda home: made(home)[1, 1].item(),
        lambda home: made(home).tolist(),
        lambda home: complex(made(home)[1, 1]),
        lambda home: bool(made(home)[1, 1]),
        lambda home: made(home).numpy(),
        lambda home: made(home).numpy(force=True),
        lambda home: made(home).type().split(".")[-1],
        lambda home: made(home).element_size(),
        lambda home: made(home).is_complex(),
        lambda home: made(home).cfloat(),
        lambda home: made(home).cfloat().chalf(),
        lambda home: home.ones(2).type(home.complex32),
        lambda home: home.ones(2).chalf(memory_format=home.preserve_format),
        lambda home: made(home).untyped_storage().nbytes(),
        lambda home: repr(made(home)).replace("rushlight", "torch"),
        lambda home: repr(made(home)[:, :1]).replace("rushlight", "torch"),
        lambda home: repr(home.empty(0, 2, dtype=home.complex32)).replace("rushlight", "torch"),
    ):
        same(call)
    assert rushlight.ones(2).type("rushlight.ComplexHalfTensor").dtype is rushlight.complex32
    ours = made(rushlight)
    for copied in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), ours.to("cpu")):
        assert copied.dtype is ours.dtype
        assert copied.tolist() == ours.tolist()
    assert ours.to("meta").dtype is ours.dtype
    assert (ours.to("meta") * 2).dtype is ours.dtype
    assert ours.to("meta").abs().dtype is rushlight.float16
    array = np.array([1 + 2j, 3], ml_dtypes.complex32)
    shared = rushlight.from_numpy(array)
    shared[0] = 5j
    assert complex(array[0]) == 5j


@pytest.mark.parametrize("name", ["complex32", "bfloat16"])
def test_dlpack_both_ways(name):
    """Of dtypes that NumPy's own DLPack does not know."""

    def made(home):
        return home.tensor([[1, 2, 3], [4, 5, 6]], dtype=getattr(home, name)).T

    ours, theirs = made(rushlight), made(torch)
    there, here = torch.from_dlpack(ours), rushlight.from_dlpack(theirs)
    assert there.dtype is theirs.dtype
    assert here.dtype is ours.dtype
    assert there.stride() == here.stride() == (1, 3)
    there[0, 1] = here[1, 0] = 7
    assert ours.tolist() == [[1, 7], [2, 5], [3, 6]]
    assert theirs.tolist() == [[1, 4], [7, 5], [3, 6]]
    bare = rushlight.from_dlpack(torch.utils.dlpack.to_dlpack(theirs))
    del theirs, ours
    assert bare.tolist() == here.tolist() == [[1, 4], [7, 5], [3, 6]]
    assert there.tolist() == [[1, 7], [2, 5], [3, 6]]
    again = rushlight.from_dlpack(rushlight.from_dlpack(here))
    assert again.data_ptr() == here.data_ptr()
    empty = rushlight.from_dlpack(torch.empty(0, 2, dtype=getattr(torch, name)))
    assert empty.shape == (0, 2)
    pairs = torch.zeros(2, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    with pytest.raises((BufferError, RuntimeError), match="no dtype has elements|lanes"):
        rushlight.from_dlpack(pairs)


def test_views_share_memory():
    whole = rushlight.zeros(2, 3, dtype=rushlight.complex32)
    whole.real.fill_(2)
    whole.imag[0] = -1
    rushlight.view_as_real(whole)[1, 2, 1] = 7
    assert whole.tolist() == [[2 - 1j] * 3, [2, 2, 2 + 7j]]
    pairs = rushlight.zeros(3, 2, dtype=rushlight.float16)
    rushlight.view_as_complex(pairs)[1] = 3 - 4j
    assert pairs.tolist() == [[0, 0], [3, -4], [0, 0]]
    assert whole.T.stride() == (1, 3)
    assert whole.conj().imag[0, 0] == 1


# ---------------------------------------------------------------------------------- computing
_CALLS = """
t * t ; t - 1.0 ; t + 1.5 ; f * t ; f + t ; h - t ; t == t ; t != 3 ; t + t ; 1 - t ; -t ; t / t
t // t ; t % 2 ; t ** 2 ; abs(t) ; t @ t.T ; t > 1 ; t[0] ; t[0, 1] ; t[:, i] ; t[i] ; t[t == 1]
t[[1, 0]] ; t[None, 1:] ; t[..., -1] ; t.sum() ; t.sum(0) ; t.sum(dtype=home.complex64) ; t.prod()
t.mean() ; t.cumsum(0) ; t.any() ; t.all(1) ; t.max() ; t.argmax() ; t.median() ; t.sort()
t.norm() ; t.norm(float("inf")) ; t.count_nonzero(0) ; t.nonzero() ; home.cat([t, t])
home.cat([t, f]) ; home.cat([h, t]) ; home.stack([t, t], 1) ; home.where(t == 1, t, t)
home.where(t == 1, t, f) ; home.where(t == 1, t, 7) ; home.where(t == 1, 1j, t) ; t.clamp(1, 2)
t.repeat(2, 1) ; t.tile(2) ; t.roll(1) ; t.repeat_interleave(2) ; t.expand(2, 2, 3).clone()
home.nn.functional.pad(t, (1, 1)) ; t.T.contiguous() ; t.diagonal() ; t.unfold(1, 2, 1) ; t.tril()
t.triu(1) ; home.equal(t, t) ; home.allclose(t, t) ; home.isclose(t, t) ; t.isnan() ; t.isfinite()
t.isinf() ; t.isreal() ; t.sgn() ; t.sign() ; t.sqrt() ; t.exp() ; t.angle() ; t.conj() ; t.H
t.conj_physical() ; t.resolve_conj() ; t.square() ; t.reciprocal() ; t.gather(1, i[None])
t.index_select(0, i) ; t.take(i) ; t.masked_fill(t == 1, 1j) ; t.masked_select(t == 1)
t.index_fill(0, i, 1j) ; t.index_add(0, i, t) ; t.index_add(0, i, t, alpha=2)
t.index_copy(0, i, t) ; t.scatter(0, i[None], 1) ; t.relu() ; home.nn.functional.embedding(i, t)
home.outer(t[0], t[0]) ; t.logical_not() ; t.lerp(t, 0.5) ; home.add(t, t, alpha=2)
t.addcmul(t, t) ; home.mul(t, t, out=home.empty(2, 3, dtype=home.complex32))
home.mul(t, t, out=home.empty(2, 3)) ; home.add(h, t, out=home.empty(2, 3, dtype=home.complex64))
t.clone().copy_(f) ; t.clone().mul_(3) ; t.clone().mul_(1.5j) ; t.clone().add_(1)
h.clone().mul_(t) ; t.clone().zero_() ; h.clone().add_(1j) ; home.ones(2, 3).copy_(t)
t.clone().eq_(1) ; t.clone().div_(2) ; t.clone().neg_() ; t.clone().sub_(t)
t.clone().index_put_((i,), t) ; t.clone().index_put_((i,), t, accumulate=True) ; h * 1j
h + (1 + 1j) ; h == 1j ; t.real ; t.imag ; t.half() ; t.float() ; t.bool() ; t.long() ; t.double()
t.cdouble() ; t.flatten().unique() ; t.unbind(1) ; t.split(1) ; t.chunk(2) ; t.reshape(3, 2)
t.view(6) ; home.fill(t, 2j) ; home.log_softmax(t, 0) ; home.block_diag(t, t) ; t.new_zeros(2)
t.diag_embed() ; t.select(1, 2) ; home.fft.fftshift(t) ; home.fft.fft(t) ; home.linalg.diagonal(t)
home.linalg.inv(t[:, :2]) ; t.positive() ; +t ; t.abs().sum() ; t.to(home.bfloat16)
"""


@pytest.mark.parametrize("line", _CALLS.strip().splitlines())
def test_calls(line):
    """Calls that PyTorch computes give its results; calls that it refuses raise its error."""
    for text in line.split(" ; "):

        def call(home, text=text):
            t = home.tensor([[1, 2j, 1], [5 - 1j, 1, 9]], dtype=home.complex32)
            f = home.ones(2, 3)
            space = {"home": home, "t": t, "i": home.tensor([1, 0]), "f": f, "h": f.half()}
            return eval(text, space)  # noqa: S307 - the texts above

        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        assert plain(ours) == plain(theirs), text


def test_assignment_in_all_forms():
    for text in (
        "t[0] = 1j ; t[:, 1] = 2 ; t[i] = t[0].clone() ; t[t == 1] = 5j ; t[0, 1] = t[1, 0]",
        "t[1:] = f[1:] ; t[i, i] = home.tensor([1j, 2j]).chalf() ; t[..., 0] = h[:, 0] ; t += 1j",
        "t[[True, False]] = 7 ; t *= 2 ; t -= t ; t[None] = 3 ; t.real = f ; t.imag = h",
        "t.T[0] = 1 ; t.imag = 4 ; f.real = h ; f.imag = h",
    ):
        for line in text.split(" ; "):

            def call(home, line=line):
                t = home.tensor([[1, 2j, 1], [5 - 1j, 1, 9]], dtype=home.complex32)
                f = home.ones(2, 3)
                space = {"home": home, "t": t, "i": home.tensor([1, 0]), "f": f, "h": f.half()}
                exec(line, space)  # noqa: S102 - the texts above
                return space["t"]

            ours, theirs = attempt(call, rushlight), attempt(call, torch)
            assert plain(ours) == plain(theirs), line


def test_each_result_is_rounded_once():
    rushlight.manual_seed(1)
    a, b = (rushlight.randn(500, dtype=rushlight.complex32) for _ in range(2))
    for op in ("add", "sub", "mul"):
        whole = getattr(rushlight, op)(a.cfloat(), b.cfloat())
        assert getattr(rushlight, op)(a, b).tolist() == whole.chalf().tolist()
        left, right = (torch.tensor(x.tolist(), dtype=torch.complex32) for x in (a, b))
        assert getattr(torch, op)(left, right).tolist() == whole.chalf().tolist()
        for number in (0.1, 0.1 + 0.3j, 2049, 1e-3):  # as operands are, it is one of half precision
            expected = getattr(torch, op)(left, number).tolist()
            assert getattr(rushlight, op)(a, number).tolist() == expected
    assert a.abs().tolist() == a.cfloat().abs().half().tolist()
    spread = a.view(20, 25).T
    assert (spread * spread).tolist() == (spread.contiguous() * spread.contiguous()).tolist()


@pytest.mark.parametrize(
    "text", ["t * t", "t + 2 * u", "t.abs()", "t.conj() * u", "t.real * h", "t.imag", "t * h",
             "home.cat([t, u])[1:3].abs()", "t[[1, 0, 1]] * 1j", "home.where(h > 1, t, u)",
             "t.cfloat().exp()", "t.norm(float('inf'))", "t * f", "t.norm(1) * t.norm(0.5)",
             "home.view_as_complex(home.stack([h, h], -1)) - t", "t.masked_fill(h > 1, 0).tril()",
             "t.clone().mul_(u)", "t.index_add(0, i, u)", "home.complex(h, h) * t"],
)  # fmt: skip
def test_gradients(text):
    def call(home):
        t = home.tensor([[1, 2j], [0.5 - 1j, 3]], dtype=home.complex32, requires_grad=True)
        u = home.tensor([[1j, 2 - 1j], [4, -1]], dtype=home.complex32, requires_grad=True)
        h = home.tensor([[1.0, 2], [3, 0.5]], dtype=home.float16, requires_grad=True)
        f = home.tensor([[1.5, 2], [3, 0.5]], requires_grad=True)
        space = {"home": home, "t": t, "u": u, "h": h, "f": f, "i": home.tensor([1, 0])}
        out = eval(text, space)  # noqa: S307 - the texts above
        given = home.full(tuple(out.shape), 0.5, dtype=out.dtype)
        found = home.autograd.grad(out, (t, u, h, f), given, allow_unused=True)
        return [None if g is None else (name_of(g), g.tolist()) for g in found]

    for ours, theirs in zip(call(rushlight), call(torch), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours[0] == theirs[0]
            np.testing.assert_allclose(ours[1], theirs[1], rtol=5e-3, atol=1e-3)


def test_gradients_of_broadcast_operands_and_of_gradients():
    x = rushlight.tensor([1 + 1j, 2], dtype=rushlight.complex32, requires_grad=True)
    wide = rushlight.tensor([[1j, 2], [3, 4]], dtype=rushlight.complex32)
    (x * wide).backward(rushlight.ones(2, 2, dtype=rushlight.complex32))
    assert x.grad.tolist() == [3 - 1j, 6]
    assert x.grad.dtype is rushlight.complex32
    (first,) = rushlight.autograd.grad(
        x * x * x, x, rushlight.ones(2, dtype=x.dtype), create_graph=True
    )
    (second,) = rushlight.autograd.grad(first, x, rushlight.ones(2, dtype=x.dtype))
    assert second.tolist() == [6 - 6j, 12]


def test_a_warm_door_of_another_dtype_is_no_way_in():
    """Ops whose short ways know other dtypes refuse this one all the same, or compute it right."""
    whole = rushlight.ones(8, 8, dtype=rushlight.complex64) * (1 + 1j)
    half = whole.chalf()
    for op in (
        lambda x: x.exp(), lambda x: x / 2, lambda x: x.sum(), lambda x: x.sum(0), lambda x: x @ x,
        lambda x: x.cumsum(0), lambda x: x.prod(), lambda x: x.mean(), lambda x: x.clone().div_(2),
        lambda x: x.take(rushlight.tensor([1])), lambda x: x.reciprocal(), lambda x: x.angle(),
        lambda x: rushlight.nn.functional.linear(x, x), lambda x: x.cumprod(0),
    ):  # fmt: skip
        for _ in range(3):
            op(whole)
        with pytest.raises(NotImplementedError, match="not implemented for dtype .*complex32"):
            op(half)
    index = rushlight.tensor([1, 0])
    for op in (
        lambda x: x * x, lambda x: x + 1j, lambda x: -x, lambda x: x[index], lambda x: x.T.clone(),
        lambda x: rushlight.cat([x, x]), lambda x: x.repeat(2, 1), lambda x: x.clone().mul_(x),
        lambda x: x.any(0), lambda x: x.tril(), lambda x: x.roll(1, 0), lambda x: x[index, index],
    ):  # fmt: skip
        for _ in range(3):
            expected = op(whole)
            found = op(half)
        assert found.tolist() == expected.tolist()
        assert found.dtype is (rushlight.complex32 if expected.is_complex() else expected.dtype)


def test_compiled_transformed_and_loaded():
    x = rushlight.tensor([[1 + 2j, 2], [3, 4j]], dtype=rushlight.complex32)
    assert rushlight.compile(lambda a: a * 3 * a)(x).tolist() == (x * 3 * x).tolist()
    with pytest.raises(NotImplementedError, match="not implemented for dtype"):
        rushlight.compile(lambda a: a.exp())(x)
    assert rushlight.func.vmap(lambda row: row * row)(x).tolist() == (x * x).tolist()
    slope = rushlight.func.grad(lambda a: (a * a).abs().sum())(x)
    np.testing.assert_allclose(slope.tolist(), (2 * x).tolist(), rtol=2e-3)
    assert [t.tolist() for t in rushlight._foreach_mul([x, x], 3)] == [(x * 3).tolist()] * 2
    loaded = data.DataLoader(data.TensorDataset(x), batch_size=2)
    assert next(iter(loaded))[0].tolist() == x.tolist()
    rushlight.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="not close"):
        rushlight.testing.assert_close(x, x + 1)
