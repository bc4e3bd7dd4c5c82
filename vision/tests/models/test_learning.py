"""Losses fall in a few steps; `vision/tests/slow/train_shapes.py` trains to the end."""

from __future__ import annotations

import numpy as np
import pytest
import shapes

import rushlight as rl

LOSSES = {
    "detection": (shapes.detector, shapes.detection_loss),
    "segmentation": (shapes.segmenter, shapes.segmentation_loss),
}


@pytest.mark.parametrize("task", LOSSES)
def test_losses_fall(task):
    rl.manual_seed(0)
    build, loss_of = LOSSES[task]
    model, draw = build(), np.random.default_rng(1)
    optimizer = rl.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(24):
        loss = loss_of(model, *shapes.batch(draw, 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-6:]) < 0.7 * np.mean(losses[:3])


def test_figures():
    images, targets = shapes.batch(np.random.default_rng(0), 6)
    assert all(image.shape == (3, shapes.SIDE, shapes.SIDE) for image in images)
    right = [{**each, "scores": rl.ones(len(each["labels"]))} for each in targets]
    assert shapes.precision(right, targets) == 1.0
    moved = [{**each, "boxes": each["boxes"] + 60.0} for each in right]
    assert shapes.precision(moved, targets) == 0.0
    classes = rl.stack([each["classes"] for each in targets])
    assert shapes.overlap(classes, classes) == 1.0 > shapes.overlap(classes * 0, classes)
