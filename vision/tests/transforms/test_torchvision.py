"""All functionals and transforms against what torchvision gave (`ci/vision_transforms.py`)."""

from __future__ import annotations

from pathlib import Path

import cases
import compared
import inputs
import pytest

EXPECTED = compared.load(str(Path(__file__).with_name("torchvision.npz")))
LIBRARY = inputs.library("rushlight_vision")


@pytest.fixture(scope="module")
def found():
    """All cases with Rushlight."""
    return compared.everything(LIBRARY, range(1))


def named(key: str) -> str:
    """The function or class of a case."""
    return key.split(" ")[0]


@pytest.mark.parametrize("name", sorted({named(key) for key in EXPECTED}))
def test_as_torchvision(name, found):
    why = [
        f"{key}: {difference}"
        for key in EXPECTED
        if named(key) == name
        and (difference := compared.difference(key, found.get(key, {}), EXPECTED[key]))
    ]
    assert not why, "\n".join(why)


def test_inner_paths():
    from rushlight_vision.transforms import _functional_pil, _functional_tensor, functional
    from rushlight_vision.transforms.transforms import Compose, RandomAffine

    assert Compose is LIBRARY.v1.Compose and RandomAffine is LIBRARY.v1.RandomAffine
    for name in functional.__all__:
        expected = getattr(functional, name)
        assert getattr(_functional_tensor, name) is getattr(_functional_pil, name) is expected


def test_every_functional_has_cases():
    kinds = ("_image", "_video", "_mask", "_bounding_boxes", "_keypoints")
    general = {n for n in LIBRARY.F.__all__ if not n.endswith(kinds)}
    general |= {"clamp_bounding_boxes", "sanitize_bounding_boxes", "clamp_keypoints"}
    others = {"InterpolationMode", "register_kernel"}
    assert general - others <= {"to_image", *cases.FUNCTIONALS, *others} | {"to_pil_image"}


def test_every_transform_has_cases():
    tables = (cases.TRANSFORMS, cases.BATCHES, cases.PICTURES)
    compared_ = {name for table in tables for name, _ in table}
    tested = {"Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder", "Transform"}
    classes = {n for n in LIBRARY.v2.__all__ if isinstance(getattr(LIBRARY.v2, n), type)}
    assert classes - tested - {"AutoAugmentPolicy", "InterpolationMode"} <= compared_
