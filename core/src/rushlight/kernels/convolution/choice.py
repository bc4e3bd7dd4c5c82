"""Convolution over one, two or three spatial dims: forward, input gradient, weight gradient.

Arrays are channels-first, (N, C, *spatial); weights (O, C / groups, *kernel). float32 over one or
two dims runs on the tile kernels (:mod:`direct`), stride-1 3x3 with at least 32 channels on both
sides by Winograd F(4x4, 3x3) or F(2x2, 3x3) (:mod:`winograd`; ``RUSHLIGHT_WINOGRAD=2`` leaves the
second, whose errors are those of the sum itself, 0 turns both off), dilated ones by their
sub-images (:mod:`dilated`) or, where most of what windows meet is padding, tap by tap
(:mod:`live_taps`), and so does float32 over three dims, whose taps along the depth become
channels (:mod:`depth`). Everything else gathers windows into columns and multiplies matrices
(:mod:`columns_product`).
"""

from __future__ import annotations

import functools
import math
import os

from rushlight.kernels.convolution import columns_product, depth, dilated, whole_windows
from rushlight.kernels.convolution.columns_product import output_size
from rushlight.kernels.convolution.groups import (
    channel_slices,
    of_all_groups,
    output_slices,
    with_epilogues,
)
from rushlight.kernels.convolution.pointwise import bfloat16_pixels
from rushlight.kernels.convolution.reference import (
    check,
    check_gradient,
    forward_reference,
    input_gradient_reference,
    transposed_reference,
    weight_gradient_reference,
)
from rushlight.kernels.copying.conversion import cast
from rushlight.kernels.launch.execution import (
    FLOAT32,
    FLOAT64,
    compute_array,
    is_low_precision,
    referenced_by,
)
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import np
from rushlight.machine.memory import empty

__all__ = ["convolution_forward", "convolution_input_gradient", "convolution_weight_gradient"]

_WINOGRAD = int(os.environ.get("RUSHLIGHT_WINOGRAD", "4"))  # largest tile of outputs; 0: none
_WINOGRAD_CHANNELS = 32
_DEPTHWISE_TAPS = 64  # more taps than these are not worth unrolled code
_plans = Remembered()
_ready = Remembered()  # by shapes that were seen before: the result's, and what runs them


def forget_plans():
    """Plan every convolution anew."""
    _plans.clear()
    _ready.clear()


def _is_plain(array):
    return array.dtype is FLOAT32 and array.flags.c_contiguous


# ---- tile paths ----------------------------------------------------------------------------------


def _as_two_dims(arrays, weight_shape, stride, padding, dilation):
    """A convolution over one dim, or over three where two can be one, as one over two; else None.

    ``arrays`` are all arrays of the convolution, in any order.
    """
    if arrays[0].ndim == 4:
        return *arrays, stride, padding, dilation
    if arrays[0].ndim == 5:
        return depth.as_two_dims(arrays, weight_shape[2:], stride, padding, dilation)
    lifted = (a.reshape(*a.shape[:2], 1, a.shape[2]) for a in arrays)
    return *lifted, (1, *stride), (0, *padding), (1, *dilation)


def _is_winograd(kernel, c, o, stride, padding, dilation, groups, size):
    return (
        _WINOGRAD > 0
        and kernel == (3, 3)
        and stride == dilation == (1, 1)
        and groups == 1
        and max(padding) <= 2
        and min(c, o) >= _WINOGRAD_CHANNELS
        and min(size) >= 2
    )


