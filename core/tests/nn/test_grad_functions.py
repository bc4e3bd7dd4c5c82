"""`nn.grad`: gradients of convolutions as functions, as PyTorch's."""

import numpy as np
import pytest

import rushlight

CASES = {
    1: ((2, 4, 11), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    2: ((2, 4, 11, 9), (6, 4, 3, 3), {"padding": (1, 0), "dilation": 2}),
    3: ((2, 4, 6, 5, 7), (6, 4, 3, 1, 2), {"stride": (1, 2, 1)}),
}


@pytest.mark.parametrize("dims", CASES)
def test_agree_with_the_oracle(dims):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    shape, taps, options = CASES[dims]
    x, w = (rng.standard_normal(s).astype("f") for s in (shape, taps))
    out = getattr(torch.nn.functional, f"conv{dims}d")(torch.tensor(x), torch.tensor(w), **options)
    grad, found = rng.standard_normal(tuple(out.shape)).astype("f"), []
    for library in (rushlight, torch):
        given, weight, g = (library.tensor(v) for v in (x, w, grad))
        functions = library.nn.grad
        found.append(
            [
                getattr(functions, f"conv{dims}d_input")(shape, weight, g, **options),
                getattr(functions, f"conv{dims}d_weight")(given, taps, g, **options),
            ]
        )
    for ours, theirs in zip(*found, strict=True):
        assert np.allclose(ours.numpy(), theirs.numpy(), 1e-4, 1e-4)


def test_gradients_of_gradients_and_no_others():
    grad, w = rushlight.ones(2, 6, 9, 7, requires_grad=True), rushlight.ones(6, 4, 3, 3)
    found = rushlight.nn.grad.conv2d_input((2, 4, 11, 9), w, grad)
    found.sum().backward()
    assert grad.grad is not None and float(grad.grad[0, 0, 0, 0]) == 36
    plain = rushlight.nn.grad.conv2d_input((2, 4, 11, 9), w, grad.detach())
    assert not plain.requires_grad


def test_shapes_are_checked():
    w = rushlight.ones(6, 4, 3, 3)
    with pytest.raises(ValueError, match=r"\(2, 6, 3, 3\).*\(2, 6, 9, 7\)"):
        rushlight.nn.grad.conv2d_input((2, 4, 11, 9), w, rushlight.ones(2, 6, 3, 3))
    with pytest.raises(RuntimeError, match="4 channels"):
        rushlight.nn.grad.conv2d_weight(rushlight.ones(2, 5, 9, 9), w.shape, w)
