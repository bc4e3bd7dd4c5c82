"""Kernels by their own names do what their functionals do; classes of one's own get theirs."""

from __future__ import annotations

import cases
import inputs
import pytest

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2.functional._registry import KERNELS
from rushlight_vision.tv_tensors._base import plain

LIBRARY = inputs.library("rushlight_vision")
KINDS = {
    "image": ("Image",),
    "video": ("Video",),
    "mask": ("Mask", "Masks"),
    "bounding_boxes": ("boxes XYXY", "boxes CXCYWHR", "whole boxes"),
    "keypoints": ("points",),
}
META = ("format", "canvas_size", "clamping_mode")


def kernels():
    """Every kernel with a name, its functional, and its kinds of input."""
    for name in F.__all__:
        for ending, kinds in KINDS.items():
            base = name.removesuffix(f"_{ending}")
            if base != name and base in cases.FUNCTIONALS and base not in ("clamp", "sanitize"):
                for kind in kinds:
                    yield name, base, kind


@pytest.mark.parametrize(("name", "base", "kind"), list(kernels()))
def test_kernel_is_its_functional(name, base, kind):
    for options in cases.FUNCTIONALS[base]:
        given = cases.arguments(LIBRARY, options)
        value = inputs.inputs(LIBRARY)[kind]
        rl.manual_seed(0)
        try:
            expected = getattr(F, base)(value, **given)
        except (ValueError, TypeError, RuntimeError):
            continue  # as it refuses this kind
        rl.manual_seed(0)
        kernel = getattr(F, name)
        result = kernel(
            value if base == "get_size" else plain(value), **wanted(kernel, given, value)
        )
        assert equal(result, expected), options


def wanted(kernel, given, value):
    """The arguments that a kernel takes, metadata among them."""
    from inspect import signature

    names = list(signature(kernel).parameters)[1:]
    found = {name: given[name] for name in names if name in given}
    return found | {n: getattr(value, n) for n in META if n in names and hasattr(value, n)}


def equal(result, expected):
    """Whether a kernel's plain result, perhaps with a size, is a functional's."""
    if isinstance(expected, tv_tensors.TVTensor):
        if isinstance(result, tuple) and isinstance(result[1], tuple):
            assert tuple(expected.canvas_size) == result[1]
            result = result[0]
        return rl.equal(result, plain(expected))
    if isinstance(expected, tuple):
        return all(equal(r, e) for r, e in zip(result, expected, strict=True))
    return result == expected


def test_first_parameters_by_name():
    """`inpt`, and of `jpeg` alone `image`, as torchvision calls them."""
    image = tv_tensors.Image(rl.randint(0, 256, (3, 8, 8), dtype=rl.uint8))
    assert rl.equal(F.jpeg(image=image, quality=40), F.jpeg(image, 40))
    assert rl.equal(F.invert(inpt=image), F.invert(image))
    with pytest.raises(TypeError):
        F.invert(image=image)


class Depth(tv_tensors.TVTensor):
    """A class of one's own."""


def test_register_kernel():
    depth = rl.ones(1, 2, 3).as_subclass(Depth)
    with pytest.raises(TypeError, match="horizontal_flip: inputs are one of"):
        F.horizontal_flip(depth)
    assert LIBRARY.v2.RandomHorizontalFlip(p=1.0)(depth) is depth
    try:

        @F.register_kernel(F.horizontal_flip, Depth)
        def flipped(depth):
            return plain(depth) + 1

        assert rl.equal(F.horizontal_flip(depth), rl.full((1, 2, 3), 2.0))
        assert rl.equal(LIBRARY.v2.RandomHorizontalFlip(p=1.0)(depth), rl.full((1, 2, 3), 2.0))
    finally:
        KERNELS[F.horizontal_flip].pop(Depth, None)


@pytest.mark.parametrize(
    ("functional", "kind"),
    [("no such", Depth), (max, Depth), (F.resize, rl.Tensor), (F.resize, tv_tensors.Image)],
)
def test_register_kernel_refuses(functional, kind):
    with pytest.raises(ValueError, match="register_kernel"):
        F.register_kernel(functional, kind)


def test_unsupported_types_are_named():
    with pytest.raises(TypeError, match="adjust_hue: inputs are one of .*BoundingBoxes"):
        F.adjust_hue(inputs.inputs(LIBRARY)["boxes XYXY"], 0.1)
    with pytest.raises(NotImplementedError, match="use 'soft' or None"):
        F.clamp_bounding_boxes(inputs.inputs(LIBRARY)["boxes XYWHR"], clamping_mode="hard")


def test_soft_clamping_of_rotated_boxes():
    """The smallest box of the same angle around the part inside."""
    box = rl.tensor([[-4.0, 2.0, 6.0, 2.0, 6.0, 8.0, -4.0, 8.0]])
    size = (10, 10)
    clamped = F.clamp_bounding_boxes(box, "XYXYXYXY", size, "soft")
    assert clamped.tolist() == [[0.0, 2.0, 6.0, 2.0, 6.0, 8.0, 0.0, 8.0]]
    inside = rl.tensor([[4.0, 3.0, 6.0, 5.0, 4.0, 7.0, 2.0, 5.0]])
    assert rl.allclose(F.clamp_bounding_boxes(inside, "XYXYXYXY", size, "soft"), inside, atol=1e-5)
    outside = box - 20
    assert not F.clamp_bounding_boxes(outside, "XYXYXYXY", size, "soft").any()
    tilted = rl.tensor([[0.0, 5.0, 5.0, 0.0, 8.0, 3.0, 3.0, 8.0]]) - rl.tensor([3.0, 0.0] * 4)
    result = F.clamp_bounding_boxes(tilted, "XYXYXYXY", size, "soft").reshape(4, 2)
    sides = result - result.roll(-1, 0)
    assert rl.allclose((sides[0] * sides[1]).sum(), rl.zeros(()), atol=1e-3)
    assert result[:, 0].min() >= -3.0 and sides.norm(dim=1).max() <= 7.1
