"""``reshape`` of what no view can show: one copy, with its own memory and history."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.ops.shape import views as shape


@pytest.mark.parametrize("extents", [(4, 8, 64, 32), (2, 3, 5, 7)])
def test_a_copy_is_made_once(extents, monkeypatch):
    x = rushlight.randn(*extents)
    turned, calls = x.transpose(1, 2), []
    wanted = turned._array.reshape(extents[0], -1)
    original = shape.turned
    monkeypatch.setattr(shape, "turned", lambda *a: calls.append(1) or original(*a))
    for _ in range(6):  # the first calls make the doors
        found = turned.reshape(extents[0], -1)
    calls.clear()
    found = turned.reshape(extents[0], -1)
    assert len(calls) == (1 if x._array.nbytes >= shape._COPIED else 0)
    assert np.array_equal(found.numpy(), wanted)
    found.zero_()
    assert x.abs().min() > 0
    assert found._base is None


def test_gradients_of_copies():
    x = rushlight.randn(4, 30, 40, requires_grad=True)
    for _ in range(4):
        y = x.transpose(1, 2).reshape(160, 30)
        assert y.requires_grad
        (grad,) = rushlight.autograd.grad((y * y).sum(), x)
        assert rushlight.equal(grad, 2 * x.detach())


def test_views_stay_views():
    x = rushlight.zeros(40, 50)
    part = x[:, :20]
    for _ in range(4):
        seen = part.reshape(40, 4, 5)
        seen += 1
    assert x.sum().item() == 4 * 800
    with pytest.raises(RuntimeError, match="invalid for input"):
        part.reshape(7, 9)
