"""uint16, uint32, uint64: what tensors of them are, meet and become, compared with PyTorch."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest

import rushlight
from rushlight import dtypes
from rushlight.testing import make_tensor
from rushlight.utils import data

torch = pytest.importorskip("torch")

UNSIGNED = ("uint16", "uint32", "uint64")
NAMES = [d.name for d in dtypes.ALL]
# Errors, from the most special to the most general: ours must be of PyTorch's first.
KINDS = (NotImplementedError, OverflowError, TypeError, IndexError, ValueError, RuntimeError)


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
    """A result as nested lists with its dtype; as text, in which NaN are equal."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return (name_of(value), repr(value.tolist())) if hasattr(value, "tolist") else value


def same(function):
    """Both libraries give equal results, or errors of one kind."""
    ours, theirs = attempt(function, rushlight), attempt(function, torch)
    assert plain(ours) == plain(theirs)
    return ours


# ---------------------------------------------------------------------------------- the dtypes
@pytest.mark.parametrize("name", UNSIGNED)
def test_a_dtype_says_what_it_is(name):
    ours, theirs = getattr(rushlight, name), getattr(torch, name)
    for field in ("itemsize", "is_signed", "is_floating_point", "is_complex"):
        assert getattr(ours, field) == getattr(theirs, field)
    assert name_of(ours.to_real()) == name
    same(lambda home: getattr(home, name).to_complex())
    limits, expected = rushlight.iinfo(ours), torch.iinfo(theirs)
    assert (limits.bits, limits.min, limits.max) == (expected.bits, expected.min, expected.max)
    assert repr(limits) == repr(expected)
    same(lambda home: home.finfo(getattr(home, name)))
    same(lambda home: home.set_default_dtype(getattr(home, name)))
    assert repr(ours) == f"rushlight.{name}"
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours


@pytest.mark.parametrize("name", UNSIGNED)
def test_promotion_of_every_pair(name):
    for other in NAMES:
        for pair in ((name, other), (other, name)):
            for rule in ("promote_types", "can_cast"):
                ours, theirs = (
                    attempt(
                        lambda home, pair=pair, rule=rule: getattr(home, rule)(
                            *[getattr(home, n) for n in pair]
                        ),
                        home,
                    )
                    for home in (rushlight, torch)
                )
                assert name_of(ours) == name_of(theirs), (rule, pair)


def _operands(home, name):
    """Tensors with and without dimensions, in a dtype."""
    dtype = getattr(home, name)
    return home.ones(2, dtype=dtype), home.ones((), dtype=dtype)


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("function", ["result_type", "mul", "eq", "div"])
def test_operands_of_every_dtype(name, function):
    """Tensors, 0-d tensors and Python numbers meet as in PyTorch, errors included."""
    for other, places in itertools.product(NAMES, itertools.product((0, 1), repeat=3)):
        if function != "result_type" and dtypes.NAMES[other] in dtypes.EIGHT_BITS:
            continue  # test_float8.py has what computes with them
        left, right, turned = places

        def call(home, other=other, left=left, right=right, turned=turned):
            pair = [_operands(home, name)[left], _operands(home, other)[right]]
            return getattr(home, function)(*(pair[::-1] if turned else pair))

        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        assert name_of(ours) == name_of(theirs), (other, places)
    for number, place in itertools.product((True, 3, 2.5, 1j), (0, 1)):

        def call(home, number=number, place=place):
            return getattr(home, function)(_operands(home, name)[place], number)

        assert name_of(attempt(call, rushlight)) == name_of(attempt(call, torch)), (number, place)


