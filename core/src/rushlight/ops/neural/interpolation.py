"""Resizing of images, sequences and volumes."""

from __future__ import annotations

import math
import warnings

from rushlight.dtypes import COMPLEX, FLOAT, float64, uint8
from rushlight.errors import shape_text
from rushlight.kernels.resampling import taps as kernels
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.array_calls import PLAIN_ITEMS
from rushlight.ops._table.aten import RUNS
from rushlight.ops._table.node_names import arguments, words_of
from rushlight.ops._table.op import composite, op
from rushlight.tensor.memory_format import channels_last, channels_last_3d
from rushlight.tensor.tensor import Tensor

PLAIN_ITEMS.add(kernels.Taps)
_NN = {"method": False, "oracle": "nn.functional"}
_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}
_NEAREST = ("nearest", "nearest-exact")


def _samples(make):
    return [
        ((make(2, 3, 5), (kernels.linear(5, 8, False, None, True),)), {}),
        ((make(1, 2, 4, 3), (kernels.nearest(4, 8, None, False), None)), {}),
        (
            (
                make(1, 2, 5, 4),
                (
                    kernels.cubic(5, 3, True, None, True),
                    kernels.antialiased(4, 2, False, None, True, 1),
                ),
            ),
            {},
        ),
    ]


def _meta_sizes(shape, maps):
    return tuple(n if m is None else len(m) for n, m in zip(shape[2:], maps, strict=True))


def _meta(input, maps, form=None):
    return (*input.shape[:2], *_meta_sizes(input.shape, maps)), dtype_of(input)


def _form_of(node):
    """Mode, `antialias`, `align_corners` and factors of a call; None of a gradient's."""
    return arguments(node)[2]


def _name(node):
    form = _form_of(node)
    if form is None:
        return "UpsampleBackward0"
    mode, antialias, *_ = form
    word = words_of(mode.replace("-", "_"))
    return f"Upsample{word}{len(form[3])}D{'Aa' * antialias}Backward0"


def _scale(dim):
    return lambda read: read("form")[3][dim]


_SCALES = ("scales:", "scales_h: scales_w:", "scales_d: scales_h: scales_w:")


def _kept(node):
    form = _form_of(node)
    if form is None:
        return ""
    corners = "" if form[0] in _NEAREST else "align_corners: "
    return f"{corners}output_size: self_sym_sizes {_SCALES[len(form[3]) - 1]}"


_KEPT_AS = {
    "align_corners": lambda read: bool(read("form")[2]),
    "output_size": lambda read: _meta_sizes(read("self_sym_sizes"), read("maps")),
    "scales": _scale(-1),
    "scales_d": _scale(-3),
    "scales_h": _scale(-2),
    "scales_w": _scale(-1),
}


@op(
    linear=True,
    batching="rows",
    keeps_format=(4, 5),
    method=False,
    samples=_samples,
    meta=_meta,
    node=_name,
    saves=_kept,
    saves_as=_KEPT_AS,
)
def _resample(input: Tensor, maps, form=None):
    """(N, C, ...) with each spatial dimension mapped by its taps; `form` is what was asked for:
    ``(mode, antialias, align_corners, factors)``."""
    return kernels.resample(input, maps)


_resample.gradient(
    input=lambda grad, maps: _resample(
        grad, tuple(None if m is None else m.transposed() for m in maps)
    )
)


def _output_sizes(input, size, scale_factor, recompute):
    """The spatial sizes of the result, and the scale factors that positions are computed with."""
    spatial = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    name = "size" if size is not None else "scale_factor"
    given = list(given) if isinstance(given, (list, tuple)) else [given] * spatial
    if len(given) != spatial:
        raise ValueError(
            f"interpolate: {name} must have one value per spatial dimension; got {given} for input "
            f"of shape {shape_text(input.shape)} with {spatial} spatial dimensions (N, C, ...)"
        )
    if size is not None:
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size (give scale_factor)"
            )
        for value in given:
            if isinstance(value, float) or not hasattr(value, "__index__"):
                raise TypeError(
                    f"interpolate: expected size to be int or a sequence of ints, but got "
                    f"{type(value).__name__} in {given}"
                )
        return [int(n) for n in given], [None] * spatial
    extents = input._array.shape[2:]
    sizes = [math.floor(float(n) * f) for n, f in zip(extents, given, strict=True)]
    return sizes, [None] * spatial if recompute else [float(f) for f in given]


def _check(input, mode, align_corners, antialias):
    if mode in (*_NEAREST, "area"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif mode not in _LINEAR:
        raise NotImplementedError(
            f"interpolate: unknown mode {mode!r}; one of nearest, nearest-exact, area, linear "
            "(3-D input), bilinear, bicubic (4-D), trilinear (5-D) is expected"
        )
    if input.dim() not in (3, 4, 5) or (mode in _LINEAR and input.dim() != _LINEAR[mode]):
        raise NotImplementedError(
            f"interpolate: mode {mode!r} takes "
            f"{f'{_LINEAR[mode]}-D' if mode in _LINEAR else '3-D, 4-D or 5-D'} input (N, C, ...), "
            f"got input of shape {shape_text(input.shape)}"
        )
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input"
        )
    allowed = input._dtype.category == FLOAT or (
        input._dtype is uint8 and mode not in ("linear", "trilinear")
    )
    if input._dtype.category == COMPLEX or (not allowed and mode != "area"):
        raise NotImplementedError(f'"interpolate" ({mode}) not implemented for {input._dtype}')


def _by_sizes(input, sizes):
    """Whether nearest elements go by sizes, whatever the factor, where a size stays or doubles, and
    by float32 factors else: so PyTorch's kernels have it for small images, and for four or more
    channels that are last."""
    if len(sizes) == 2 and sum(sizes) <= 128:
        return True
    last = {2: channels_last, 3: channels_last_3d}.get(len(sizes))
    return last is not None and input.shape[1] > 3 and input.is_contiguous(memory_format=last)


