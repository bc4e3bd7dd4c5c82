"""Activations, products, convolutions, attention, resampling."""

from __future__ import annotations

import math

import rushlight
from rushlight.onnx._registry import aten
from rushlight.onnx._translations.elementwise import log1p_of, negative
from rushlight.onnx._types import number_of


# ------------------------------------------------------------------------------------- activations
@aten("gelu")
def gelu(g, self, approximate="none"):
    if g.opset >= 20:
        return g.op("Gelu", self, approximate=approximate)
    x = self
    if approximate == "tanh":
        cube = g.op("Mul", g.op("Mul", x, x), x)
        inner = g.op("Add", x, g.op("Mul", cube, g.like(0.044715, x)))
        bell = g.op("Tanh", g.op("Mul", inner, g.like(math.sqrt(2 / math.pi), x)))
    else:
        bell = g.op("Erf", g.op("Mul", x, g.like(math.sqrt(0.5), x)))
    return g.op("Mul", g.op("Mul", x, g.op("Add", bell, g.like(1, x))), g.like(0.5, x))


@aten("silu")
def silu(g, self):
    return g.op("Mul", self, g.op("Sigmoid", self))


@aten("mish")
def mish(g, self):
    if g.opset >= 18:
        return g.op("Mish", self)
    return g.op("Mul", self, g.op("Tanh", g.op("Softplus", self)))


@aten("elu")
def elu(g, self, alpha=1, scale=1, input_scale=1):
    x = self if input_scale == 1 else g.op("Mul", self, g.like(input_scale, self))
    found = g.op("Elu", x, alpha=float(alpha))
    return found if scale == 1 else g.op("Mul", found, g.like(scale, self))


@aten("celu")
def celu(g, self, alpha=1.0):
    return (
        g.op("Celu", self, alpha=float(alpha))
        if self.dtype is rushlight.float32
        else _celu(g, self, alpha)
    )


def _celu(g, x, alpha):
    below = g.op("Elu", g.op("Div", x, g.like(alpha, x)), alpha=1.0)
    return g.op("Where", negative(g, x), g.op("Mul", below, g.like(alpha, x)), x, dtype=x.dtype)


@aten("selu")
def selu(g, self):
    return g.op("Selu", self, alpha=1.6732632423543772, gamma=1.0507009873554805)


@aten("leaky_relu")
def leaky_relu(g, self, negative_slope=0.01):
    return g.op("LeakyRelu", self, alpha=float(negative_slope))


@aten("prelu")
def prelu(g, self, weight):
    slope = weight
    if self.rank > 2 and weight.meta is not None and weight.meta.numel() > 1:
        slope = g.reshape(weight, [-1, *[1] * (self.rank - 2)])
    return g.op("PRelu", self, slope)


@aten("hardtanh")
def hardtanh(g, self, min_val=-1, max_val=1):
    return g.op("Min", g.op("Max", self, g.like(min_val, self)), g.like(max_val, self))


@aten("relu6")
def relu6(g, self):
    return hardtanh(g, self, 0, 6)


@aten("hardsigmoid")
def hardsigmoid(g, self):
    return g.op("HardSigmoid", self, alpha=1 / 6, beta=0.5)


@aten("hardswish")
def hardswish(g, self):
    return g.op("Mul", self, hardsigmoid(g, self))


@aten("hardshrink")
def hardshrink(g, self, lambd=0.5):
    small = g.op("LessOrEqual", g.op("Abs", self), g.like(lambd, self), dtype=rushlight.bool)
    return g.op("Where", small, g.like(0, self), self, dtype=self.dtype)


@aten("softshrink")
def softshrink(g, self, lambd=0.5):
    size = g.op("Max", g.op("Sub", g.op("Abs", self), g.like(lambd, self)), g.like(0, self))
    return g.op("Mul", g.op("Sign", self), size)


@aten("tanhshrink")
def tanhshrink(g, self):
    return g.op("Sub", self, g.op("Tanh", self))