# ---------------------------------------------------------------------------------- making
@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize(
    "number", [0, 7, -1, -7, 2.7, -2.7, True, 1e30, 1 << 16, 1 << 32, (1 << 63) + 5, (1 << 64) - 1,
               1 << 64, -(1 << 40), -(1 << 64), float("nan"), float("inf")],
)  # fmt: skip
def test_numbers_that_do_or_do_not_fit(name, number):
    same(lambda home: home.tensor([number], dtype=getattr(home, name)))
    same(lambda home: home.tensor(number, dtype=getattr(home, name)))
    same(lambda home: home.full((2,), number, dtype=getattr(home, name)))
    same(lambda home: home.zeros(2, dtype=getattr(home, name)).fill_(number))
    same(lambda home: home.full_like(home.zeros(2, dtype=getattr(home, name)), number))
    same(lambda home: home.scalar_tensor(number, dtype=getattr(home, name)))

    def written(home):
        made = home.zeros(3, dtype=getattr(home, name))
        made[1] = number
        return made

    if not -(1 << 63) <= number < 1 << 63:
        return  # an index assignment of PyTorch's takes no number beyond int64
    same(written)


@pytest.mark.parametrize("name", UNSIGNED)
def test_makers(name):
    kind = np.dtype(name)
    array = np.array([1, 2, np.iinfo(kind).max], kind)
    for call in (
        lambda home: home.zeros(2, dtype=getattr(home, name)),
        lambda home: home.ones(2, 3, dtype=getattr(home, name)),
        lambda home: home.from_numpy(array),
        lambda home: home.tensor(array),
        lambda home: home.as_tensor(array),
        lambda home: home.asarray(array),
        lambda home: home.asarray([1, 2], dtype=getattr(home, name)),
        lambda home: home.from_dlpack(array),
        lambda home: home.frombuffer(bytearray(array.tobytes()[:8] * 2), dtype=getattr(home, name)),
        lambda home: home.from_numpy(array).new_zeros(2),
        lambda home: home.ones_like(home.from_numpy(array)),
        lambda home: home.arange(3, dtype=getattr(home, name)),
        lambda home: home.eye(3, dtype=getattr(home, name)),
        lambda home: home.linspace(0, 3, 4, dtype=getattr(home, name)),
        lambda home: home.randperm(3, dtype=getattr(home, name)),
        lambda home: home.randint(0, 1 << 40, (2,), dtype=getattr(home, name)).dtype == 0,
        lambda home: home.zeros(2, dtype=getattr(home, name)).random_(),
        lambda home: home.zeros(2, dtype=getattr(home, name)).bernoulli_(),
        lambda home: home.rand(2, dtype=getattr(home, name)).dtype == 0 and None,
        lambda home: home.tensor([home.tensor(3, dtype=getattr(home, name)), 1]),
        lambda home: home.tensor([home.tensor(3, dtype=getattr(home, name)), 1.5]),
        lambda home: home.zeros(2, dtype=getattr(home, name), requires_grad=True),
    ):
        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        lacking = {NotImplementedError: RuntimeError}  # what has no kernel
        assert plain(lacking.get(ours, ours)) == plain(lacking.get(theirs, theirs))
    rushlight.manual_seed(5)
    torch.manual_seed(5)
    same(lambda home: home.randint(1, 60000, (20,), dtype=getattr(home, name)))
    made = make_tensor(3, 4, dtype=getattr(rushlight, name), device="cpu", exclude_zero=True)
    assert made.dtype is getattr(rushlight, name)
    assert 0 < int(made.long().min())
    assert int(made.long().max()) < 10


# ---------------------------------------------------------------------------------- converting
_FLOATS = [0.0, 1.5, -1.0, -2.7, 300.7, 65000.0]  # far beyond a dtype, PyTorch's is not defined


@pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning")
@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("other", NAMES)
def test_conversions_both_ways(name, other):
    top = np.iinfo(name).max
    values = [0, 1, 2, 255, 256, 40000, top - 1, top]
    same(lambda home: home.tensor(values, dtype=getattr(home, name)).to(getattr(home, other)))
    if dtypes.NAMES[other].category >= dtypes.FLOAT:
        given = _FLOATS + ([4e9] if name == "uint32" else [1e19] if name == "uint64" else [])
        given = given if dtypes.NAMES[other].itemsize > 2 else _FLOATS
        if dtypes.NAMES[other] in dtypes.EIGHT_BITS:  # in which other numbers become NaN
            given = [0.0, 1.0, 2.0, 16.0, 100.0]
        same(lambda home: home.tensor(given, dtype=getattr(home, other)).to(getattr(home, name)))
    elif other not in UNSIGNED and other != "bool":
        given = [0, 1, 100, -1, -100] if other != "uint8" else [0, 1, 255]
        same(lambda home: home.tensor(given, dtype=getattr(home, other)).to(getattr(home, name)))
        same(
            lambda home: home.zeros(len(given), dtype=getattr(home, name)).copy_(
                home.tensor(given, dtype=getattr(home, other))
            )
        )


