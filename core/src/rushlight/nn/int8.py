"""Linear layers whose weights are signed bytes: a quarter of the memory, and products of bytes.

Read `quantize_int8` first. Each output channel has a scale. Inputs stay float32, or are rounded to
bytes at each call with a scale for each row (dynamic quantization).
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.autograd.mode import no_grad
from rushlight.dtypes import float32, int8
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module
from rushlight.ops.creation.tensors import empty, zeros
from rushlight.ops.linalg.byte_products import _int8_linear, dequantized, rounded_rows
from rushlight.tensor.tensor import Tensor

__all__ = ["Int8Linear", "quantize_int8", "quantized_rows", "rounded_rows"]


def quantized_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as bytes and a scale for each row: ``weight`` is about ``bytes * scale[:, None]``.

    Args:
        weight: floating, (N, K).

    Returns:
        int8 (N, K) from -127 to 127, and float32 (N): the largest magnitude of a row over 127.

    Raises:
        ValueError: a tensor that is no matrix of floats, or one with NaN or infinity.

    >>> rushlight.nn.int8.quantized_rows(rushlight.tensor([[1.0, -2.0]]))[0]
    tensor([[  64, -127]], dtype=rushlight.int8)
    """
    if weight.dim() != 2 or not weight.is_floating_point():
        raise ValueError(
            f"quantized_rows(): weight must be a matrix of floats, got {weight.dtype} "
            f"{list(weight.shape)}"
        )
    with no_grad():
        wide = weight.detach().to(float32)
        largest = wide.abs().amax(1) if weight.shape[1] else zeros(len(wide), device=wide.device)
        if not bool(largest.isfinite().all()):
            raise ValueError("quantized_rows(): weight has NaN or infinity")
        scale = (largest / 127).clamp(min=1e-30)
        return (wide / scale[:, None]).round().clamp(-127, 127).to(int8), scale


class Int8Linear(Module):
    """``y = x @ (weight * scale[:, None]).T + bias`` with a weight of bytes.

    Few rows of float32 go through a compiled kernel that reads the bytes as they are, and so do
    many on processors with matrix units; where these are missing, and for other dtypes, the weight
    is made in the input's dtype and multiplied with. The gradient reaches the input; weight and
    bias are fixed.

    A dynamic layer replaces each row of x by bytes times a scale, the largest magnitude of the row
    over 127 (:func:`rounded_rows`). Then bytes are multiplied with bytes and summed exactly, on the
    processor's own instructions where it has them (VNNI): an output does not depend on the other
    rows of a batch, nor on the kind of processor. The gradient is that of the layer without
    rounding.

    Args:
        in_features, out_features: sizes of the last dimension.
        bias: whether there is one.
        dynamic: whether inputs are rounded to bytes; also an attribute, which may be changed.

    The state has ``weight`` int8 (out, in), ``scale`` float32 (out) and ``bias``.

    >>> layer = rushlight.nn.int8.Int8Linear.from_linear(rushlight.nn.Linear(3, 2))
    >>> layer(rushlight.ones(5, 3)).shape
    rushlight.Size([5, 2])
    """

    weight: Tensor
    scale: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device=None,
        dynamic: bool = False,
    ):
        super().__init__()
        self.in_features, self.out_features, self.dynamic = in_features, out_features, dynamic
        shape = out_features, in_features
        self.register_buffer("weight", zeros(shape, dtype=int8, device=device))
        self.register_buffer("scale", empty(out_features, device=device).fill_(1.0))
        self.register_buffer("bias", zeros(out_features, device=device) if bias else None)

    @classmethod
    def from_linear(cls, layer: Linear, dynamic: bool = False) -> Int8Linear:
        """The layer with its weight rounded to bytes."""
        bias = layer.bias is not None
        made = cls(layer.in_features, layer.out_features, bias, layer.weight.device, dynamic)
        made.weight, made.scale = quantized_rows(layer.weight)
        made.bias = layer.bias.detach().to(float32) if bias else None
        return made.train(layer.training)

    def forward(self, input: Tensor) -> Tensor:
        """Apply to the last dimension of (*, in_features)."""
        return _int8_linear(input, self.weight, self.scale, self.bias, self.dynamic)

    def dequantized(self, dtype=float32) -> Tensor:
        """The weight in floats, (out, in)."""
        return dequantized(self.weight, self.scale, dtype)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}" + (", dynamic=True" if self.dynamic else "")
        )

    def _apply(self, fn, recurse=True):
        """Move it; the scale and the bias stay float32."""
        super()._apply(fn, recurse)
        self.scale = self.scale.to(float32)
        self.bias = None if self.bias is None else self.bias.to(float32)
        return self


def quantize_int8(
    module: Module,
    choose: Callable[[str, Linear], bool] | None = None,
    dynamic: bool = False,
) -> list[str]:
    """Replace the linear layers of a model by :class:`Int8Linear`; it changes the model itself.

    Args:
        module: the model; its own class is not looked at, what it holds is.
        choose: says by name and layer which; default: all. A layer that has a parametrization or
            whose class is derived from `Linear` is left as it is.
        dynamic: whether these layers round their inputs to bytes, too. Without matrix units that
            makes products of many rows up to four times as fast as in float32; rows with few very
            large values lose most.

    Returns:
        The names of the replaced layers.

    >>> model = rushlight.nn.Sequential(rushlight.nn.Linear(4, 3), rushlight.nn.ReLU())
    >>> rushlight.nn.int8.quantize_int8(model)
    ['0']
    """
    found = [
        (name, layer)
        for name, layer in module.named_modules(remove_duplicate=False)
        if type(layer) is Linear and name and (choose is None or choose(name, layer))
    ]
    made: dict[int, Int8Linear] = {}
    for name, layer in found:
        if id(layer) not in made:
            made[id(layer)] = Int8Linear.from_linear(layer, dynamic)
        holder, _, own = name.rpartition(".")
        setattr(module.get_submodule(holder), own, made[id(layer)])
    return [name for name, _ in found]
