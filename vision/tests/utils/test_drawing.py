"""What is drawn into images; the pixels of torchvision are compared by ci/vision_utils.py."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import rushlight as rl
from rushlight_vision.utils import (
    draw_bounding_boxes,
    draw_keypoints,
    draw_segmentation_masks,
    flow_to_image,
    show,
)

BLACK = rl.zeros(3, 40, 50, dtype=rl.uint8)


def test_boxes_are_drawn_where_they_are():
    boxes = rl.tensor([[5, 6, 20, 30], [10, 10, 12, 12]])
    found = draw_bounding_boxes(BLACK, boxes, colors=["red", (0, 0, 255)], width=1)
    assert found.dtype is rl.uint8 and found.shape == (3, 40, 50) and BLACK.sum() == 0
    red = np.zeros((40, 50), bool)
    red[6:31, [5, 20]] = red[[6, 30], 5:21] = True
    np.testing.assert_array_equal(found[0].numpy() == 255, red)
    assert int((found[2] == 255).sum()) == 8
    filled = draw_bounding_boxes(BLACK, boxes[:1], colors="red", fill=True)
    assert 0 < int(filled[0, 15, 15]) < 255
    real = draw_bounding_boxes(BLACK.float(), boxes[:1], colors="red")
    assert real.dtype is rl.float32 and float(real.max()) == 1.0
    grey = draw_bounding_boxes(BLACK[:1], boxes[:1], colors="red")
    assert grey.shape == (3, 40, 50)


def test_words_and_turned_boxes():
    boxes = rl.tensor([[5, 6, 45, 36]])
    plain = draw_bounding_boxes(BLACK, boxes, colors="red")
    named = draw_bounding_boxes(BLACK, boxes, ["cat"], colors="red")
    changed = (named != plain).any(0).nonzero()
    assert len(changed) > 10 and int(changed[:, 0].max()) < 22
    behind = draw_bounding_boxes(
        BLACK, boxes, ["cat"], "red", fill_labels=True, label_background_colors="blue"
    )
    assert int((behind[2] == 255).sum()) > 20
    two = rl.tensor([[5, 6, 45, 36], [2, 2, 9, 9]])
    unnamed = draw_bounding_boxes(BLACK, two, [None, None], "red", fill_labels=True)
    assert rl.equal(unnamed, draw_bounding_boxes(BLACK, two, colors="red"))
    turned = draw_bounding_boxes(BLACK, rl.tensor([[10, 10, 30, 12, 28, 32, 8, 30]]), colors="red")
    assert turned[0, 31, 18] == 255 and turned[0, 20, 20] == 0


def test_masks_are_laid_over():
    image = rl.full((3, 2, 3), 100, dtype=rl.uint8)
    masks = rl.tensor([[[1, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 1]]]).bool()
    found = draw_segmentation_masks(image, masks, 0.5, ["red", "lime"])
    assert found[:, 0, 0].tolist() == [177, 50, 50] and found[:, 1, 2].tolist() == [50, 177, 50]
    assert found[:, 0, 1].tolist() == [50, 50, 50] and found[:, 1, 0].tolist() == [100] * 3
    real = draw_segmentation_masks(image / 255, masks[0], 1.0, "red")
    assert real[:, 0, 0].tolist() == [1.0, 0.0, 0.0]


def test_key_points_and_lines():
    points = rl.tensor([[[10.0, 10], [30, 10], [10, 30]]])
    found = draw_keypoints(BLACK, points, colors="red", radius=1)
    assert found[0, 9:12, 9:12].sum() == 255 * 5 and int((found[0] > 0).sum()) == 15
    seen = rl.tensor([[True, False, True]])
    joined = draw_keypoints(BLACK, points, [(0, 1), (0, 2)], "red", visibility=seen, width=1)
    assert joined[0, 10, 20] == 0 and joined[0, 20, 10] == 255


def test_colours_of_flow():
    flow = rl.zeros(2, 1, 4)
    flow[0, 0, 1], flow[0, 0, 2], flow[1, 0, 3] = 2.0, -2.0, 1.0
    found = flow_to_image(flow)
    assert found.dtype is rl.uint8 and found[:, 0, 0].tolist() == [255] * 3
    assert found[:, 0, 1].tolist() == [255, 0, 0]
    assert flow_to_image(flow.expand(3, 2, 1, 4)).shape == (3, 3, 1, 4)
    half = found[:, 0, 3].tolist()
    assert min(half) >= 126  # half as fast, half as strong


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_bounding_boxes(BLACK.long(), rl.zeros(1, 4)), "image must be uint8 or float"),
        (
            lambda: draw_bounding_boxes(BLACK[None], rl.zeros(1, 4)),
            r"must have the shape \(1, H, W\)",
        ),
        (lambda: draw_bounding_boxes(BLACK, rl.tensor([[5, 5, 1, 9]])), "no side below 0"),
        (lambda: draw_bounding_boxes(BLACK, rl.zeros(1, 4), ["a", "b"]), r"as many as boxes \(1\)"),
        (
            lambda: draw_bounding_boxes(BLACK, rl.zeros(2, 4), colors=["red"]),
            "one colour for each of 2",
        ),
        (lambda: draw_bounding_boxes(BLACK, rl.zeros(2, 4), colors=(1, 2)), "red, green and blue"),
        (lambda: draw_bounding_boxes(BLACK, rl.zeros(2, 4), colors=3), "colors must be a colour"),
        (lambda: draw_segmentation_masks(BLACK, rl.zeros(40, 50)), "masks must be bool of shape"),
        (lambda: draw_segmentation_masks(BLACK[:1], rl.zeros(40, 50).bool()), r"\(3, H, W\)"),
        (lambda: draw_keypoints(BLACK, rl.zeros(3, 2)), r"keypoints must be \(N, K, 2\)"),
        (
            lambda: draw_keypoints(BLACK, rl.zeros(1, 3, 2), visibility=rl.ones(1, 2)),
            r"visibility must be \(1, 3\)",
        ),
        (lambda: flow_to_image(rl.zeros(3, 4, 4)), "flow must be float32 of shape"),
        (lambda: show(rl.zeros(2, 3, 4, 4), [1]), r"labels must be as many as images \(2\)"),
        (lambda: show(rl.zeros(2, 3, 4, 4), columns=0), "columns must be 1 at least"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="image must be a tensor, got list"):
        draw_keypoints([], rl.zeros(1, 1, 2))


def test_nothing_to_draw_warns():
    with pytest.warns(UserWarning, match="boxes has no box"):
        assert draw_bounding_boxes(BLACK, rl.zeros(0, 4)) is BLACK
    with pytest.warns(UserWarning, match="masks has no mask"):
        assert draw_segmentation_masks(BLACK, rl.zeros(0, 40, 50).bool()) is BLACK
    with pytest.warns(UserWarning, match="font_size has no effect"):
        draw_bounding_boxes(BLACK, rl.tensor([[1, 1, 5, 5]]), ["a"], font_size=20)


def test_a_batch_as_one_picture(tmp_path):
    images = rl.zeros(3, 1, 16, 20)
    images[1] = 1.0
    path = tmp_path / "batch.png"
    sheet = show(images, [0, 1, 1], [0, 1, 0], classes=["cat", "dog"], columns=2, path=path)
    assert isinstance(sheet, Image.Image) and sheet.size == (2 * 24 + 4, 2 * (16 + 26 + 4) + 4)
    pixels = np.asarray(sheet)
    np.testing.assert_array_equal(np.asarray(Image.open(path)), pixels)
    assert (pixels[4:20, 4:24] == 0).all() and (pixels[4:20, 28:48] == 255).all()
    red, green, _ = pixels.reshape(-1, 3).astype(int).T
    assert ((green > red + 90) & (red < 40)).any() and ((red > green + 120) & (green < 60)).any()


def test_normalised_images_and_things_are_shown():
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.2, 0.1)
    real = rl.rand(2, 3, 30, 30)
    scaled = (real - rl.tensor(mean)[:, None, None]) / rl.tensor(std)[:, None, None]
    sheet = np.asarray(show(scaled, mean=mean, std=std))
    np.testing.assert_allclose(
        sheet[4:34, 4:34] / 255, real[0].permute(1, 2, 0).numpy(), atol=0.006
    )
    things = {
        "boxes": rl.tensor([[3.0, 3, 25, 25]]),
        "labels": rl.tensor([1]),
        "scores": rl.tensor([0.5]),
        "masks": rl.ones(1, 1, 30, 30) * 0.9,
        "keypoints": rl.tensor([[[5.0, 5, 1], [20, 20, 0]]]),
    }
    drawn = np.asarray(show(real, predictions=[things, {}], classes=["a", "b"]))
    plain = np.asarray(show(real))
    assert (drawn[4:34, 4:34] != plain[4:34, 4:34]).mean() > 0.5
    np.testing.assert_array_equal(drawn[4:34, 38:68], plain[4:34, 38:68])