@pytest.mark.parametrize("name", UNSIGNED)
def test_bits_names_and_numbers(name):
    def made(home):
        top = np.iinfo(name).max
        return home.tensor([[1, 2, 40000], [3, 4, top]], dtype=getattr(home, name))

    width = 8 * np.dtype(name).itemsize
    for call in (
        lambda home: made(home).view(getattr(home, f"int{width}")),
        lambda home: made(home).view(home.uint8),
        lambda home: made(home).view(home.int64 if width < 64 else home.int32),
        lambda home: made(home)[1, 2].item(),
        lambda home: made(home).tolist(),
        lambda home: int(made(home)[1, 1]),
        lambda home: bool(made(home)[1, 1]),
        lambda home: range(9)[made(home)[1, 1]],
        lambda home: made(home).numpy().dtype.name,
        lambda home: made(home).type().split(".")[-1],
        lambda home: made(home).element_size(),
        lambda home: made(home).is_signed(),
        lambda home: made(home).short(),
        lambda home: home.ones(2).type(getattr(home, name)),
        lambda home: repr(made(home)).replace("torch", "rushlight"),
    ):
        same(call)
    legacy = rushlight.ones(2).type(f"rushlight.{made(torch).type().split('.')[-1]}")
    assert legacy.dtype is getattr(rushlight, name)
    ours = made(rushlight)
    for copied in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), ours.to("cpu")):
        assert copied.dtype is ours.dtype
        assert copied.tolist() == ours.tolist()
    assert np.asarray(ours).dtype.name == name
    assert torch.from_dlpack(ours).tolist() == ours.tolist()
    assert rushlight.from_dlpack(made(torch)).tolist() == ours.tolist()
    assert ours.to("meta").dtype is ours.dtype
    assert (ours.to("meta") * 2).dtype is ours.dtype


# ---------------------------------------------------------------------------------- computing
@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("number", [0, 1, -1, 3, 65535, 65537, (1 << 32) - 1, (1 << 63) + 1])
def test_numbers_wrap_around(name, number):
    values = [0, 1, 3, 40000, np.iinfo(name).max]

    def made(home):
        return home.tensor(values, dtype=getattr(home, name))

    for op in ("mul", "eq", "ne", "bitwise_and", "bitwise_or", "bitwise_xor"):
        same(lambda home, op=op: getattr(home, op)(made(home), number))
        same(lambda home, op=op: getattr(home, op)(made(home), made(home)))
    same(lambda home: made(home).mul_(number))
    same(lambda home: home.where(made(home) == 1, made(home), number))


