"""TVTensors: what operations keep and lose, metadata, errors, copies."""

from __future__ import annotations

import copy
import pickle

import pytest
from PIL import Image as Pictures

import rushlight as rl
from rushlight_vision import tv_tensors as tv

MAKERS = {
    "Image": lambda: tv.Image(rl.rand(3, 4, 5)),
    "Video": lambda: tv.Video(rl.rand(2, 3, 4, 5)),
    "Mask": lambda: tv.Mask(rl.rand(4, 5)),
    "BoundingBoxes": lambda: tv.BoundingBoxes(
        rl.rand(2, 4), format="xywh", canvas_size=(4, 5), clamping_mode="hard"
    ),
    "KeyPoints": lambda: tv.KeyPoints(rl.rand(2, 2), canvas_size=(4, 5)),
}
KEEP = {
    "clone": lambda t: t.clone(),
    "to": lambda t: t.to(rl.float64),
    "detach": lambda t: t.detach(),
    "requires_grad_": lambda t: t.requires_grad_(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
}
LOSE = {
    "add": lambda t: t + 1,
    "radd": lambda t: rl.ones(1) * t,
    "add_": lambda t: t.add_(1),
    "index": lambda t: t[0],
    "reshape": lambda t: t.reshape(-1),
    "double": lambda t: t.double(),
    "cat": lambda t: rl.cat([t, t]),
    "unbind": lambda t: t.unbind()[0],
    "data": lambda t: t.data,
    "cpu": lambda t: t.cpu(),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", KEEP)
def test_kept(kind, name):
    tensor = MAKERS[kind]()
    result = KEEP[name](tensor)
    assert type(result) is type(tensor)
    assert result.__dict__ == tensor.__dict__
    assert rl.equal(result.detach().as_subclass(rl.Tensor).float(), rl.Tensor.float(tensor))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", LOSE)
def test_lost(kind, name):
    tensor = MAKERS[kind]()
    result = LOSE[name](tensor)
    assert type(result) is rl.Tensor and not hasattr(result, "canvas_size")
    with tv.set_return_type("TVTensor"):
        tensor = MAKERS[kind]()
        expected = rl.Tensor if name == "data" else type(tensor)
        if not (name in ("index", "unbind", "reshape") and kind == "BoundingBoxes"):
            assert type(LOSE[name](tensor)) is expected
    assert type(tensor + 1) is rl.Tensor


def test_memory_is_shared():
    plain = rl.zeros(3, 2, 2)
    image = tv.Image(plain)
    image.add_(1)
    assert plain.data_ptr() == image.data_ptr() and plain.sum() == 12


def test_metadata():
    boxes = MAKERS["BoundingBoxes"]()
    assert boxes.format is tv.BoundingBoxFormat.XYWH and boxes.clamping_mode == "hard"
    other = tv.wrap(rl.zeros(1, 4), like=boxes, format="XYXY", canvas_size=(7, 7))
    assert other.format is tv.BoundingBoxFormat.XYXY and other.canvas_size == (7, 7)
    assert other.clamping_mode == "hard"
    assert type(tv.wrap(rl.zeros(1), like=rl.zeros(1))) is rl.Tensor
    assert tv.is_rotated_bounding_format("xyxyxyxy") and not tv.is_rotated_bounding_format("XYWH")
    shown = repr(tv.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(9, 9)))
    assert shown == (
        "BoundingBoxes([[1, 2, 3, 4]], format=BoundingBoxFormat.XYXY, canvas_size=(9, 9), "
        "clamping_mode=soft)"
    )


def test_shapes():
    assert tv.Image(rl.zeros(4, 5)).shape == (1, 4, 5)
    assert tv.Image(Pictures.new("RGB", (3, 4))).shape == (3, 4, 3)
    assert tv.Mask(Pictures.new("L", (3, 4))).shape == (1, 4, 3)
    assert tv.BoundingBoxes(rl.zeros(4), format="XYXY", canvas_size=(3, 3)).shape == (1, 4)
    assert tv.KeyPoints(rl.zeros(2, 3, 2), canvas_size=(3, 3)).shape == (2, 3, 2)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tv.Image(rl.zeros(4)), ValueError),
        (lambda: tv.Video(rl.zeros(3, 4, 4)), ValueError),
        (lambda: tv.BoundingBoxes(rl.zeros(1, 4), format="abc", canvas_size=(1, 1)), KeyError),
        (
            lambda: tv.BoundingBoxes(rl.zeros(1, 1, 4), format="XYXY", canvas_size=(1, 1)),
            ValueError,
        ),
        (lambda: tv.BoundingBoxes([[1] * 5], format="XYWHR", canvas_size=(1, 1)), ValueError),
        (lambda: tv.KeyPoints(rl.zeros(2, 3), canvas_size=(1, 1)), ValueError),
        (lambda: tv.set_return_type("array"), ValueError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()


def test_data_may_be_written():
    image = tv.Image(rl.zeros(3, 2, 2))
    image.data = tv.Image(rl.ones(3, 2, 2))
    assert type(image) is tv.Image and type(image.data) is rl.Tensor
    assert image.sum().item() == 12
