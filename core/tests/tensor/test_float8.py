"""Floats of eight bits: what they hold, what takes and refuses them, compared with PyTorch."""

from __future__ import annotations

import copy
import pickle

import pytest

import rushlight
from rushlight import dtypes

torch = pytest.importorskip("torch")

NAMES = [d.name for d in dtypes.EIGHT_BITS]
OTHERS = [d.name for d in dtypes.ALL]
# Errors, from the most special to the most general: ours must be of PyTorch's first.
KINDS = (NotImplementedError, OverflowError, TypeError, IndexError, ValueError, RuntimeError)
pytestmark = [
    pytest.mark.parametrize("name", NAMES),
    pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning"),
]


def attempt(function, home):
    """What a function gives with one of the two libraries, or the kind of its error."""
    try:
        return function(home)
    except Exception as error:
        return next(kind for kind in KINDS if isinstance(error, kind))


def plain(value):
    """A result as nested lists with its dtype; nan as a text, so that it is equal to itself."""
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return str(value.dtype).split(".")[-1], repr(value.tolist())
    return str(value).replace("rushlight", "torch")


def same(function):
    """Both libraries give equal results, or errors of one kind."""
    ours, theirs = attempt(function, rushlight), attempt(function, torch)
    assert plain(ours) == plain(theirs)
    return ours


def every(home, name):
    """All 256 numbers of a dtype."""
    return home.arange(256).to(home.uint8).view(getattr(home, name))


def test_the_dtype_says_what_it_is(name):
    ours, theirs = getattr(rushlight, name), getattr(torch, name)
    for field in ("itemsize", "is_signed", "is_floating_point", "is_complex"):
        assert getattr(ours, field) == getattr(theirs, field)
    limits, expected = rushlight.finfo(ours), torch.finfo(theirs)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(limits, field) == getattr(expected, field), field
    assert pickle.loads(pickle.dumps(ours)) is ours
    same(lambda home: home.iinfo(getattr(home, name)))


def test_promotion_of_every_pair(name):
    for other in OTHERS:
        for rule in ("promote_types", "can_cast"):
            same(
                lambda home, o=other, r=rule: getattr(home, r)(
                    *[getattr(home, n) for n in (name, o)]
                )
            )
            same(
                lambda home, o=other, r=rule: getattr(home, r)(
                    *[getattr(home, n) for n in (o, name)]
                )
            )


@pytest.mark.parametrize("other", OTHERS)
def test_every_number_in_every_dtype(name, other):
    def call(home):
        return every(home, name).to(getattr(home, other))

    ours, theirs = call(rushlight), call(torch)
    if dtypes.NAMES[other].category == dtypes.INTEGER:
        keep = torch.isfinite(every(torch, name).double()) & (
            every(torch, name).double().abs() < 100
        )
        keep &= (every(torch, name).double() >= 0) | theirs.dtype.is_signed
        ours, theirs = ours[rushlight.tensor(keep.tolist())], theirs[keep]
    assert plain(ours) == plain(theirs)


@pytest.mark.parametrize(
    "other", ["float32", "float64", "float16", "bfloat16", "int32", "complex64"]
)
def test_numbers_of_every_size_become_the_nearest(name, other):
    def call(home):
        home.manual_seed(0)
        wide = home.randn(4000) * 2.0 ** home.randint(-40, 40, (4000,))
        edges = home.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 464.0, 465.0])
        near = every(home, name).float()
        finite = near[home.isfinite(near)]
        between = (finite[1:] + finite[:-1]) / 2
        given = home.cat([wide, edges, between, -between, between * (1 + 2.0**-20)])
        if other == "int32":
            given = home.randint(-1000, 1000, (500,))
        return given.to(getattr(home, other)).to(getattr(home, name)).float()

    ours, theirs = call(rushlight), call(torch)
    assert repr(ours.tolist()) == repr(theirs.tolist())  # all NaN are alike


