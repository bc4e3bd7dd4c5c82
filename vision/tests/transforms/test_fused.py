"""`Compose` runs a conversion and `Normalize` as one step, with the bits of both members."""

from __future__ import annotations

import copy
import pickle
import sys

import inputs
import pytest

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import v2
from rushlight_vision.transforms.v2 import _fusion

LIBRARY = inputs.library("rushlight_vision")
KINDS = inputs.inputs(LIBRARY)
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]
IMAGES = {tv_tensors.Image: rl.float32, tv_tensors.Mask: rl.int64, "others": None}
CONVERSIONS = {
    "float32": lambda: v2.ToDtype(rl.float32, scale=True),
    "float64": lambda: v2.ToDtype(rl.float64, scale=True),
    "float16": lambda: v2.ToDtype(rl.float16, scale=True),
    "unscaled": lambda: v2.ToDtype(rl.float32),
    "by type": lambda: v2.ToDtype(IMAGES, scale=True),
    "older name": lambda: v2.ConvertImageDtype(),
}


@pytest.fixture(autouse=True)
def untraced():
    """A tracer of coverage would keep members apart."""
    tracer = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracer)


def outcome(transform, value):
    """The result's leaves, or the error."""
    try:
        return inputs.leaves(transform(copy.deepcopy(value)))
    except Exception as error:  # noqa: BLE001 - the error is the outcome
        return {"error": type(error), "message": str(error)}


def same(first, second):
    """Whether two outcomes are equal to the bit."""
    if first.keys() != second.keys():
        return False
    if "error" in first:
        return first == second
    return all(
        first[at].dtype == second[at].dtype
        and first[at].shape == second[at].shape
        and first[at].tobytes() == second[at].tobytes()
        for at in first
    )


def both(*members):
    """The members, fused and one by one."""
    return v2.Compose(members), v2.Compose(members, fuse=False)


VALUES = {
    **{kind: KINDS[kind] for kind in ("uint8", "grey", "batch", "Image", "Video", "Mask", "PIL")},
    "int16": KINDS["uint8"].to(rl.int16) * 100,
    "bytes of an Image": tv_tensors.Image(KINDS["uint8"]),
    "strided": KINDS["uint8"].permute(0, 2, 1)[:, ::2],
    "channels last": KINDS["uint8"][None].to(memory_format=rl.channels_last),
    "sample": inputs.sample(LIBRARY),
    "two dimensions": KINDS["uint8"][0],
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
@pytest.mark.parametrize("kind", VALUES)
def test_the_same_bits(conversion, kind):
    fused, single = both(CONVERSIONS[conversion](), v2.Normalize(MEAN, STD))
    value = VALUES[kind]
    assert same(outcome(fused, value), outcome(single, value))
    assert same(outcome(fused, (value, 3)), outcome(single, (value, 3)))


@pytest.mark.parametrize(
    ("mean", "std"),
    [([0.5], [0.25]), (MEAN, [0.2]), ([0.5] * 4, [0.5] * 4), (MEAN, [0.2, 0.0, 0.2]),
     (MEAN, [1, 2, 1e-40]), ([0, 1, 2], [1, 2, 3])],
)  # fmt: skip
def test_other_constants(mean, std):
    fused, single = both(CONVERSIONS["float32"](), v2.Normalize(mean, std))
    assert same(outcome(fused, KINDS["uint8"]), outcome(single, KINDS["uint8"]))


def steps(compose):
    """How many steps it takes."""
    return len(_fusion.fused(compose.transforms))


def test_what_is_fused():
    convert, normalize = CONVERSIONS["float32"](), v2.Normalize(MEAN, STD)
    flip = v2.RandomHorizontalFlip(1.0)
    assert steps(v2.Compose([flip, convert, normalize, flip])) == 3
    assert steps(v2.Compose([convert, flip, normalize])) == 3
    assert steps(v2.Compose([convert, normalize, normalize])) == 2
    assert steps(v2.Compose([convert, convert, normalize, convert, normalize])) == 3
    assert steps(v2.Compose([normalize, convert])) == 2

    class Mine(v2.Normalize):
        pass

    assert steps(v2.Compose([convert, Mine(MEAN, STD)])) == 2
    assert steps(v2.Compose(rl.nn.ModuleList([convert, normalize]))) == 1


def test_members_are_looked_at_anew():
    compose = v2.Compose([CONVERSIONS["float32"](), v2.Normalize(MEAN, STD)])
    image = KINDS["uint8"]
    compose(image)
    compose.transforms[1].mean = [0.0, 0.0, 0.0]
    compose.transforms[1].std = [1.0, 1.0, 1.0]
    assert rl.equal(compose(image), compose.transforms[0](image))
    compose.transforms.append(v2.CenterCrop(4))
    assert compose(image).shape == (3, 4, 4)
    compose.transforms[1].register_forward_hook(lambda module, given, result: result * 0)
    assert not compose(image).any()
    for made in (
        copy.deepcopy(compose),
        pickle.loads(pickle.dumps(v2.Compose(compose.transforms[:1]))),
    ):
        assert made.fuse is True
    assert "fuse" not in repr(compose)


def test_the_switch_and_tracers(monkeypatch):
    ran = []
    step = _fusion._ConvertedAndNormalized
    monkeypatch.setattr(step, "_changed", lambda self, inpt: ran.append(1) or inpt)
    compose = v2.Compose([CONVERSIONS["float32"](), v2.Normalize(MEAN, STD)])
    image = KINDS["uint8"]
    compose(image)
    assert ran == [1]
    sys.settrace(lambda *found: None)  # what a debugger does
    try:
        compose(image)
    finally:
        sys.settrace(None)
    compose.fuse = False
    compose(image)
    assert ran == [1]


def test_constants_follow_the_settings_of_normalize():
    """They are remembered by their values, on the image's device whatever the default one is."""
    _fusion._by_channel.cache_clear()
    image = rl.arange(48, dtype=rl.uint8).reshape(3, 4, 4)
    normalize = v2.Normalize(list(MEAN), list(STD))
    convert = v2.ToDtype(rl.float32, scale=True)
    both = v2.Compose([convert, normalize])
    with rl.device("meta"):
        first = both(image)
    assert rl.equal(first, normalize(convert(image)))
    normalize.mean[0] = 0.9
    changed = both(image)
    assert rl.equal(changed, normalize(convert(image)))
    assert not rl.equal(changed[0], first[0]) and rl.equal(changed[1:], first[1:])