def _is_parted(kind, n, c, o, size, kernel, stride, padding, dilation, groups):
    """Whether a plan of this kind is to be that of sub-images, which Winograd's way suits."""
    if not dilated.parts(stride, padding, dilation):
        return False
    d = dilation[0]
    part, padding = (tuple(-(-v // d) for v in values) for values in (size, padding))
    if not _is_winograd(kernel, c, o, stride, padding, (1, 1), groups, part):
        return False
    tile = _winograd_tile(n * d * d, part, 8)
    multiplied = d * d * math.prod(-(-s // tile) for s in part) * (tile + 2) ** 2
    return kind.fits(n * d * d * math.prod(part), c, o, multiplied / (9 * math.prod(size)))


def _tap_by_tap(kind, sizes, windows, groups, planes):
    """The plan of this kind tap by tap, or None where others are faster."""
    from rushlight.kernels.convolution import live_taps

    if groups > 1 or planes == 1 or not live_taps.fits(*sizes[1:], windows):
        return None
    return getattr(live_taps, kind)(*sizes, windows)


def _winograd_tile(n, size, fewest):
    """Outputs along each side of a tile: 4 where that saves a quarter of the multiplications.

    With fewer than ``fewest`` tiles the weights, 2.25 times as many with larger tiles, cost more.
    """
    large, small = (n * math.prod(-(-s // tile) for s in size) for tile in (4, 2))
    return 4 if _WINOGRAD != 2 and large >= fewest and 36 * large <= 12 * small else 2


def _build_forward(n, c, image, o, kernel, stride, padding, dilation, groups, flipped=False,
                   planes=3, direct=False):  # fmt: skip
    """``flipped``: the weight is that of the convolution whose input gradient this is.

    ``planes``: 1 where values have no more bits than bfloat16. ``direct``: nothing but sums of
    products, which carry infinities and NaN as they should.
    """
    if not flipped and whole_windows.fits(image, kernel, padding, dilation, groups):
        return whole_windows.Forward
    size = output_size(image, kernel, stride, padding, dilation)
    windows = kernel, stride, padding, dilation
    if not flipped:
        found = _tap_by_tap("Forward", (n, c, image, o, size), windows, groups, planes)
        if found is not None:
            return found

    @functools.cache
    def build_direct():
        return _build_forward(n, c, image, o, kernel, stride, padding, dilation, groups, flipped,
                              direct=True)  # fmt: skip

    is_winograd = _is_winograd(kernel, c, o, stride, padding, dilation, groups, size)
    if groups == 1 and not direct:
        from rushlight.kernels.convolution import gathered, spans

        if gathered.suits_forward(
            n, c, image, o, size, kernel, stride, padding, flipped, is_winograd, planes
        ):
            return gathered.Forward(
                n, c, image, o, size, kernel, stride, padding, dilation, flipped, planes,
                build_direct,
            )  # fmt: skip
        sizes = n, c, image, o, size
        length = 0 if flipped else spans.length_of_spans(sizes, windows, planes)
        if length:
            return spans.Forward(sizes, windows, length, lambda image: (
                _build_forward(n, c, image, o, kernel, stride, (0, 0), dilation, 1, False, planes)
            ))  # fmt: skip
    parted = dilated.Forward
    if not direct and _is_parted(parted, n, c, o, size, kernel, stride, padding, dilation, groups):
        return parted(n, c, image, o, size, padding, dilation[0], lambda n, image, padding: (
            _build_forward(n, c, image, o, kernel, stride, padding, (1, 1), 1, flipped, planes)
        ))  # fmt: skip
    if is_winograd and not direct:
        from rushlight.kernels.convolution.winograd import Forward

        return Forward(n, c, image, o, padding, flipped, _winograd_tile(n, size, 8), build_direct)
    from rushlight.kernels.convolution import patches, pointwise
    from rushlight.kernels.convolution import planes as plane_convolution

    if groups == 1 and not direct:
        if not flipped and patches.fits(c, kernel, stride, padding, dilation):
            whole = patches.RowsForward.fits(n, o, size)
            kind = patches.RowsForward if whole else patches.Forward
            return kind(n, c, image, o, kernel, size)
        if pointwise.fits(c, image, o, kernel, stride, padding):
            return pointwise.Forward(n, c, image, o, flipped)
        if plane_convolution.fits(c, image, o, kernel, stride, padding):
            sizes = (n, c, image, o, size, kernel)
            return plane_convolution.Forward(*sizes, stride, padding, dilation, flipped)
    if groups > 1:
        if plane_convolution.fits(c // groups, image, o // groups, kernel, stride, padding):
            sizes = (n, c // groups, image, o // groups, size, kernel)
            return plane_convolution.Forward(*sizes, stride, padding, dilation, flipped, groups)
    from rushlight.kernels.convolution.direct import Forward

    return Forward(n, c // groups, image, o // groups, kernel, stride, padding, dilation, flipped,
                   c, o)  # fmt: skip


def _build_input_gradient(n, c, image, o, kernel, stride, padding, dilation, groups, planes=3):
    """None where only the generic path can do it."""
    if whole_windows.fits(image, kernel, padding, dilation, groups):
        return whole_windows.InputGradient
    size = output_size(image, kernel, stride, padding, dilation)
    windows = kernel, stride, padding, dilation
    found = _tap_by_tap("InputGradient", (n, c, image, o, size), windows, groups, planes)
    if found is not None:
        return found
    back = tuple(d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding, strict=True))
    if stride == (1, 1) and min(back) >= 0:
        return _build_forward(n, o, size, c, kernel, stride, back, dilation, groups, True,
                              planes)  # fmt: skip
    if groups == 1:
        from rushlight.kernels.convolution import patches

        if patches.fits(c, kernel, stride, padding, dilation):
            return patches.InputGradient(n, c, image, o, kernel, size)
    if dilation == (1, 1) and all(p < k for p, k in zip(padding, kernel, strict=True)):
        from rushlight.kernels.convolution.direct import InputGradient

        return InputGradient(n, c // groups, image, o // groups, kernel, stride, padding, groups)
    return None


def _build_weight_gradient(n, c, image, o, kernel, stride, padding, dilation, groups, planes=3,
                           direct=False):  # fmt: skip
    if whole_windows.fits(image, kernel, padding, dilation, groups):
        return whole_windows.WeightGradient
    size = output_size(image, kernel, stride, padding, dilation)
    windows = kernel, stride, padding, dilation
    found = _tap_by_tap("WeightGradient", (n, c, image, o, size), windows, groups, planes)
    if found is not None:
        return found

    @functools.cache
    def build_direct():
        return _build_weight_gradient(n, c, image, o, kernel, stride, padding, dilation, groups,
                                      direct=True)  # fmt: skip

    is_winograd = _is_winograd(kernel, c, o, stride, padding, dilation, groups, size)
    if groups == 1 and not direct:
        from rushlight.kernels.convolution import gathered

        if gathered.suits_weight_gradient(
            n, c, image, o, size, kernel, stride, padding, is_winograd, planes
        ):
            return gathered.WeightGradient(
                n, c, image, o, size, kernel, stride, padding, dilation, planes, build_direct
            )
    parted = dilated.WeightGradient
    if not direct and _is_parted(parted, n, c, o, size, kernel, stride, padding, dilation, groups):
        return parted(n, c, image, o, size, padding, dilation[0], lambda n, image, padding: (
            _build_weight_gradient(n, c, image, o, kernel, stride, padding, (1, 1), 1, planes)
        ))  # fmt: skip
    if groups == 1:
        from rushlight.kernels.convolution import patches
        from rushlight.kernels.convolution import planes as plane_convolution

        if patches.fits(c, kernel, stride, padding, dilation):
            return patches.WeightGradient(n, c, image, o, kernel, size)
        few = c == 1 or c <= 4 and o <= 16  # others fill the vectors of the direct way
        if few and plane_convolution.fits(c, image, o, kernel, stride, padding):
            from rushlight.kernels.convolution.plane_gradient import WeightGradient

            return WeightGradient(n, c, image, o, size, kernel, stride, padding, dilation)
    if is_winograd and not direct:
        from rushlight.kernels.convolution.winograd import WeightGradient

        return WeightGradient(n, c, image, o, padding, _winograd_tile(n, size, 17), build_direct)
    from rushlight.kernels.convolution import pointwise

    if groups == 1 and pointwise.fits_weight_gradient(c, o, kernel, stride, padding):
        return pointwise.WeightGradient
    from rushlight.kernels.convolution.direct_weight_gradient import WeightGradient

    return WeightGradient(n, c // groups, image, o // groups, kernel, stride, padding, dilation,
                          groups)  # fmt: skip


def _depthwise(kind, dtype, x_shape, w_shape, stride, padding, dilation):
    from rushlight.kernels.convolution import depthwise

    (n, c, *image), taps = x_shape, w_shape[2:]
    size = output_size(image, taps, stride, padding, dilation)
    build = getattr(depthwise, kind)
    return build(dtype, n, c, image, w_shape[0], size, taps, stride, padding, dilation)


def _planned_depthwise(kind, image, weight, stride, padding, dilation):
    """A plan of :mod:`depthwise`."""
    key = (kind, image.dtype, image.shape, weight.shape, stride, padding, dilation)
    shapes = image.dtype, image.shape, weight.shape
    return _plans.built(key, lambda: _depthwise(kind, *shapes, stride, padding, dilation))


def _is_depthwise(c, weight_shape, groups):
    """Every output channel reads one input channel, and there is more than one."""
    return groups > 1 and groups == c and weight_shape[2] * weight_shape[3] <= _DEPTHWISE_TAPS


def _is_compiled(dtype, c, weight_shape, groups):
    """Whether there are kernels: for all of float32, and for float64 by depth over a plane."""
    if dtype == FLOAT32:
        return True
    flat = len(weight_shape) < 5
    return flat and _is_depthwise(c, (*weight_shape, 1), groups)


def _run_doubles(x, w, bias, out, stride, padding, dilation, groups, flipped=False):
    """Run the plan of a float64 convolution, or (``flipped``) of an input gradient at stride 1;
    False where there is none. Over one or two dims."""
    if x.ndim > 4:
        return False
    x, w, out, *settings = _as_two_dims((x, w, out), w.shape, stride, padding, dilation)
    key = ("doubles", x.shape, w.shape, *settings, groups, flipped)
    plan = _plans.built(key, lambda: _build_doubles(x.shape, w.shape, out.shape, *settings, groups,
                                                flipped))  # fmt: skip
    if plan is not None:
        row = None if bias is None else compute_array(bias)
        plan.run(compute_array(x), compute_array(w), out, row)
    return plan is not None


def _build_doubles(x_shape, w_shape, out_shape, stride, padding, dilation, groups, flipped):
    from rushlight.kernels.convolution import planes as plane_convolution

    (n, c, *image), (o, *size) = x_shape, out_shape[1:]
    c, o, kernel = c // groups, o // groups, w_shape[2:]
    if not plane_convolution.fits_double(c, image, o, size, kernel, stride, padding):
        return None
    sizes = (n, c, image, o, size, kernel)
    return plane_convolution.Forward(*sizes, stride, padding, dilation, flipped, groups, FLOAT64)


# ---- public --------------------------------------------------------------------------------------


def _planes(dtype):
    """bfloat16 pieces that values of this dtype have when they are float32."""
    return 1 if dtype.itemsize == 2 and dtype.kind == "V" else 3


def _wide_dtype(dtype):
    """dtype to compute in, or None where arrays can stay as they are."""
    if dtype in (FLOAT32, FLOAT64):
        return None
    return FLOAT32 if is_low_precision(dtype) else FLOAT64


@referenced_by(forward_reference)
def convolution_forward(input, weight, bias, stride, padding, dilation, groups, planes=3):
    """Cross-correlation of input (N, C, *S) with weight (O, C / groups, *K), plus bias (O,).

    ``stride``, ``padding`` (both sides) and ``dilation`` are tuples of one int per spatial dim.
    ``planes`` 1 says that values have 8 bits at most (they were bfloat16). Raises ValueError when
    shapes do not fit.
    """
    key = "forward", input.shape, weight.shape, stride, padding, dilation, groups, planes
    ready = _ready.get(key)
    if ready is not None and all(a is None or _is_plain(a) for a in (input, weight, bias)):
        out = empty(ready[0], FLOAT32)
        ready[1](input, weight, out, bias)
        return out
    args = (stride, padding, dilation, groups)
    size = check("convolution", input.shape, weight.shape, *args)
    wide = _wide_dtype(input.dtype)
    if wide is not None:
        found = bfloat16_pixels(input, weight, bias, stride, padding, groups, False)
        if found is not None:
            return found
        wide_bias = None if bias is None else cast(bias, wide)
        planes = _planes(input.dtype)
        found = convolution_forward(cast(input, wide), cast(weight, wide), wide_bias, *args, planes)
        return cast(found, input.dtype)
    n, c = input.shape[:2]
    o = weight.shape[0]
    if n == 0 or c == 0:
        out = np.zeros((n, o, *size), input.dtype)
    elif _is_compiled(input.dtype, c, weight.shape, groups):
        out = empty((n, o, *size), input.dtype)
        x, w, row = (None if v is None else compute_array(v) for v in (input, weight, bias))
        if x.ndim == 4 and input.dtype == FLOAT32:
            run = _tile_runner(x, w, *args, planes)
            _ready.keep(key, (out.shape, run))
            run(x, w, out, row)
        else:
            _tile_forward(x, w, row, out, *args, planes)
        return out
    else:
        out = empty((n, o, *size), input.dtype)
        if _run_doubles(input, weight, bias, out, *args):
            return out
        out = columns_product.forward(input, weight, *args)
    if bias is not None:
        with np.errstate(all="ignore"):  # infinity minus infinity is NaN, as it should
            out += bias.reshape(-1, *[1] * len(size))
    return out


def convolution_then(input, weight, bias, stride, padding, dilation, groups, epilogue):
    """:func:`convolution_forward` of float32, then an epilogue
    (:mod:`rushlight.kernels.gemm.epilogues`) in place: by the threads that have just computed a
    part where the plan knows how."""
    key = "forward", input.shape, weight.shape, stride, padding, dilation, groups, 3
    ready = _ready.get(key)
    if ready is None or not all(a is None or _is_plain(a) for a in (input, weight, bias)):
        out = convolution_forward(input, weight, bias, stride, padding, dilation, groups)
        epilogue.run(out)
        return out
    out = empty(ready[0], FLOAT32)
    ready[1](input, weight, out, bias, epilogue)
    return out


def _tile_forward(x, w, bias, out, stride, padding, dilation, groups, planes=3):
    two = _as_two_dims((x, w, out), w.shape, stride, padding, dilation)
    if two is None:
        depth.forward(_tile_forward, x, w, bias, out, stride, padding, dilation, groups,
                                  planes)  # fmt: skip
        return
    x, w, out, stride, padding, dilation = two
    _tile_runner(x, w, stride, padding, dilation, groups, planes)(x, w, out, bias)


def _tile_runner(x, w, stride, padding, dilation, groups, planes=3):
    """``run(x, w, out, bias, *epilogue)`` of a convolution over two dims."""
    if _is_depthwise(x.shape[1], w.shape, groups):
        return _planned_depthwise("Forward", x, w, stride, padding, dilation).run
    plan = tile_plan(x.shape, w.shape, stride, padding, dilation, groups, planes)
    return with_epilogues(plan, groups)


def tile_plan(x_shape, w_shape, stride, padding, dilation, groups, planes=3):
    """The plan of a convolution over two dims that is not by depth."""
    key = ("forward", x_shape, w_shape, stride, padding, dilation, groups, planes)
    n, c = x_shape[:2]
    sizes, window = (n, c, x_shape[2:], w_shape[0], w_shape[2:]), (stride, padding, dilation)
    return _plans.built(key, lambda: _build_forward(*sizes, *window, groups, False, planes))


@referenced_by(input_gradient_reference)
def convolution_input_gradient(grad, weight, input_shape, stride, padding, dilation, groups,
                               planes=3):  # fmt: skip
    """Gradient of :func:`convolution_forward` with respect to its input, of ``input_shape``."""
    input_shape = tuple(input_shape)
    key = ("input", grad.shape, weight.shape, input_shape, stride, padding, dilation, groups,
           planes)  # fmt: skip
    run = _ready.get(key)
    if run is not None and _is_plain(grad) and _is_plain(weight):
        out = empty(input_shape, FLOAT32)
        run(grad, weight, out, None)
        return out
    args = (stride, padding, dilation, groups)
    size = check("convolution_input_gradient", input_shape, weight.shape, *args)
    check_gradient("convolution_input_gradient", grad, (input_shape[0], weight.shape[0], *size))
    wide = _wide_dtype(grad.dtype)
    if wide is not None:
        found = bfloat16_pixels(grad, weight, None, stride, padding, groups, True)
        if found is not None:
            return found
        planes = _planes(grad.dtype)
        found = convolution_input_gradient(
            cast(grad, wide), cast(weight, wide), input_shape, *args, planes
        )
        return cast(found, grad.dtype)
    if 0 in input_shape or weight.shape[0] == 0:
        return np.zeros(input_shape, grad.dtype)
    if _is_compiled(grad.dtype, input_shape[1], weight.shape, groups):
        out = empty(input_shape, grad.dtype)
        dy, w = compute_array(grad), compute_array(weight)
        if grad.ndim == 4 and grad.dtype == FLOAT32:
            run = _input_gradient_runner(dy, w, out, *args, planes)
            if run is not None:
                _ready.keep(key, run)(dy, w, out, None)
                return out
        elif _tile_input_gradient(dy, w, out, *args, planes):
            return out
    reach = zip(weight.shape[2:], dilation, padding, strict=True)
    back = tuple(d * (k - 1) - p for k, d, p in reach)
    if max(stride) == 1 and min(back) >= 0:
        out = empty(input_shape, grad.dtype)
        if _run_doubles(grad, weight, None, out, stride, back, dilation, groups, True):
            return out
    return columns_product.input_gradient(grad, weight, input_shape, *args)


@referenced_by(transposed_reference)
def transposed_convolution(input, weight, bias, shape, stride, padding, dilation, groups):
    """The transpose of a convolution with a bias, of ``shape``: half-width numbers are rounded
    once, after the bias."""
    wide = _wide_dtype(input.dtype) or input.dtype
    planes = _planes(input.dtype) if wide != input.dtype else 3
    found = convolution_input_gradient(
        cast(input, wide), cast(weight, wide), shape, stride, padding, dilation, groups, planes
    )
    found += cast(bias, wide).reshape(-1, *(1,) * (len(shape) - 2))
    return cast(found, input.dtype)


def _tile_input_gradient(dy, w, out, stride, padding, dilation, groups, planes=3):
    two = _as_two_dims((dy, w, out), w.shape, stride, padding, dilation)
    if two is None:
        return depth.input_gradient(_tile_input_gradient, dy, w, out, stride, padding,
                                                dilation, groups, planes)  # fmt: skip
    dy, w, out, stride, padding, dilation = two
    run = _input_gradient_runner(dy, w, out, stride, padding, dilation, groups, planes)
    if run is not None:
        run(dy, w, out, None)
    return run is not None


def _input_gradient_runner(dy, w, out, stride, padding, dilation, groups, planes=3):
    """``run(dy, w, out, None)`` of the gradient over two dims; None where only the generic path can
    do it."""
    if _is_depthwise(out.shape[1], w.shape, groups):
        plan = _planned_depthwise("InputGradient", out, w, stride, padding, dilation)
        return lambda dy, w, out, _: plan.run(dy, w, out)
    key = ("input", out.shape, w.shape, stride, padding, dilation, groups, planes)
    n, c = out.shape[:2]
    plan = _plans.built(key, lambda: _build_input_gradient(n, c, out.shape[2:], w.shape[0],
                                                       w.shape[2:], stride, padding, dilation,
                                                       groups, planes))  # fmt: skip
    return None if plan is None else of_all_groups(plan, groups)


@referenced_by(weight_gradient_reference)
def convolution_weight_gradient(grad, input, weight_shape, stride, padding, dilation, groups,
                                planes=3):  # fmt: skip
    """Gradient of :func:`convolution_forward` with respect to its weight, of ``weight_shape``."""
    weight_shape = tuple(weight_shape)
    key = ("weight", grad.shape, input.shape, weight_shape, stride, padding, dilation, groups,
           planes)  # fmt: skip
    run = _ready.get(key)
    if run is not None and _is_plain(grad) and _is_plain(input):
        out = empty(weight_shape, FLOAT32)
        run(input, grad, out)
        return out
    args = (stride, padding, dilation, groups)
    size = check("convolution_weight_gradient", input.shape, weight_shape, *args)
    check_gradient("convolution_weight_gradient", grad, (input.shape[0], weight_shape[0], *size))
    wide = _wide_dtype(grad.dtype)
    if wide is not None:
        planes = _planes(grad.dtype)
        found = convolution_weight_gradient(
            cast(grad, wide), cast(input, wide), weight_shape, *args, planes
        )
        return cast(found, grad.dtype)
    if 0 in input.shape or 0 in weight_shape:
        return np.zeros(weight_shape, grad.dtype)
    if _is_compiled(grad.dtype, input.shape[1], weight_shape, groups):
        out = empty(weight_shape, grad.dtype)
        dy, x = compute_array(grad), compute_array(input)
        if grad.ndim == 4 and grad.dtype == FLOAT32:
            run = _weight_gradient_runner(x, out, *args, planes)
            _ready.keep(key, run)(x, dy, out)
        else:
            _tile_weight_gradient(dy, x, out, *args, planes)
        return out
    return columns_product.weight_gradient(grad, input, weight_shape, *args)


def _tile_weight_gradient(dy, x, out, stride, padding, dilation, groups, planes=3):
    two = _as_two_dims((dy, x, out), out.shape, stride, padding, dilation)
    if two is None:
        depth.weight_gradient(_tile_weight_gradient, dy, x, out, stride, padding,
                                          dilation, groups, planes)  # fmt: skip
        return
    dy, x, out, stride, padding, dilation = two
    _weight_gradient_runner(x, out, stride, padding, dilation, groups, planes)(x, dy, out)


def _weight_gradient_runner(x, out, stride, padding, dilation, groups, planes=3):
    """``run(x, dy, out)`` of the gradient over two dims."""
    if _is_depthwise(x.shape[1], out.shape, groups):
        return _planned_depthwise("WeightGradient", x, out, stride, padding, dilation).run
    key = ("weight", x.shape, out.shape, stride, padding, dilation, groups, planes)
    n, c = x.shape[:2]
    plan = _plans.built(key, lambda: _build_weight_gradient(n, c, x.shape[2:], out.shape[0],
                                                        out.shape[2:], stride, padding, dilation,
                                                        groups, planes))  # fmt: skip
    if groups == 1:
        return plan.run

    def run(x, dy, out):
        for part in zip(channel_slices(x, groups), channel_slices(dy, groups),
                        output_slices(out, groups), strict=True):  # fmt: skip
            plan.run(*part)

    return run
