"""Masks of SpecAugment: one band, its bounds, the same or its own for each item."""

import pytest

import rushlight as rl
from rushlight_audio import transforms as T


def masked_rows(mask, axis):
    """For each item: the masked places along an axis, after checking that they are whole lines."""
    out = []
    for item in mask.reshape(-1, *mask.shape[-2:]):
        lines = item.amin(dim=axis)
        assert rl.equal(lines, item.amax(dim=axis))
        out.append([place for place, value in enumerate(lines.tolist()) if value == 9.0])
    return out


@pytest.mark.parametrize(("kind", "axis"), [(T.FrequencyMasking, 1), (T.TimeMasking, 0)])
@pytest.mark.parametrize("own", [False, True])
def test_one_band_per_item(kind, axis, own):
    rl.manual_seed(0)
    seen = set()
    for _ in range(20):
        bands = masked_rows(kind(6, iid_masks=own)(rl.zeros(4, 2, 20, 30), 9.0), axis)
        for band in bands:
            assert len(band) < 6
            assert band == list(range(band[0], band[0] + len(band))) if band else True
        assert own or all(band == bands[0] for band in bands)
        seen |= {tuple(band) for band in bands}
    assert len(seen) > 10


def test_width_by_share():
    rl.manual_seed(0)
    steps = T.TimeMasking(100, p=0.2)
    widths = [len(masked_rows(steps(rl.zeros(5, 30), 9.0), 0)[0]) for _ in range(30)]
    assert max(widths) == 5
    x = rl.zeros(5, 30)
    assert T.TimeMasking(0)(x) is x


def test_bad_input():
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\], got 2"):
        T.TimeMasking(10, p=2)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        T.FrequencyMasking(-1)
    with pytest.raises(ValueError, match=r"shape \[..., F, T\], got \[5\]"):
        T.FrequencyMasking(1)(rl.zeros(5))
