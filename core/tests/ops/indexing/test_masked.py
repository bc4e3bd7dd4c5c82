"""Masked functions against PyTorch's, with masks that broadcast and slices without elements."""

import numpy as np
import pytest

import rushlight
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")
X = np.random.default_rng(0).normal(size=(3, 4))
MASK = np.array([[True, False, True, True], [False, False, False, True], [False] * 4])
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin", "logsumexp", "norm", "var", "std")
ALONG = ("argmax", "argmin", "median", "cumsum", "cumprod", "softmax", "log_softmax", "softmin")


def both(name, *args, mask=None, dtype=np.float64, **kwargs):
    """One call here and there, values and gradients compared."""
    ours = rushlight.from_numpy(X.astype(dtype))
    theirs = torch.from_numpy(X.astype(dtype))
    if dtype == np.float64 and name not in ("argmax", "argmin"):
        ours.requires_grad_()
        theirs.requires_grad_()
    masks = (None, None) if mask is None else (rushlight.from_numpy(mask), torch.from_numpy(mask))
    a = getattr(rushlight.masked, name)(ours, *args, mask=masks[0], **kwargs)
    b = getattr(torch.masked, name)(theirs, *args, mask=masks[1], **kwargs)
    assert_same(a, b)
    if ours.requires_grad and bool(a.isfinite().all()):
        a.sum().backward()
        b.sum().backward()
        assert_same(ours.grad, theirs.grad)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("mask", [None, MASK, MASK[0]], ids=["none", "full", "broadcast"])
def test_reductions(name, mask):
    order = (2.0,) if name == "norm" else ()
    for options in ({"dim": 1}, {"dim": (0, 1)}, {"dim": 0, "keepdim": True}):
        both(name, *order, mask=mask, **options)
    both(name, *order, mask=mask)


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("mask", [None, MASK[:2].repeat(2, 0)[:3], MASK[0]])
def test_along_a_dimension(name, mask):
    both(name, 1, mask=mask)
    both(name, -2, mask=None)


def test_integers():
    for name in ("sum", "prod", "cumsum", "cumprod"):
        both(name, 1, mask=MASK, dtype=np.int32)
    both("amax", 1, mask=MASK[0], dtype=np.int64)
    with pytest.raises(TypeError, match="floating point"):
        rushlight.masked.mean(rushlight.tensor([1, 2]), mask=rushlight.tensor([True, False]))


def test_normalize_and_logaddexp():
    both("normalize", 2.0, 1, mask=MASK)
    ours = rushlight.masked.logaddexp(
        rushlight.from_numpy(X),
        rushlight.from_numpy(X * 2),
        input_mask=rushlight.from_numpy(MASK),
        other_mask=rushlight.from_numpy(~MASK),
    )
    theirs = torch.masked.logaddexp(
        torch.from_numpy(X),
        torch.from_numpy(X * 2),
        input_mask=torch.from_numpy(MASK),
        other_mask=torch.from_numpy(~MASK),
    )
    assert_same(ours, theirs)


def test_masks_must_fit():
    x = rushlight.ones(2, 3)
    with pytest.raises(IndexError, match="higher than of the input"):
        rushlight.masked.sum(x, mask=rushlight.ones(1, 2, 3, dtype=rushlight.bool))
    with pytest.raises(RuntimeError, match="broadcastable"):
        rushlight.masked.sum(x, mask=rushlight.ones(2, dtype=rushlight.bool))