def _nearest_maps(input, sizes, factors, exact):
    by_sizes = _by_sizes(input, sizes)
    real = np.float64 if input._dtype is float64 and not by_sizes else np.float32
    given = zip(input._array.shape[2:], sizes, factors, strict=True)
    return tuple([kernels.nearest(*one, exact, by_sizes, real) for one in given])


def _maps(input, sizes, factors, mode, align_corners, antialias):
    if mode in _NEAREST:
        return _nearest_maps(input, sizes, factors, mode != "nearest")
    double, maps = input._dtype in (float64, uint8), []
    for size, out, factor in zip(input._array.shape[2:], sizes, factors, strict=True):
        settings = (size, out, bool(align_corners), factor, double)
        if antialias:
            maps.append(kernels.antialiased(*settings, 3 if mode == "bicubic" else 1))
        else:
            maps.append((kernels.cubic if mode == "bicubic" else kernels.linear)(*settings))
    return tuple(maps)


# Bytes are rounded between two passes in PyTorch where the processor has AVX2.
_KINDS = {
    ("nearest", 3): "upsample_nearest1d", ("nearest", 4): "upsample_nearest2d",
    ("nearest", 5): "upsample_nearest3d", ("linear", 3): "upsample_linear1d",
    ("bilinear", 4): "upsample_bilinear2d", ("bicubic", 4): "upsample_bicubic2d",
    ("trilinear", 5): "upsample_trilinear3d", ("nearest-exact", 3): "_upsample_nearest_exact1d",
    ("nearest-exact", 4): "_upsample_nearest_exact2d",
    ("nearest-exact", 5): "_upsample_nearest_exact3d",
}  # fmt: skip
_SMOOTHED = {
    ("bilinear", 4): "_upsample_bilinear2d_aa", ("bicubic", 4): "_upsample_bicubic2d_aa",
}  # fmt: skip


def _run_as(kind):
    """ATen's op for a mode and a number of dimensions, by the public function."""
    mode, _ = kind

    def run(input, output_size, *rest):
        align = rest[0] if len(rest) > 1 else None
        factors = rest[-1]
        return interpolate(
            input, None if output_size is None else tuple(output_size),
            None if factors is None else tuple(factors), mode, align,
        )  # fmt: skip

    return run


RUNS.update(zip(_KINDS.values(), map(_run_as, _KINDS), strict=True))


def _resampled(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
               recompute_scale_factor=None, antialias=False):  # fmt: skip
    """ATen's op for a way to resample; None for those that it has not."""
    name = (_SMOOTHED if antialias else _KINDS).get((mode, input.dim()))
    if name is None:
        return None
    count = input.dim() - 2
    given = {"input": input, "output_size": None, "scale_factors": None}
    if recompute_scale_factor:
        sizes, _ = _output_sizes(input, size, scale_factor, True)
        given["output_size"] = list(sizes)
    elif size is not None:
        given["output_size"] = list(size) if isinstance(size, tuple | list) else [size] * count
    else:
        factors = scale_factor if isinstance(scale_factor, tuple | list) else [scale_factor] * count
        given["scale_factors"] = [float(f) for f in factors]
    if not mode.startswith("nearest"):
        given["align_corners"] = bool(align_corners)
    return name, given


@composite(
    schemas=(
        "upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
        "Tensor",
        "upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
        "Tensor",
        "upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> "
        "Tensor",
        "upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? "
        "scale_factors) -> Tensor",
        "upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        "upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        "upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        "_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        "_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor",
        "_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
        "_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
        "_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? "
        "scale_factors) -> Tensor",
    ),
    aten_call=_resampled,
    differs=("uint8",),
    samples=lambda make: [
        (make(1, 2, 4), 6),
        (make(1, 1, 4, 5), (3, 6), None, "bicubic", False),
        (make(1, 2, 3, 4), None, 2, "bilinear", True),
        (make(1, 1, 2, 3, 2), 2, None, "trilinear"),
    ],
    **_NN,
)
def interpolate(
    input: Tensor,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize (N, C, L), (N, C, H, W) or (N, C, D, H, W) to `size` or by `scale_factor`.

    Modes: ``"nearest"``, ``"nearest-exact"``, ``"area"``, ``"linear"`` (3-D), ``"bilinear"`` and
    ``"bicubic"`` (4-D), ``"trilinear"`` (5-D). `align_corners` maps the outermost elements onto
    each other; `antialias` widens the filter when shrinking; `recompute_scale_factor` takes the
    factor from the rounded sizes.

    >>> rushlight.nn.functional.interpolate(rushlight.arange(3.0).reshape(1, 1, 3), scale_factor=2)
    tensor([[[0., 0., 1., 1., 2., 2.]]])
    """
    _check(input, mode, align_corners, antialias)
    sizes, factors = _output_sizes(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        from rushlight.ops.neural import pooling

        pool = getattr(pooling, f"adaptive_avg_pool{input.dim() - 2}d")
        return pool(input, tuple(sizes))
    if 0 in input._array.shape[1:] or min(sizes) < 1:
        raise RuntimeError(
            f"interpolate: Input and output sizes should be greater than 0, but got input "
            f"{shape_text(input.shape)} and output {sizes}"
        )
    maps = _maps(input, sizes, factors, mode, align_corners, antialias)
    return _resample(input, maps, (mode, antialias, align_corners, tuple(factors)))


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of :func:`interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``"nearest"``."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """:func:`interpolate` with mode ``"bilinear"`` and aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _deprecated(name):
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=3,
    )
