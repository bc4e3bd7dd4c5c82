"""complex32 on CUDA devices: made, moved, converted, computed as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight import dtypes


def _pair():
    """The same numbers on the CPU and on the device."""
    here = rushlight.tensor([[1 + 2j, 2, 1j], [5, 1 / 3, -4 - 1e-3j]], dtype=rushlight.complex32)
    return here, here.to("cuda")


def test_moved_and_made():
    here, there = _pair()
    assert there.dtype is here.dtype
    assert there.cpu().tolist() == there.tolist() == here.tolist()
    assert there.T.contiguous().tolist() == here.T.tolist()
    made = rushlight.full((3,), 1.5 - 2j, dtype=here.dtype, device="cuda")
    assert made.tolist() == [1.5 - 2j] * 3
    assert made.fill_(7).tolist() == [7] * 3
    made.real = 2
    made[1:].imag.fill_(4)
    assert made.tolist() == [2, 2 + 4j, 2 + 4j]
    assert rushlight.view_as_real(made).dtype is rushlight.float16
    assert rushlight.randn(3, dtype=here.dtype, device="cuda").dtype is here.dtype
    assert repr(there[0]).startswith("tensor([1.+2.j, 2.+0.j, 0.+1.j], device='cuda:0'")
    assert there[0, 0].item() == 1 + 2j


@pytest.mark.parametrize("other", [d.name for d in dtypes.ALL])
def test_conversions(other):
    here, there = _pair()
    target = getattr(rushlight, other)
    found, expected = there.abs().to(target), here.abs().to(target)  # real: integers have no less
    assert found.tolist() == expected.tolist()
    assert found.to(rushlight.complex32).tolist() == expected.to(rushlight.complex32).tolist()
    if target.category >= dtypes.FLOAT:
        assert there.to(target).tolist() == here.to(target).tolist()


@pytest.mark.parametrize(
    "function", [lambda x: x * x, lambda x: x + 1j, lambda x: -x, lambda x: x == 1,
                 lambda x: x[:, 1:], lambda x: rushlight.cat([x, x]), lambda x: x.tril(),
                 lambda x: x * 2.5, lambda x: x.T.clone(), lambda x: rushlight.stack([x, x], 1),
                 lambda x: x.conj(), lambda x: x.roll(1, 0), lambda x: x.clone().mul_(x),
                 lambda x: x.real * x],
)  # fmt: skip
def test_computed_as_on_the_cpu(function):
    here, there = _pair()
    found, expected = function(there), function(here)
    assert found.dtype is expected.dtype
    assert found.tolist() == expected.tolist()


def test_gradients_and_refusals():
    here, there = _pair()
    grads = []
    for x in (here.requires_grad_(), there.requires_grad_()):
        (x * x).abs().sum().backward()
        grads.append(x.grad.tolist())
    np.testing.assert_allclose(grads[0], grads[1], rtol=2e-3)
    with pytest.raises(NotImplementedError, match="not implemented for dtype .*complex32"):
        there.exp()


def test_capsules():
    _, there = _pair()
    shared = rushlight.from_dlpack(there)
    shared[0, 0] = 0
    assert shared.dtype is there.dtype
    assert there[0, 0].item() == 0
    assert rushlight.as_tensor(there).tolist() == shared.tolist()