_CALLS = """
t * t ; t - 1.0 ; t + 1.5 ; f * t ; f + t ; t == t ; t != 3 ; t & t ; t | 1 ; t ^ t ; t + t
t - 1 ; -t ; t // t ; t % 2 ; t ** 2 ; t ** 2.0 ; ~t ; t << 1 ; t > 1 ; t > 1.0 ; abs(t) ; t @ t.T
t & (t == 1) ; t[0] ; t[0, 1] ; t[:, i] ; t[i] ; t[t == 1] ; t[[1, 0]] ; t[None, 1:] ; f[t]
f[0][t[0]] ; t.sum() ; t.sum(0) ; t.sum(dtype=home.float64) ; t.sum(dtype=t.dtype) ; t.prod()
t.prod(1) ; t.mean() ; t.cumsum(0) ; t.cumsum(1, dtype=t.dtype) ; t.cumprod(0) ; t.any()
t.all(1) ; t.max() ; t.amax(0) ; t.max(1) ; t.argmax() ; t.median() ; t.mode() ; t.topk(1)
t.var() ; t.norm() ; t.count_nonzero(0) ; t.sort(1, descending=True) ; t.argsort(1)
t.flatten().unique(return_counts=True) ; t.nonzero() ; home.cat([t, t]) ; home.cat([t, f])
home.cat([t, i]) ; home.stack([t, t], 1) ; home.stack([t, f]) ; home.where(t == 1, t, t)
home.where(t == 1, t, f) ; home.where(t == 1, t, 7) ; t.clamp(1, 2) ; t.repeat(2, 1) ; t.tile(2)
t.roll(1) ; t.repeat_interleave(2) ; t.flip(0) ; t.expand(2, 2, 3).clone()
home.nn.functional.pad(t, (1, 1)) ; t.T.contiguous() ; t.diagonal() ; t.unfold(1, 2, 1) ; t.tril()
home.equal(t, t) ; home.allclose(t, t) ; home.isclose(t, t) ; t.isnan() ; t.isfinite()
t.signbit() ; t.floor() ; t.ceil() ; t.round() ; t.trunc() ; t.sign() ; t.sqrt() ; t.exp()
t.sigmoid() ; t.square() ; t.gather(1, i[None]) ; t.index_select(0, i) ; t.take(i)
t.masked_fill(t == 1, 0) ; home.isin(t, 1.5) ; t.masked_select(t == 1) ; t.index_fill(0, i, 1)
t.index_add(0, i, t) ; f.gather(1, t) ; t.bincount() ; f.index_select(0, t[0])
t.scatter(0, i[None], 1) ; home.searchsorted(t[0], t[0]) ; t.relu()
home.nn.functional.one_hot(t) ; home.nn.functional.embedding(i, t) ; home.outer(t[0], t[0])
t.logical_not() ; t.logical_and(t) ; t.gcd(t) ; home.maximum(t, t) ; home.maximum(t, f)
t.lerp(t, 0.5) ; home.mul(t, t, out=home.empty(2, 3))
home.mul(t, t, out=home.empty(2, 3, dtype=home.int32)) ; t.clone().copy_(f) ; t.clone().mul_(3)
t.clone().mul_(1.5) ; t.clone().add_(1) ; f.clone().mul_(t) ; t.clone().zero_()
home.ones(2, 3).copy_(t) ; t.clone().eq_(1) ; t.clone().div_(2) ; f.clone().add_(t)
home.arange(6).view(2, 3).mul(t) ; home.arange(6).view(2, 3).copy_(t)
t.clone().index_put_((i,), t)
"""


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("line", _CALLS.strip().splitlines())
def test_calls(name, line):
    """Calls that PyTorch computes give its results; calls that it refuses raise its error."""
    for text in line.split(" ; "):

        def call(home, text=text):
            t = home.tensor([[1, 2, 1], [5, 1, 9]], dtype=getattr(home, name))
            space = {"home": home, "t": t, "i": home.tensor([1, 0]), "f": home.ones(2, 3)}
            return eval(text, space)  # noqa: S307 - the texts above

        ours, theirs = attempt(call, rushlight), attempt(call, torch)
        assert plain(ours) == plain(theirs), text


@pytest.mark.parametrize("name", UNSIGNED)
def test_a_warm_door_of_another_dtype_is_no_way_in(name):
    """Ops whose short ways know other dtypes refuse these all the same."""
    dtype = getattr(rushlight, name)
    plain_tensor = rushlight.ones(8, 8, dtype=rushlight.int64)
    unsigned = plain_tensor.to(dtype)
    for op in (
        lambda x: x + x, lambda x: x + 1, lambda x: x.tril(), lambda x: x.amax(0), lambda x: x > 0,
        lambda x: x.take(rushlight.tensor([1])), lambda x: x.clone().add_(1), lambda x: x @ x,
        lambda x: x.gather(0, plain_tensor), lambda x: -x, lambda x: x.sum(dtype=x.dtype),
    ):  # fmt: skip
        for _ in range(3):
            op(plain_tensor)
        with pytest.raises(NotImplementedError, match=f"not implemented for dtype .*{name}"):
            op(unsigned)
    for _ in range(3):
        assert (unsigned * unsigned).dtype is dtype
        assert (unsigned * 1.5).dtype is rushlight.float32
        assert (plain_tensor * 3).tolist() == [[3] * 8] * 8