# What works here and not there.
_BEYOND = {
    ("float8_e8m0fnu", "x.abs()"),
    ("float8_e8m0fnu", "home.nn.functional.pad(x, (1, 1))"),
    ("float8_e8m0fnu", "x.clone().index_put_((i,), y[i])"),
    *((name, "home.equal(x, x)") for name in NAMES),
    *((name, "x.unique()") for name in NAMES),
}
_CALLS = """
x.clone() ; x.t().contiguous() ; x.view(24) ; x[1:3] ; x[i] ; x[0, 1] ; x[m] ; x[:, None]
x[[1, 0]] ; home.cat([x, y]) ; home.stack([x, y], 1) ; x == y ; x != y ; x < y ; x + y ; x - y
x * 2 ; -x ; x / 2 ; x.sum() ; x.max() ; x.abs() ; x.clone().fill_(1.0) ; x.clone().zero_()
home.relu(x) ; home.zeros(4, 6).copy_(x) ; home.zeros(4, 6, dtype=d).copy_(home.ones(4, 6))
x[0, 0].item() ; x.tolist() ; home.where(m, x, y) ; x.masked_fill(m, 0.0) ; x.gather(0, i[None])
x.take(i) ; x.index_select(0, i) ; x.flip(0) ; x.roll(1) ; x.repeat(2, 1)
x[None].expand(2, 4, 6) ; x.isnan() ; x.bool() ; x.view(home.uint8) ; x.to(home.float16)
x.unfold(0, 2, 1) ; home.nn.functional.pad(x, (1, 1)) ; x.split(2) ; x.chunk(3, 1) ; x.sort()
x.nonzero() ; x.tril() ; home.equal(x, y) ; home.equal(x, x) ; home.allclose(x, y)
x + home.ones(4, 6) ; x.type(home.float32) ; x.is_floating_point() ; x.is_signed()
x.type().split(".")[-1] ; home.nn.functional.embedding(i, x) ; x.permute(1, 0) ; x.reshape(2, 12)
x.squeeze(0) ; x.unsqueeze(1) ; x.transpose(0, 1).is_contiguous() ; x.diagonal() ; x.movedim(0, 1)
x.new_zeros(3) ; home.zeros_like(x) ; home.ones_like(x) ; x.numel() ; home.full_like(x, 2.0)
home.zeros(3, dtype=d).float() ; home.ones(3, dtype=d) ; home.full((3,), 2.0, dtype=d)
home.tensor([1.0, 2.0], dtype=d) ; home.rand(3, dtype=d) ; home.randn(3, dtype=d)
home.arange(3, dtype=d) ; home.rand_like(x) ; home.randn_like(x)
home.zeros(3, dtype=d).normal_() ; home.zeros(3, dtype=d).uniform_()
x.clone().index_put_((i,), y[i]) ; x.numpy() ; x.to(home.float8_e5m2) ; home.eye(2, dtype=d)
x.any() ; x.all(1) ; x.untyped_storage().nbytes() ; x.element_size() ; x.to(home.complex64)
x.swapaxes(0, 1) ; x.cumsum(0) ; x.softmax(0) ; x.exp() ; x.mean() ; x.pow(2) ; x.clamp(0, 1)
x.square() ; x.round() ; x.sign() ; home.linspace(0, 1, 3, dtype=d) ; x.norm() ; x.topk(2)
x.argmax() ; x.unique() ; x.scatter(0, i[None], 1.0) ; home.isclose(x, y) ; x.to("meta").shape
x.long() ; x.double() ; x.half() ; x.bfloat16() ; home.conj(x)
"""


def wide(text, operands):
    """What a call gives of the operands in float32."""
    found = {k: v.float() if k in "xy" else v for k, v in operands.items()}
    return eval(text, found)  # noqa: S307


@pytest.mark.parametrize("line", _CALLS.strip().splitlines())
def test_calls_take_or_refuse_it_as_there(name, line):
    def operands(home):
        d = getattr(home, name)
        x = (home.arange(24).reshape(4, 6) / 4 + 0.5).to(d)
        return {
            "home": home, "d": d, "x": x, "y": x.flip(0).contiguous(), "i": home.tensor([0, 2]),
            "m": (home.arange(24) % 3 == 0).reshape(4, 6),
        }  # fmt: skip

    for text in line.split(" ; "):
        if (name, text) in _BEYOND:
            continue
        ours = attempt(lambda home, t=text: eval(t, operands(home)), rushlight)  # noqa: S307
        theirs = attempt(lambda home, t=text: eval(t, operands(home)), torch)  # noqa: S307
        if theirs is NotImplementedError and ours is not theirs:  # no kernel there: as float32 here
            theirs = attempt(
                lambda home, t=text: wide(t, operands(home)).to(operands(home)["d"]), torch
            )
        assert plain(ours) == plain(theirs), text


def test_it_prints_as_there(name):
    same(lambda home: repr(home.tensor([1.0, 2.0, 0.5, 16.0]).to(getattr(home, name))))
    same(lambda home: repr(home.ones(2, 2).to(getattr(home, name))))


def test_gradients_pass_through_conversions(name):
    def call(home):
        x = home.tensor([0.3, 2.0, 4.1], requires_grad=True)
        x.to(getattr(home, name)).float().pow(2).sum().backward()
        return x.grad

    same(call)


def test_copies_pickles_and_files(name, tmp_path):
    ours, theirs = every(rushlight, name), every(torch, name)
    bits = ours.view(rushlight.uint8).tolist()
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), ours.to("cpu")):
        assert copied.dtype is ours.dtype
        assert copied.view(rushlight.uint8).tolist() == bits
    rushlight.save({"w": ours}, tmp_path / "ours.pt")
    torch.save({"w": theirs}, tmp_path / "theirs.pt")
    there, here = torch.load(tmp_path / "ours.pt"), rushlight.load(tmp_path / "theirs.pt")
    assert there["w"].dtype is theirs.dtype
    assert here["w"].dtype is ours.dtype
    assert there["w"].view(torch.uint8).tolist() == bits
    assert here["w"].view(rushlight.uint8).tolist() == bits


def test_parameters_hold_it(name):
    layer = rushlight.nn.Linear(2, 2)
    layer.weight = rushlight.nn.Parameter(layer.weight.detach().to(getattr(rushlight, name)))
    state = layer.state_dict()
    assert state["weight"].dtype is getattr(rushlight, name)
    again = rushlight.nn.Linear(2, 2)
    again.load_state_dict(state)
    assert again.weight.tolist() == layer.weight.float().tolist()
