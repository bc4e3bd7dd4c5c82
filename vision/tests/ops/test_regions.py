"""Operators on regions and deformable convolution: derivatives, dtypes, layouts, errors."""

from __future__ import annotations

import pytest

import rushlight as rl
from rushlight_vision import ops

ROIS = [
    [0, 1.3, 0.7, 6.2, 5.9],
    [1, 0.0, 0.0, 8.0, 7.0],
    [1, 5.5, 4.5, 12.0, 11.0],
    [0, -3.0, -2.0, 2.5, 3.5],
]


def images(channels=4, dtype=rl.float64):
    return rl.randn(2, channels, 7, 8, dtype=dtype, generator=rl.Generator().manual_seed(3))


def regions(dtype=rl.float64):
    return rl.tensor(ROIS, dtype=dtype)


CALLS = {
    "roi_align": lambda x, r: ops.roi_align(x, r, 2, 0.9, 2),
    "roi_align, adaptive": lambda x, r: ops.roi_align(x, r, (2, 1), 0.9, -1, aligned=True),
    "roi_pool": lambda x, r: ops.roi_pool(x, r, 2, 0.9),
    "ps_roi_align": lambda x, r: ops.ps_roi_align(x, r, 2, 0.9, 2),
    "ps_roi_align, adaptive": lambda x, r: ops.ps_roi_align(x, r, 2, 0.9),
    "ps_roi_pool": lambda x, r: ops.ps_roi_pool(x, r, 2, 0.9),
}


@pytest.fixture(params=CALLS.values(), ids=CALLS)
def call(request):
    return request.param


def test_first_and_second_derivatives(call):
    """Where regions reach the border, too."""
    x = images().requires_grad_()
    assert rl.autograd.gradcheck(lambda x: call(x, regions()), (x,))
    assert rl.autograd.gradgradcheck(lambda x: call(x, regions()) ** 2, (x,))


def test_boxes_get_no_gradient(call):
    rois = regions().requires_grad_()
    assert not call(images(), rois).requires_grad


def test_channels_last_is_the_same(call):
    expected = call(images(), regions())
    found = call(images().contiguous(memory_format=rl.channels_last), regions())
    assert rl.equal(found, expected)
    assert expected.is_contiguous()


def test_regions_alone_are_the_same(call):
    """Regions of other sizes do not matter to a region."""
    together = call(images(), regions())
    alone = rl.cat([call(images(), regions()[i : i + 1]) for i in range(len(ROIS))])
    rl.testing.assert_close(together, alone, rtol=1e-13, atol=1e-13)


def test_no_regions(call):
    x = images().requires_grad_()
    found = call(x, regions()[:0])
    assert found.shape[0] == 0 and found.ndim == 4
    found.sum().backward()
    assert not x.grad.any()


@pytest.mark.parametrize("dtype", [rl.float16, rl.bfloat16])
def test_half_precision(call, dtype):
    found = call(images(dtype=rl.float32).to(dtype), regions(dtype))
    assert found.dtype == dtype
    expected = call(images(dtype=rl.float32).to(dtype).double(), regions(dtype).double())
    # Coordinates are computed in half precision as well: some hundredths of a pixel.
    assert (found.double() - expected).abs().mean() < 0.1


def test_autocast_computes_in_float32(call):
    x, rois = images(dtype=rl.float32), regions(rl.float32)
    with rl.autocast("cpu", dtype=rl.bfloat16):
        assert rl.equal(call(x, rois), call(x, rois).float())
        low = call(x.bfloat16(), rois)
    assert low.dtype == rl.bfloat16
    assert rl.equal(low, call(x.bfloat16().float(), rois).bfloat16())


def test_an_image_that_is_not_there(call):
    rois = regions()
    rois[1, 0] = 2
    with pytest.raises(IndexError, match="2 images.*0 to 2"):
        call(images(), rois)


def test_images_without_a_batch(call):
    with pytest.raises(RuntimeError, match=r"input must have shape \(N, C, H, W\)"):
        call(images()[0], regions())


def offsets(groups=2):
    seed = rl.Generator().manual_seed(5)
    return rl.randn(2, 2 * 4 * groups, 6, 7, dtype=rl.float64, generator=seed) * 2


def test_derivatives_of_deformable_convolution():
    seed = rl.Generator().manual_seed(6)
    mask = rl.rand(2, 8, 6, 7, dtype=rl.float64, generator=seed)
    weight = rl.randn(2, 2, 2, 2, dtype=rl.float64, generator=seed)
    bias = rl.randn(2, dtype=rl.float64, generator=seed)
    given = [each.requires_grad_() for each in (images(), offsets(), weight, bias, mask)]

    def call(x, offset, weight, bias, mask):
        return ops.deform_conv2d(x, offset, weight, bias, mask=mask)

    assert rl.autograd.gradcheck(call, given, fast_mode=True)
    assert rl.autograd.gradgradcheck(call, given, fast_mode=True)


def test_without_offsets_it_is_convolution():
    weight = rl.randn(6, 2, 3, 2, dtype=rl.float64, generator=rl.Generator().manual_seed(7))
    settings = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
    expected = rl.nn.functional.conv2d(images(), weight, groups=2, **settings)
    offset = rl.zeros(2, 12, *expected.shape[2:], dtype=rl.float64)
    found = ops.deform_conv2d(images(), offset, weight, **settings)
    rl.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_offsets_far_outside_give_zeros():
    weight = rl.ones(1, 4, 1, 1, dtype=rl.float64)
    offset = rl.full((2, 2, 7, 8), 1e300, dtype=rl.float64)
    assert not ops.deform_conv2d(images(), offset, weight).any()


def test_autocast_of_deformable_convolution():
    x, weight = images(dtype=rl.float32), rl.ones(2, 4, 2, 2)
    expected = ops.deform_conv2d(x, offsets(1).float(), weight)
    with rl.autocast("cpu", dtype=rl.bfloat16):
        assert rl.equal(ops.deform_conv2d(x, offsets(1).float(), weight), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"offset": rl.zeros(2, 7, 6, 7)}, r"offset.shape\[1\].*multiple of 2 \* 2 \* 2.*7"),
        ({"offset": rl.zeros(2, 8, 5, 7)}, r"offset must have shape \(2, 8, 6, 7\).*5, 7\)"),
        ({"offset": rl.zeros(2, 8, 6, 7).double()}, "offset.*float32.*float64"),
        ({"mask": rl.zeros(2, 3, 6, 7)}, r"mask must have shape \(2, 4, 6, 7\)"),
        ({"bias": rl.zeros(4)}, r"bias must have shape \(3,\)"),
        ({"weight": rl.zeros(3, 3, 2, 2)}, r"weight.shape\[1\]: 4 by 3"),
        ({"weight": rl.zeros(3, 2, 2, 2)}, r"weight.shape\[0\] by the groups: 3 by 2"),
        ({"dilation": 9}, "output would have size"),
        ({"input": rl.zeros(4, 7, 8)}, r"input must have 4 dimensions.*\(4, 7, 8\)"),
    ],
)
def test_shapes_that_do_not_fit(change, words):
    given = {
        "input": rl.zeros(2, 4, 7, 8),
        "offset": rl.zeros(2, 8, 6, 7),
        "weight": rl.zeros(3, 4, 2, 2),
    }
    with pytest.raises(RuntimeError, match=words):
        ops.deform_conv2d(**given | change)
