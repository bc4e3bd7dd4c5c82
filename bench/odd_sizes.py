"""Layers and ops at sizes for which a kernel of large arrays is the wrong one: rows of few
elements, small planes, three spatial dims, pieces of rows, half-width numbers. Each is ``(shape of
the input, function of a library that gives the layer)``, and the input's dtype if that is not
float32."""

from __future__ import annotations


def _classes(library, shape, count):
    return library.randint(0, count, shape)


def _in(kind, layer):
    """A function of a library for a layer of tensors of another dtype."""

    def make(library):
        dtype, inner = getattr(library, kind), layer(library)
        inner = inner.to(dtype) if hasattr(inner, "parameters") else inner
        return lambda x: inner(x.to(dtype))

    return make


def _states_of_lstm(library):
    layer = library.nn.LSTM(64, 64).double()
    return lambda x: layer(x)[0]


LAYERS = {
    "batch norm of rows": ((64, 256), lambda t: t.nn.BatchNorm1d(256)),
    "batch norm of many rows": ((4096, 16), lambda t: t.nn.BatchNorm1d(16)),
    "batch norm, eval": ((16, 256, 4, 4), lambda t: t.nn.BatchNorm2d(256).eval()),
    "batch norm of rows, eval": ((512, 1024), lambda t: t.nn.BatchNorm1d(1024).eval()),
    "batch norm, bfloat16": (
        (16, 64, 28, 28), lambda t: t.nn.BatchNorm2d(64).to(t.bfloat16), "bfloat16",
    ),
    "batch norm of rows, float16": (
        (64, 256), lambda t: t.nn.BatchNorm1d(256).to(t.float16), "float16",
    ),
    "batch norm, eval, bfloat16": (
        (16, 64, 28, 28), lambda t: t.nn.BatchNorm2d(64).to(t.bfloat16).eval(), "bfloat16",
    ),
    "layer norm, bfloat16": (
        (512, 768), lambda t: t.nn.LayerNorm(768).to(t.bfloat16), "bfloat16",
    ),
    "group norm, bfloat16": (
        (8, 64, 28, 28), lambda t: t.nn.GroupNorm(8, 64).to(t.bfloat16), "bfloat16",
    ),
    "batch norm of small planes": ((16, 512, 4, 4), lambda t: t.nn.BatchNorm2d(512)),
    "group norm of rows": ((64, 256), lambda t: t.nn.GroupNorm(8, 256)),
    "convolution over three dims": (
        (4, 16, 16, 16, 16), lambda t: t.nn.Conv3d(16, 32, 3, padding=1),
    ),
    "patches of 16 x 16": ((4, 3, 224, 224), lambda t: t.nn.Conv2d(3, 192, 16, 16)),
    "32 groups of 4 channels": (
        (8, 128, 14, 14), lambda t: t.nn.Conv2d(128, 128, 3, padding=1, groups=32),
    ),
    "dilated convolution": (
        (16, 64, 28, 28), lambda t: t.nn.Conv2d(64, 64, 3, padding=2, dilation=2),
    ),
    "convolution of float64": (
        (16, 64, 28, 28),
        lambda t: (lambda m: lambda x: m(x.double()))(
            t.nn.Conv2d(64, 64, 3, padding=1).double()
        ),
    ),
    "strided convolution of float64": (
        (16, 64, 28, 28),
        lambda t: (lambda m: lambda x: m(x.double()))(
            t.nn.Conv2d(64, 64, 3, stride=2, padding=1).double()
        ),
    ),
    "depthwise convolution of float64": (
        (16, 64, 28, 28),
        lambda t: (lambda m: lambda x: m(x.double()))(
            t.nn.Conv2d(64, 64, 3, padding=1, groups=64).double()
        ),
    ),
    "1 x 1 convolution with bias": ((2, 64, 56, 56), lambda t: t.nn.Conv2d(64, 256, 1)),
    "transposed convolution": ((32, 64, 16, 16), lambda t: t.nn.ConvTranspose2d(64, 32, 4, 2, 1)),
    "max pool over rows": ((32, 64, 100), lambda t: t.nn.MaxPool1d(2)),
    "global average pool": ((64, 256, 4, 4), lambda t: t.nn.AdaptiveAvgPool2d(1)),
    "PReLU of channels": ((16, 64, 16, 16), lambda t: t.nn.PReLU(64)),
    "zero padding": ((16, 32, 16, 16), lambda t: t.nn.ZeroPad2d(1)),
    "reflection padding": ((16, 32, 16, 16), lambda t: t.nn.ReflectionPad2d(1)),
    "pixel shuffle": ((16, 64, 16, 16), lambda t: t.nn.PixelShuffle(2)),
    "windows as columns": ((4, 8, 16, 16), lambda t: t.nn.Unfold(3, padding=1)),
    "cross entropy of images": (
        (4, 5, 16, 16),
        lambda t: (lambda c: lambda x: t.nn.functional.cross_entropy(x, c))(
            _classes(t, (4, 16, 16), 5)
        ),
    ),
    "CTC loss": (
        (50, 8, 20),
        lambda t: (lambda c: lambda x: t.nn.functional.ctc_loss(
            x.log_softmax(2), c, t.full((8,), 50), t.full((8,), 10)
        ))(t.randint(1, 20, (8, 10))),
    ),
    "sampling at a grid": (
        (4, 8, 16, 16),
        lambda t: (lambda g: lambda x: t.nn.functional.grid_sample(x, g, align_corners=False))(
            t.rand(4, 16, 16, 2) * 2 - 1
        ),
    ),
    "largest of short rows": ((10000, 4), lambda t: lambda x: x.max(1)[0]),
    "rows at an index": (
        (1000, 16),
        lambda t: (lambda i: lambda x: x[i])(_classes(t, (256,), 1000)),
    ),
    "rows at a mask": ((512, 64), lambda t: (lambda m: lambda x: x[m])(t.rand(512) > 0.5)),
    "columns of a slice": ((512, 256), lambda t: lambda x: x[:, 10:100]),
    "halves of rows changed places": (
        (8, 8, 64, 32), lambda t: lambda x: t.cat((x[..., 16:], x[..., :16]), -1),
    ),
    "product of broadcast operands": ((64, 32), lambda t: lambda x: x[:, :, None] * x[:, None]),
    "product of rows": ((1000, 16), lambda t: lambda x: x.prod(1)),
    "distances of short rows": ((200, 16), lambda t: lambda x: t.cdist(x, x)),
    "elements at a mask": ((512, 64), lambda t: (lambda m: lambda x: x[m])(t.rand(512, 64) > 0.5)),
    "softmax of bfloat16 rows": ((1000, 100), _in("bfloat16", lambda t: t.nn.Softmax(1))),
    "softmax of float16 columns": ((1000, 100), _in("float16", lambda t: t.nn.LogSoftmax(0))),
    "largest of float16 rows": ((1000, 100), _in("float16", lambda t: lambda x: x.max(1)[0])),
    "norm of bfloat16": ((256, 256), _in("bfloat16", lambda t: lambda x: x.norm())),
    "linear of few rows, float64": ((8, 1024), _in("float64", lambda t: t.nn.Linear(1024, 1024))),
    "linear, float64": ((512, 512), _in("float64", lambda t: t.nn.Linear(512, 512))),
    "LSTM, float64": ((20, 16, 64), _in("float64", _states_of_lstm)),
}  # fmt: skip


def of(shape, make, dtype="float32"):
    """``function(library)`` for the passes of such a layer: its input and what it computes."""

    def of_library(library):
        layer = make(library)
        return (library.randn(*shape).to(getattr(library, dtype)),), layer

    return of_library
