"""Colours of large batches of bytes, which go some pictures at a time."""

import pytest

import rushlight as rl
from rushlight_vision.transforms import functional as F

CHANGES = {
    "brightness": lambda pictures: F.adjust_brightness(pictures, 1.3),
    "contrast": lambda pictures: F.adjust_contrast(pictures, 0.7),
    "saturation": lambda pictures: F.adjust_saturation(pictures, 1.6),
    "hue": lambda pictures: F.adjust_hue(pictures, -0.2),
    "grey": F.rgb_to_grayscale,
    "autocontrast": F.autocontrast,
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("shape", [(7, 3, 160, 190), (2, 3, 3, 170, 150), (1, 3, 400, 500)])
def test_batches_are_their_pictures(name, shape):
    pictures = rl.randint(20, 230, shape, generator=rl.Generator().manual_seed(3)).to(rl.uint8)
    found = CHANGES[name](pictures)
    assert found.shape[:-3] == pictures.shape[:-3] and found.dtype is rl.uint8
    each = [CHANGES[name](picture) for picture in pictures.flatten(0, -4)]
    assert rl.equal(found.flatten(0, -4), rl.stack(each))


def test_captured_graphs_hold_one_call():
    pictures = rl.zeros(7, 3, 160, 190, dtype=rl.uint8)
    program = rl.export.export(_Brighter(), (pictures,), strict=False)
    names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert not [name for name in names if "split" in name or "cat" in name]
    ones = rl.ones_like(pictures) * 3
    assert rl.equal(program.module()(ones), rl.full_like(ones, 6))


class _Brighter(rl.nn.Module):
    def forward(self, pictures):
        return F.adjust_brightness(pictures, 2.0)
