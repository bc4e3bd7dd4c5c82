"""Convolution, batch normalization and activation one after the other, in evaluation and without
gradients, where they can be one step, against float64."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import close, exact, examples, on_threads, tensors  # noqa: E402
from test_convolution_shapes import (  # noqa: E402
    deep,
    depthwise,
    dilated,
    general,
    images,
    is_possible,
    patches,
    pixels,
    planes,
    transformed,
)

import rushlight  # noqa: E402

KINDS = st.one_of(
    general(), general(1), general(3), deep(), depthwise(), dilated(), patches(), pixels(),
    planes(), transformed(),
)  # fmt: skip
ACTIVATIONS = ("ReLU", "ReLU6", "SiLU", "GELU", "Sigmoid", "Hardswish", "LeakyReLU", "ELU", "Mish",
               "Tanh", "Hardtanh", "Softplus", None)  # fmt: skip


def layers(lib, geometry, has_bias, normalized, activation):
    dims = len(geometry.kernel)
    stride, padding, dilation = geometry.settings
    made = [getattr(lib.nn, f"Conv{dims}d")(
        geometry.c, geometry.o, geometry.kernel, stride, padding, dilation, geometry.groups,
        bias=has_bias,
    )]  # fmt: skip
    if normalized:
        made.append(getattr(lib.nn, f"BatchNorm{dims}d")(geometry.o))
    if activation is not None:
        made.append(getattr(lib.nn, activation)())
    return lib.nn.Sequential(*made).eval()


def draw_values(data, module):
    """Draw what the module holds, variances of at least a tenth."""
    for name, value in module.state_dict().items():
        if value.dtype == rushlight.float32:
            low, high = (0.1, 2.0) if "running_var" in name else (-1.0, 1.0)
            value.copy_(data.draw(tensors(tuple(value.shape), low=low, high=high)))


@given(st.data())
@examples(40)
def test_sequences(data):
    geometry = data.draw(KINDS.filter(is_possible))
    has_bias, normalized = data.draw(st.booleans()), data.draw(st.integers(0, 3)) > 0
    activation = data.draw(st.sampled_from(ACTIVATIONS))
    ours = layers(rushlight, geometry, has_bias, normalized, activation)
    theirs = layers(torch, geometry, has_bias, normalized, activation).double()
    with rushlight.no_grad():
        draw_values(data, ours)
    for mine, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        other.copy_(exact(mine).detach())
    shape = (geometry.n, geometry.c, *geometry.image)
    x = data.draw(tensors(shape, layout=data.draw(images(len(shape)))))

    def run(x):
        with rushlight.no_grad():
            return ours(x), ours(x)  # first met, and known

    found = on_threads(lambda: run(x))
    with torch.no_grad():
        truth = theirs(exact(x))
        scale = bound(theirs, exact(x))
    terms = geometry.terms(False)[0]
    for out in found:
        close(out, truth, scale.max() if scale.numel() else None, 8 + 2 * terms**0.5)


def bound(module, x):
    """What the absolute values add up to before the activation, whose slopes are below 1.5."""
    first = copy.deepcopy(module[0])
    for value in first.parameters():
        value.abs_()
    out = first(x.abs())
    if len(module) > 1 and hasattr(module[1], "running_var"):
        norm = module[1]
        shape = (-1, *[1] * (out.ndim - 2))
        slope = (norm.weight / (norm.running_var + norm.eps).sqrt()).abs().reshape(shape)
        out = (out + norm.running_mean.abs().reshape(shape)) * slope
        out = out + norm.bias.abs().reshape(shape)
    return out * 1.5 + 1
