"""``forward`` of activations and dropout as TorchScript, for archives: see :mod:`.layers`."""

from __future__ import annotations

from rushlight import nn
from rushlight.jit.dispatch import aten
from rushlight.jit.forms.layers import _layer
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor


@_layer(nn.ReLU)
def _relu(self, input: Tensor) -> Tensor:
    return F.relu(input, self.inplace)


@_layer(nn.ReLU6)
def _relu6(self, input: Tensor) -> Tensor:
    return F.relu6(input, self.inplace)


@_layer(nn.SELU)
def _selu(self, input: Tensor) -> Tensor:
    return F.selu(input, self.inplace)


@_layer(nn.SiLU)
def _silu(self, input: Tensor) -> Tensor:
    return F.silu(input, self.inplace)


@_layer(nn.Mish)
def _mish(self, input: Tensor) -> Tensor:
    return F.mish(input, self.inplace)


@_layer(nn.Hardswish)
def _hardswish(self, input: Tensor) -> Tensor:
    return F.hardswish(input, self.inplace)


@_layer(nn.Hardsigmoid)
def _hardsigmoid(self, input: Tensor) -> Tensor:
    return F.hardsigmoid(input, self.inplace)


@_layer(nn.LeakyReLU)
def _leaky_relu(self, input: Tensor) -> Tensor:
    return F.leaky_relu(input, self.negative_slope, self.inplace)


@_layer(nn.ELU)
def _elu(self, input: Tensor) -> Tensor:
    return F.elu(input, self.alpha, self.inplace)


@_layer(nn.CELU)
def _celu(self, input: Tensor) -> Tensor:
    return F.celu(input, self.alpha, self.inplace)


@_layer(nn.Hardtanh)
def _hardtanh(self, input: Tensor) -> Tensor:
    return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


@_layer(nn.Softplus)
def _softplus(self, input: Tensor) -> Tensor:
    return aten.softplus(input, self.beta, self.threshold)


@_layer(nn.Softshrink)
def _softshrink(self, input: Tensor) -> Tensor:
    return aten.softshrink(input, self.lambd)


@_layer(nn.Hardshrink)
def _hardshrink(self, input: Tensor) -> Tensor:
    return aten.hardshrink(input, self.lambd)


@_layer(nn.GELU)
def _gelu(self, input: Tensor) -> Tensor:
    return aten.gelu(input, approximate=self.approximate)


@_layer(nn.GLU)
def _glu(self, input: Tensor) -> Tensor:
    return aten.glu(input, self.dim)


@_layer(nn.PReLU)
def _prelu(self, input: Tensor) -> Tensor:
    return aten.prelu(input, self.weight)


@_layer(nn.Sigmoid)
def _sigmoid(self, input: Tensor) -> Tensor:
    return aten.sigmoid(input)


@_layer(nn.Tanh)
def _tanh(self, input: Tensor) -> Tensor:
    return aten.tanh(input)


@_layer(nn.LogSigmoid)
def _log_sigmoid(self, input: Tensor) -> Tensor:
    return aten.log_sigmoid(input)


@_layer(nn.Softsign)
def _softsign(self, input: Tensor) -> Tensor:
    return F.softsign(input)


@_layer(nn.Tanhshrink)
def _tanhshrink(self, input: Tensor) -> Tensor:
    return F.tanhshrink(input)


@_layer(nn.Softmax)
def _softmax(self, input: Tensor) -> Tensor:
    return F.softmax(input, self.dim)


@_layer(nn.LogSoftmax)
def _log_softmax(self, input: Tensor) -> Tensor:
    return F.log_softmax(input, self.dim)


@_layer(nn.Softmin)
def _softmin(self, input: Tensor) -> Tensor:
    return F.softmin(input, self.dim)


@_layer(nn.Dropout)
def _dropout(self, input: Tensor) -> Tensor:
    return F.dropout(input, self.p, self.training, self.inplace)


@_layer(nn.Dropout2d)
def _dropout2d(self, input: Tensor) -> Tensor:
    return F.dropout2d(input, self.p, self.training, self.inplace)


@_layer(nn.AlphaDropout)
def _alpha_dropout(self, input: Tensor) -> Tensor:
    return F.alpha_dropout(input, self.p, self.training, self.inplace)


@_layer(nn.Dropout1d)
def _dropout1d(self, input: Tensor) -> Tensor:
    return F.dropout1d(input, self.p, self.training, self.inplace)


@_layer(nn.Dropout3d)
def _dropout3d(self, input: Tensor) -> Tensor:
    return F.dropout3d(input, self.p, self.training, self.inplace)


@_layer(nn.FeatureAlphaDropout)
def _feature_alpha_dropout(self, input: Tensor) -> Tensor:
    return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


@_layer(nn.Softmax2d)
def _softmax2d(self, input: Tensor) -> Tensor:
    return aten.softmax(input, -3)


@_layer(nn.Threshold)
def _threshold(self, input: Tensor) -> Tensor:
    return F.threshold(input, float(self.threshold), float(self.value), self.inplace)


@_layer(nn.RReLU)
def _rrelu(self, input: Tensor) -> Tensor:
    if self.inplace:
        return aten.rrelu_(input, self.lower, self.upper, self.training)
    return aten.rrelu(input, self.lower, self.upper, self.training)