@aten("threshold")
def threshold(g, self, threshold, value):
    above = g.op("Greater", self, g.like(threshold, self), dtype=rushlight.bool)
    return g.op("Where", above, self, g.like(value, self), dtype=self.dtype)


@aten("softplus")
def softplus(g, self, beta=1, threshold=20):
    x = self if beta == 1 else g.op("Mul", self, g.like(beta, self))
    found = g.op("Softplus", x)
    found = found if beta == 1 else g.op("Div", found, g.like(beta, self))
    above = g.op("Greater", x, g.like(threshold, x), dtype=rushlight.bool)
    return g.op("Where", above, self, found, dtype=self.dtype)


@aten("softsign")
def softsign(g, self):
    return g.op("Softsign", self)


@aten("log_sigmoid", "logsigmoid")
def log_sigmoid(g, self):
    tail = log1p_of(g, g.op("Exp", g.op("Neg", g.op("Abs", self))))
    return g.op("Sub", g.op("Min", self, g.like(0, self)), tail)


@aten("glu")
def glu(g, self, dim=-1):
    first, second = g.op("Split", self, *_halves(g, self, dim), outputs=2, axis=dim % self.rank)
    return g.op("Mul", first, g.op("Sigmoid", second))


def _halves(g, x, dim):
    return [g.integers([x.shape[dim] // 2] * 2)]


@aten("softmax.int", "_softmax", "_safe_softmax", "special_softmax")
def softmax(g, self, dim):
    return _normalised(g, "Softmax", self, dim)


@aten("log_softmax.int", "_log_softmax")
def log_softmax(g, self, dim):
    return _normalised(g, "LogSoftmax", self, dim)


def _normalised(g, kind, x, dim):
    (x,) = g.to(g.dtype, x)
    if x.rank == 0:
        return g.squeeze(g.op(kind, g.unsqueeze(x, 0), axis=0), 0)
    return g.op(kind, x, axis=dim % x.rank)


@aten("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(g, input, p, train):
    if not train or p == 0:
        return input
    return _dropped(g, input, p, 1)


def _dropped(g, input, p, outputs):
    ratio = g.constant(p, input.dtype)
    return g.op("Dropout", input, ratio, g.constant(True, rushlight.bool), outputs=outputs)


@aten("native_dropout")
def native_dropout(g, input, p, train):
    if train:
        return _dropped(g, input, p, 2)
    return input, g.op("Expand", g.constant(True, rushlight.bool), g.shape_of(input))


# ----------------------------------------------------------------------------------------- products
@aten("linear")
def linear(g, input, weight, bias=None):
    if weight.rank == 2 and input.rank == 2 and bias is not None and bias.rank == 1:
        return g.op("Gemm", input, weight, bias, transB=1)
    turned = weight
    if weight.rank == 2:
        turned = _turned(g, weight)
    found = g.op("MatMul", input, turned)
    return found if bias is None else g.op("Add", found, bias)


def _turned(g, weight):
    """A matrix on its side: a constant where the matrix is one."""
    if weight.array is not None:
        return g._stored(f"{weight.name}_t", weight.array.T.copy(), weight.dtype)
    return g.transpose(weight, [1, 0])


@aten("matmul", "mm", "bmm", "mv", "dot", "linalg_matmul", "vdot")
def matmul(g, self=None, other=None, mat2=None, vec=None, tensor=None):
    second = next(v for v in (other, mat2, vec, tensor) if v is not None)
    return g.op("MatMul", self, second)


@aten("addmm", "addmv", "baddbmm")
def addmm(
    g, self, mat1=None, mat2=None, mat=None, vec=None, batch1=None, batch2=None, beta=1, alpha=1
):
    first = next(v for v in (mat1, mat, batch1) if v is not None)
    second = next(v for v in (mat2, vec, batch2) if v is not None)
    product = g.op("MatMul", first, second)
    product = product if alpha == 1 else g.op("Mul", product, g.like(alpha, product))
    if beta == 0:
        return product
    return g.op("Add", self if beta == 1 else g.op("Mul", self, g.like(beta, self)), product)


@aten("outer", "ger")
def outer(g, self, vec2):
    return g.op("Mul", g.unsqueeze(self, 1), g.unsqueeze(vec2, 0))


@aten("einsum")
def einsum(g, equation, tensors):
    return g.op("Einsum", *tensors, equation=equation)


@aten("bilinear")
def bilinear(g, input1, input2, weight, bias=None):
    found = g.op("Einsum", input1, weight, input2, equation="...i,oij,...j->...o")
    return found if bias is None else g.op("Add", found, bias)


@aten("tensordot")
def tensordot(g, a, b, dims=2):
    self, other = a, b
    if isinstance(dims, int):
        dims = list(range(self.rank - dims, self.rank)), list(range(dims))
    dims_self, dims_other = dims
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first = [next(letters) for _ in range(self.rank)]
    second = [next(letters) for _ in range(other.rank)]
    for one, two in zip(dims_self, dims_other, strict=True):
        second[two % other.rank] = first[one % self.rank]
    shared = {first[d % self.rank] for d in dims_self}
    result = [c for c in first + second if c not in shared]
    equation = f"{''.join(first)},{''.join(second)}->{''.join(result)}"
    return g.op("Einsum", self, other, equation=equation)


# ------------------------------------------------------------------------------------- convolutions
def spread(value, count):
    """One number for each dimension."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


@aten("conv1d", "conv2d", "conv3d")
def conv(g, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    pads = spread(padding, weight.rank - 2)
    return convolved(g, input, weight, bias, stride, pads + pads, dilation, groups)


@aten("conv1d.padding", "conv2d.padding", "conv3d.padding")
def conv_padding(g, input, weight, bias=None, stride=1, padding="valid", dilation=1, groups=1):
    count = weight.rank - 2
    dilations = spread(dilation, count)
    total = [0] * count
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
    before = [t // 2 for t in total]
    after = [t - b for t, b in zip(total, before, strict=True)]
    return convolved(g, input, weight, bias, stride, before + after, dilation, groups)


def _kernel(weight):
    """The attribute that says a constant weight's sizes; those of an input may differ, and ONNX
    takes the sizes of the weight without it."""
    return {} if weight.array is None else {"kernel_shape": list(weight.shape[2:])}


def convolved(g, x, weight, bias, stride, pads, dilation, groups):
    count = weight.rank - 2
    single = x.rank == count + 1
    x = g.unsqueeze(x, 0) if single else x
    found = g.op(
        "Conv", x, weight, bias, **_kernel(weight), strides=spread(stride, count), pads=pads,
        dilations=spread(dilation, count), group=groups,
    )  # fmt: skip
    return g.squeeze(found, 0) if single else found


_TRANSPOSED = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1, "dilation": 1}


@aten("conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input")
def conv_transpose(g, input, weight, bias=None, *numbers, **named):
    given = _TRANSPOSED | dict(zip(_TRANSPOSED, numbers, strict=False)) | named
    groups = given.pop("groups")
    count = weight.rank - 2
    stride, pads, output_padding, dilation = (spread(each, count) for each in given.values())
    single = input.rank == count + 1
    x = g.unsqueeze(input, 0) if single else input
    found = g.op(
        "ConvTranspose", x, weight, bias, **_kernel(weight),
        strides=stride, pads=pads + pads, dilations=dilation, output_padding=output_padding,
        group=groups,
    )  # fmt: skip
    return g.squeeze(found, 0) if single else found


@aten("convolution")
def convolution(g, input, weight, bias, stride, padding, *rest):
    dilation, transposed, output_padding, groups = rest
    if transposed:
        given = stride, padding, output_padding, groups, dilation
        return conv_transpose(g, input, weight, bias, *given)
    return conv(g, input, weight, bias, stride, padding, dilation, groups)


# ---------------------------------------------------------------------------------------- attention
@aten("scaled_dot_product_attention")
def attention(
    g, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
    enable_gqa=False,
):  # fmt: skip
    if dropout_p:
        raise NotImplementedError("attention with dropout: call eval() first")
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        key, value = (_repeated_heads(g, v, query.shape[-3]) for v in (key, value))
    size = query.shape[-1]
    scale = 1 / math.sqrt(size) if scale is None else scale
    root = g.like(math.sqrt(scale), query)
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    turned = g.transpose(key, order)
    scores = g.op("MatMul", g.op("Mul", query, root), g.op("Mul", turned, root))
    if is_causal:
        scores = _masked(g, scores, _causal(g, query, key), query.dtype)
    if attn_mask is not None:
        scores = (
            _masked(g, scores, attn_mask, query.dtype)
            if attn_mask.dtype is rushlight.bool
            else g.op("Add", scores, attn_mask)
        )
    shares = g.op("Softmax", scores, axis=-1)
    if attn_mask is not None and attn_mask.dtype is rushlight.bool:
        nan = g.op("IsNaN", shares, dtype=rushlight.bool)  # of rows in which nothing is seen
        shares = g.op("Where", nan, g.like(0, query), shares, dtype=query.dtype)
    return g.op("MatMul", shares, value)


def _repeated_heads(g, x, heads):
    times = heads // x.shape[-3]
    wide = g.unsqueeze(x, x.rank - 2)
    repeats = [1] * (x.rank + 1)
    repeats[-3] = times
    return g.reshape(g.op("Tile", wide, g.integers(repeats)), [*x.shape[:-3], heads, *x.shape[-2:]])


def _causal(g, query, key):
    """Where a position of the query sees one of the key."""
    rows, columns = (_positions(g, v) for v in (query, key))
    seen = g.op("Less", g.unsqueeze(rows, 1), g.unsqueeze(columns, 0), dtype=rushlight.bool)
    return g.op("Not", seen, dtype=rushlight.bool)


def _positions(g, x):
    """The positions along the dimension before the last."""
    count = x.shape[-2]
    if type(count) is int:  # a constant, which may be longer at other sizes
        return g.integers(range(count))
    count = g.size(x, x.rank - 2)
    return g.op("Range", g.constant(0, rushlight.int64), count, g.constant(1, rushlight.int64))


def _masked(g, scores, mask, dtype):
    return g.op("Where", mask, scores, g.constant(-math.inf, dtype), dtype=dtype)


# --------------------------------------------------------------------------------------- resampling
_SMOOTH = {"antialias": 1, "exclude_outside": 1}  # weights outside of the picture do not count


def _resized(g, x, mode, how, cubic=None, antialias=0, nearest="floor"):
    sizes = list(g.out.shape)
    scales = None
    options = {"mode": mode, "coordinate_transformation_mode": how, "cubic_coeff_a": cubic}
    if mode == "nearest":
        options["nearest_mode"] = nearest
    if antialias:
        if g.opset < 18:
            raise NotImplementedError("resampling with antialias needs opset_version=18 or later")
        options |= _SMOOTH
    if any(not isinstance(s, int) for s in sizes):
        raise NotImplementedError("resampling to sizes that are not fixed")
    return g.op("Resize", x, None, scales, g.integers(sizes), **options)


def _scaled(g, x, mode, how, factors, **options):
    """By the factors that were given, which say more than the sizes they came to."""
    given = [f for f in factors or () if f]
    if not given or (options.get("antialias") and g.opset < 18):
        return _resized(g, x, mode, how, **options)
    scales = g.constant([1.0, 1.0, *given], rushlight.float32)
    extra = {
        "mode": mode,
        "coordinate_transformation_mode": how,
        "cubic_coeff_a": options.get("cubic"),
    }
    if mode == "nearest":
        extra["nearest_mode"] = options.get("nearest", "floor")
    if options.get("antialias"):
        extra |= _SMOOTH
    return g.op("Resize", x, None, scales, **extra)


@aten("_upsample_nearest_exact1d.vec", "_upsample_nearest_exact2d.vec",
      "_upsample_nearest_exact3d.vec")  # fmt: skip
def upsample_nearest_exact(g, input, output_size=None, scale_factors=None):
    return _scaled(g, input, "nearest", "half_pixel", scale_factors, nearest="round_prefer_ceil")


@aten("_upsample_bilinear2d_aa.vec")
def upsample_linear_smoothed(g, input, output_size=None, align_corners=False, scale_factors=None):
    how = "align_corners" if align_corners else "half_pixel"
    return _scaled(g, input, "linear", how, scale_factors, antialias=1)


@aten("_upsample_bicubic2d_aa.vec")
def upsample_cubic_smoothed(g, input, output_size=None, align_corners=False, scale_factors=None):
    how = "align_corners" if align_corners else "half_pixel"
    return _scaled(g, input, "cubic", how, scale_factors, cubic=-0.5, antialias=1)


@aten("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec",
      "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")  # fmt: skip
def upsample_nearest(g, self=None, input=None, scale_factors=None, output_size=None):
    x = input if self is None else self
    factors = scale_factors if output_size is None else None
    return _scaled(g, x, "nearest", "asymmetric", factors)


@aten("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec",
      "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")  # fmt: skip
def upsample_linear(
    g, self=None, input=None, align_corners=False, scale_factors=None, output_size=None
):
    x = input if self is None else self
    how = "align_corners" if align_corners else "half_pixel"
    return _scaled(g, x, "linear", how, scale_factors if output_size is None else None)


@aten("upsample_bicubic2d.vec", "upsample_bicubic2d")
def upsample_cubic(
    g, self=None, input=None, align_corners=False, scale_factors=None, output_size=None
):
    x = input if self is None else self
    how = "align_corners" if align_corners else "half_pixel"
    return _scaled(g, x, "cubic", how, scale_factors if output_size is None else None, cubic=-0.75)


@aten("affine_grid_generator")
def affine_grid(g, theta, size, align_corners):
    """Each coordinate is a sum over the axes of the picture, which are spread against each other;
    sizes are whole numbers of the model, so that they may be others at other sizes."""
    axes = len(size) - 2
    found = None
    for axis in range(axes + 1):
        column = g.slice(theta, 2, axis, axis + 1)
        shape = [0, *[1] * axes, axes]
        term = g._add("Reshape", [column, g.integers(shape)], 1, theta.dtype, None, "", {})
        if axis < axes:
            line = _axis_positions(g, size[-1 - axis], align_corners, theta.dtype)
            term = g.op("Mul", term, g.reshape(line, [-1, *[1] * (axis + 1)]))
        found = term if found is None else g.op("Add", found, term)
    return found


def _axis_positions(g, size, align_corners, dtype):
    """Positions from -1 to 1 along an axis: of the centres of its elements, or of its ends."""
    last = g.constant(size - 1, rushlight.int64)
    twice = g.op("Mul", g.integers(range(size)), g.constant(2, rushlight.int64))
    one = g.constant(1, rushlight.int64)
    count = g.op("Max", last, one) if align_corners else g.constant(size, rushlight.int64)
    return g.op("Div", *(g.op("Cast", v, dtype=dtype, to=number_of(dtype))
                         for v in (g.op("Sub", twice, last), count)))  # fmt: skip


@aten("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(g, input, grid, interpolation_mode, padding_mode, align_corners):
    if g.opset < 16:
        raise NotImplementedError("grid_sample needs opset_version=16 or later")
    names = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return g.op(
        "GridSample", input, grid, mode=names[interpolation_mode],
        padding_mode=("zeros", "border", "reflection")[padding_mode],
        align_corners=int(align_corners),
    )  # fmt: skip


@aten("col2im")
def col2im(g, self, output_size, kernel_size, dilation, padding, stride):
    if g.opset < 18:
        raise NotImplementedError("fold() needs opset_version=18 or later")
    pads = spread(padding, 2)
    x, single = (g.unsqueeze(self, 0), True) if self.rank == 2 else (self, False)
    found = g.op(
        "Col2Im", x, g.integers(spread(output_size, 2)), g.integers(spread(kernel_size, 2)),
        dilations=spread(dilation, 2), pads=pads + pads, strides=spread(stride, 2),
    )  # fmt: skip
    return g.squeeze(found, 0) if single else found
