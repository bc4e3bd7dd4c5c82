"""Augmentation of items and of batches: values as fastai's, and what is drawn."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import rushlight as rl
from lightning_lite import easy
from lightning_lite.easy.data import affine

PIL = pytest.importorskip("PIL.Image")
FOLDER = Path(__file__).with_name("recorded")
RECORDED = json.loads((FOLDER / "fastai_augment.json").read_text())
_spec = importlib.util.spec_from_file_location("augment", FOLDER / "fastai_augment.py")
program = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(program)


def applied(transforms, sample, kinds, split=0):
    for each in transforms:
        sample = each(sample, kinds, split)
    return sample


@pytest.mark.parametrize("shape", program.SIZES, ids=str)
def test_batches_are_fastais(shape):
    for name, transforms in program.cases(easy):
        image, mask = applied(transforms, program.pictures(rl, *shape), ("image", "mask"))
        expected = RECORDED["batches"][f"{name} {shape}"]
        assert program.thin(image) == pytest.approx(expected["image"], abs=2e-5), name
        # At a border between pixels rounding decides which of two a mask takes.
        pairs = list(zip(mask.reshape(-1)[::3].tolist(), expected["mask"], strict=True))
        assert sum(one != other for one, other in pairs) <= 0.05 * len(pairs), name


def test_points_and_boxes_are_fastais():
    seen = 0
    for name, transforms in program.cases(easy):
        if name not in RECORDED["points"]:
            continue
        image, _ = program.pictures(rl, *program.SIZES[0])
        points, boxes = (rl.tensor(each) for each in program.places())
        kinds = ("image", "points", "boxes")
        _, points, boxes = applied(transforms, (image, points, boxes), kinds)
        expected = RECORDED["points"][name]
        assert points.reshape(-1).tolist() == pytest.approx(expected["points"], abs=2e-5), name
        assert boxes.reshape(-1).tolist() == pytest.approx(expected["boxes"], abs=2e-5), name
        seen += 1
    assert seen == len(RECORDED["points"]) > 8


def parts():
    points, boxes = program.places()
    return program.picture(), rl.tensor(points[0]), rl.tensor(boxes[0])


def check(found, expected):
    image, points, boxes = found
    assert program.pixels(image) == expected["image"]
    assert points.reshape(-1).tolist() == pytest.approx(expected["points"], abs=2e-5)
    assert boxes.reshape(-1).tolist() == pytest.approx(expected["boxes"], abs=2e-5)


@pytest.mark.parametrize("expected", RECORDED["pieces"], ids=lambda each: str(each["options"]))
def test_random_pieces_are_fastais(expected, monkeypatch):
    from lightning_lite.easy.data import cropping

    change = easy.RandomResizedCrop(**expected["options"])
    monkeypatch.setattr(cropping, "drawn_piece", lambda *given: tuple(expected["box"]))
    found = change(parts(), ("image", "points", "boxes"), expected["split"])
    if expected["split"]:
        # fastai cuts points of validation as if the picture had its first size; ours stay on it.
        wide = change.final[0] / change.size[0]
        assert found[1][:, 0].tolist() == pytest.approx((parts()[1][:, 0] * wide).tolist())
        expected = {**expected, "points": flat(found[1]), "boxes": flat(found[2])}
    check(found, expected)


def flat(values):
    return values.reshape(-1).tolist()


def test_turned_items_are_fastais(monkeypatch):
    from lightning_lite.easy.data import cropping

    for number, expected in enumerate(RECORDED["turned"]):
        monkeypatch.setattr(cropping, "whole", lambda low, high, number=number: number)
        check(easy.DihedralItem()(parts(), ("image", "points", "boxes"), 0), expected)


def test_middles_are_fastais():
    found = program.middles(easy, lambda change, image: change((image,), ("image",), 1)[0])
    assert found == RECORDED["middles"]


def test_aug_transforms_makes_fastais():
    assert program.names(easy) == RECORDED["names"]


def test_pieces_are_drawn():
    change, seen = easy.RandomResizedCrop(8, min_scale=0.2, max_scale=0.5), set()
    for _ in range(40):
        change(parts(), ("image", "points", "boxes"), 0)
        left, top, wide, high = change.piece
        assert 0 <= left <= 20 - wide and 0 <= top <= 14 - high
        assert 0.15 < wide * high / 280 < 0.55 and 0.6 < wide / high < 1.6
        seen.add(change.piece)
    assert len(seen) > 20
    corners = set()
    for _ in range(40):
        easy.RandomCrop(10)((program.picture(),), ("image",), 0)
        crop = easy.RandomCrop(10)
        crop((program.picture(),), ("image",), 0)
        corners.add(crop.corner)
    assert {x for x, _ in corners} <= set(range(11)) and len(corners) > 20
    flips = [easy.FlipItem(0.25) for _ in range(200)]
    for each in flips:
        each((program.picture(),), ("image",), 0)
    assert 25 < sum(each.number for each in flips) < 80


def test_shares_and_limits_of_batches():
    x = rl.rand(400, 3, 4, 4)
    turn = easy.Rotate(10, p=0.75)
    turn((x,), ("image",), 0)
    angles = turn.mat[:, 1, 0].neg().asin().rad2deg()
    moved = angles[angles != 0]
    assert 0.65 < len(moved) / 400 < 0.85 and 8 < float(moved.abs().max()) <= 10.01
    alike = easy.Zoom(1.0, 2.0, p=1.0, batch=True)
    alike((x,), ("image",), 0)
    assert rl.equal(alike.mat, alike.mat[:1].expand(400, 2, 3))
    (light,) = easy.Brightness(0.4, p=0.5)((rl.full((400, 1, 1, 1), 0.5),), ("image",), 0)
    assert 0.3 <= float(light.min()) < 0.32 and 0.68 < float(light.max()) <= 0.7
    assert 0.4 < float((light == 0.5).float().mean()) < 0.6


def test_validation_is_left_alone():
    x = rl.rand(3, 3, 12, 12)
    for each in [*easy.aug_transforms(), easy.RandomErasing(p=1)]:
        assert rl.equal(each((x,), ("image",), 1)[0], x)
    for each in easy.aug_transforms(size=6, min_scale=0.5):
        (x,) = each((x,), ("image",), 1)
    assert x.shape == (3, 3, 6, 6)


def test_erasing():
    x = rl.full((2, 1, 40, 40), 9.0)
    (erased,) = easy.RandomErasing(p=1.0, sl=0.2, sh=0.3)((x,), ("image",), 0)
    gone = erased != 9
    assert 0.1 < float(gone.float().mean()) <= 0.32 and rl.equal(gone[0], gone[1])
    assert abs(float(erased[gone].mean())) < 0.3 and float(x.min()) == 9


def test_data_blocks_augment_pictures_and_masks(tmp_path):
    for number in range(8):
        image = PIL.new("RGB", (16, 12), (250, 0, 0))
        image.paste((0, 0, 250), (0, 0, 8, 12))
        image.save(tmp_path / f"{number}.png")
    block = easy.DataBlock(
        (easy.ImageBlock, easy.MaskBlock), get_items=easy.get_image_files,
        get_y=lambda file: PIL.open(file).convert("RGB").getchannel("B").point(lambda v: v > 0),
        splitter=easy.EndSplitter(0.5), item_tfms=easy.Resize((12, 16)),
        batch_tfms=[easy.Normalize.from_stats([0.5] * 3, [0.5] * 3), easy.Flip(draw=1, p=1.0)],
    )  # fmt: skip
    dls = block.dataloaders(tmp_path, bs=4)
    for dl, mirrored in ((dls.train, True), (dls.valid, False)):
        image, mask = next(iter(dl))
        blue = image[:, 2] > 0
        assert rl.equal(blue, mask == 1) and bool(blue[0, 0, 0]) is not mirrored


def test_misuse_is_named():
    for make, message in (
        (lambda: easy.Resize((3, 4, 5)), r"Resize: size=\(3, 4, 5\)"),
        (lambda: easy.CropPad(4, "wrap"), "CropPad: pad_mode='wrap'"),
        (lambda: easy.RandomResizedCrop(4, 0.5, max_scale=0.2), "min_scale=0.5, max_scale=0.2"),
        (lambda: easy.Flip(pad_mode="wrap"), "Flip: pad_mode='wrap'"),
        (lambda: easy.Rotate(mode="cubic"), "Rotate: mode='cubic'"),
        (lambda: easy.Zoom(2, 1), "min_zoom=2, max_zoom=1"),
        (lambda: easy.Contrast(1.0), "Contrast: max_lighting=1.0"),
        (lambda: easy.aug_transforms(min_scale=0.5), "min_scale=0.5 needs size"),
        (lambda: easy.Flip(draw=[1])((rl.rand(2, 3, 4, 4),), ("image",), 0), "draw has 1 numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    assert affine.homography(*[rl.tensor([[[-1.0, -1], [-1, 1], [1, -1], [1, 1]]])] * 2).shape == (
        1, 3, 3
    )  # fmt: skip
