"""Adaptive maxima, with the positions at which they are, by ONNX Runtime."""

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim

pytest.importorskip("onnxruntime")

POOLS = {1: nn.AdaptiveMaxPool1d, 2: nn.AdaptiveMaxPool2d, 3: nn.AdaptiveMaxPool3d}
CASES = [
    ((2, 3, 12), (4,)), ((2, 3, 11), (4,)), ((3, 11), (13,)), ((2, 3, 9), (1,)), ((3, 9), (1,)),
    ((2, 3, 8, 6), (4, 3)), ((2, 3, 8, 7), (3, None)), ((3, 5, 7), (2, 9)), ((3, 5, 7), (1, 1)),
    ((2, 2, 5, 6), (1, 4)), ((2, 2, 4, 6, 2), (2, 3, 1)), ((2, 5, 4, 7), (2, 3, 3)),
    ((2, 2, 5, 4, 3), (1, 1, 1)),
]  # fmt: skip


def with_ties(shape):
    """Few different numbers: the first of several maxima counts."""
    return rushlight.randint(0, 5, shape, generator=rushlight.Generator().manual_seed(0)).float()


def assert_same(found, expected):
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(expected, found, strict=True):
        assert theirs.dtype is ours.dtype and rushlight.equal(theirs, ours)


@pytest.mark.parametrize("shape, size", CASES)
@pytest.mark.parametrize("indices", [False, True])
def test_adaptive_maxima(shape, size, indices):
    model, x = POOLS[len(size)](size, return_indices=indices), with_ties(shape)
    assert_same(rushlight.onnx.export(model, (x,))(x), model(x))


@pytest.mark.parametrize("size", [(1, 1), (2, 4), (2, 5)])
def test_batches_of_any_size(size):
    model, x = nn.AdaptiveMaxPool2d(size, return_indices=True), with_ties((2, 3, 6, 8))
    program = rushlight.onnx.export(model, (x,), dynamic_shapes=({0: Dim("batch")},))
    for batch in (1, 5):
        x = with_ties((batch, 3, 6, 8))
        assert_same(program(x), model(x))


def test_maxima_of_pictures_of_any_size():
    model, x = nn.AdaptiveMaxPool2d(1, return_indices=True), with_ties((2, 3, 6, 8))
    sizes = {2: Dim("height", min=2), 3: Dim("width", min=2)}
    program = rushlight.onnx.export(model, (x,), dynamic_shapes=(sizes,))
    for shape in ((2, 3, 5, 9), (2, 3, 20, 4)):
        x = with_ties(shape)
        assert_same(program(x), model(x))


def test_no_elements_are_refused():
    with pytest.raises(rushlight.onnx.OnnxExporterError, match="adaptive pooling to no elements"):
        rushlight.onnx.export(nn.AdaptiveMaxPool2d((0, 2)), (rushlight.ones(2, 3, 4, 4),))