@pytest.mark.parametrize("name", UNSIGNED)
def test_compiled_transformed_and_differentiated(name):
    top = int(np.iinfo(name).max)
    x = rushlight.tensor([[1, 2], [3, top]], dtype=getattr(rushlight, name))
    weight = rushlight.full((2, 2), 0.5, requires_grad=True)
    as_float = x.to(rushlight.float32)

    def chain(a, b):
        return (a * 1.5 + b).sigmoid() * (a == top)

    expected = chain(as_float, weight) if name == "uint16" else chain(x, weight)
    rushlight.testing.assert_close(rushlight.compile(chain)(x, weight), expected)
    assert rushlight.compile(lambda a: a * 3 * a)(x).tolist() == (x * 3 * x).tolist()
    with pytest.raises(NotImplementedError, match="not implemented for dtype"):
        rushlight.compile(lambda a: a + 1)(x)
    (weight * x).sum().backward()
    assert weight.grad.tolist() == as_float.tolist()
    assert rushlight.func.vmap(lambda row: row * row)(x).tolist() == (x * x).tolist()
    slope = rushlight.func.grad(lambda a: (a * x).sum())(rushlight.ones(2, 2))
    assert slope.tolist() == as_float.tolist()
    assert [t.tolist() for t in rushlight._foreach_mul([x, x], 3)] == [(x * 3).tolist()] * 2
    with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
        assert (x * 2).dtype is x.dtype


# ---------------------------------------------------------------------------------- elsewhere
@pytest.mark.parametrize("name", UNSIGNED)
def test_loaders_and_shared_memory(name):
    dtype = getattr(rushlight, name)
    rows = rushlight.tensor([[1, 2], [3, 4], [5, 6], [7, 8]], dtype=dtype)
    batches = list(data.DataLoader(data.TensorDataset(rows), batch_size=2, num_workers=1))
    assert [b[0].dtype for b in batches] == [dtype, dtype]
    assert [b[0].tolist() for b in batches] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    collated = data.default_collate([np.ones(2, name), np.ones(2, name)])
    assert collated.dtype is dtype
    assert rows.share_memory_().is_shared()
    assert rows.storage().dtype is dtype
    assert rows.untyped_storage().nbytes() == 8 * dtype.itemsize


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float32", "bfloat16"])
def test_hashes_are_pytorchs(name):
    for call in (
        lambda x: x.hash_tensor(), lambda x: x.hash_tensor(0), lambda x: x.hash_tensor((0, 2)),
        lambda x: x.hash_tensor(-1, keepdim=True), lambda x: x[:0].hash_tensor(),
        lambda x: x[:0].hash_tensor(0), lambda x: x[:0].hash_tensor(1), lambda x: x.hash_tensor(7),
        lambda x: x.hash_tensor(mode=1),
    ):  # fmt: skip
        same(lambda home, call=call: call(home.arange(24).view(2, 3, 4).to(getattr(home, name))))
    same(lambda home: home.ones(3, dtype=home.uint16).hash_tensor())


def test_close_and_not_close():
    one = rushlight.tensor([1, (1 << 64) - 1], dtype=rushlight.uint64)
    rushlight.testing.assert_close(one, one.clone())
    rushlight.testing.assert_close(one[:1], rushlight.tensor([1]), check_dtype=False)
    with pytest.raises(AssertionError, match="Mismatched elements: 1 / 2"):
        rushlight.testing.assert_close(one, one * rushlight.tensor([1, 2], dtype=one.dtype))
    with pytest.raises(AssertionError, match="dtype"):
        rushlight.testing.assert_close(one[:1], rushlight.tensor([1]))
