"""Linear layers whose weights have 4 or 8 bits, which do not learn, though their biases and inputs
do; and one that learns, whose weights stay whole and whose products are in 8 bits."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite import quantization
from lightning_lite.quantization import BLOCK, BLOCK_OF_STATISTICS, Blocks
from rushlight import nn


class QuantizedLinear(nn.Linear):
    """The base of linear layers with quantized weights, made of a layer by :meth:`of`.

    A state dict with whole weights in floating point is quantized when it is loaded.
    """

    dtype: Any = rl.float16  # that the layer computes in

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        self.quantize(linear.weight.detach())
        self.train(linear.training)

    def quantize(self, weight: Any) -> None:
        """Take over whole weights `(out_features, in_features)`."""
        raise NotImplementedError(f"{type(self).__name__} does not define quantize")

    def whole(self) -> Any:
        """The weights in float32."""
        raise NotImplementedError(f"{type(self).__name__} does not define whole")

    def _keep(self, weight: Any, **statistics: Any) -> None:
        """Hold quantized weights and what belongs to them."""
        self.weight = nn.Parameter(weight, requires_grad=False)
        for name, value in statistics.items():
            self.register_buffer(name, value)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        given = state_dict.get(f"{prefix}weight")
        if given is not None and given.is_floating_point():
            self.quantize(given.to(self.weight.device))
            held = {name: value for name, value in self.named_buffers(recurse=False)}
            state_dict = {**state_dict, f"{prefix}weight": self.weight.detach()}
            state_dict |= {f"{prefix}{name}": value for name, value in held.items()}
        super()._load_from_state_dict(state_dict, prefix, *rest)


class Linear4bit(QuantizedLinear):
    """A linear layer whose weights have 4 bits, in blocks of 64 that share a largest value.

    Args:
        linear: the layer that is quantized.
        kind: "nf4" or "fp4".
        twice: whether largest values are quantized too, to 8 bits.

    >>> layer = Linear4bit(nn.Linear(64, 2), "nf4")
    >>> layer.weight.shape, layer.absmax.shape
    (rushlight.Size([64, 1]), rushlight.Size([2]))
    """

    def __init__(self, linear: nn.Linear, kind: str, twice: bool = False) -> None:
        self.kind, self.twice = kind, twice
        super().__init__(linear)

    def quantize(self, weight: Any) -> None:
        """Take over whole weights."""
        made = quantization.to_blocks(weight.half(), self.kind, BLOCK)
        statistics = {"absmax": made.largest}
        if self.twice:
            offset = made.largest.mean()
            inner = quantization.to_blocks(made.largest - offset, "dynamic", BLOCK_OF_STATISTICS)
            statistics = {"absmax": inner.patterns, "nested_absmax": inner.largest}
            statistics["nested_offset"] = offset
        self._keep(quantization.packed(made.patterns), **statistics)

    def whole(self) -> Any:
        """The weights in float32."""
        largest = self.absmax
        if self.twice:
            inner = Blocks(self.absmax, self.nested_absmax)
            whole = quantization.from_blocks(inner, "dynamic", BLOCK_OF_STATISTICS)
            largest = whole + self.nested_offset
        count = self.in_features * self.out_features
        patterns = quantization.unpacked(self.weight, count)
        found = quantization.from_blocks(Blocks(patterns, largest), self.kind, BLOCK)
        return found.reshape(self.out_features, self.in_features)

    def forward(self, input: Any) -> Any:
        """`(..., in_features)` gives `(..., out_features)` in the input's dtype."""
        with rl.no_grad():
            weight = self.whole().to(self.dtype)
        bias = None if self.bias is None else self.bias.to(self.dtype)
        return nn.functional.linear(input.to(self.dtype), weight, bias).to(input.dtype)


class Linear8bit(QuantizedLinear):
    """A linear layer whose weights, and the inputs but for their outliers, are brought to int8.

    >>> layer = Linear8bit(nn.Linear(4, 2))
    >>> layer.weight.dtype, layer(rl.ones(3, 4)).shape
    (rushlight.int8, rushlight.Size([3, 2]))
    """

    def quantize(self, weight: Any) -> None:
        """Take over whole weights."""
        rows, largest = quantization.to_rows(weight.half())
        self._keep(rows, SCB=largest)

    def whole(self) -> Any:
        """The weights in float32."""
        return quantization.from_rows(self.weight, self.SCB)

    def forward(self, input: Any) -> Any:
        """`(..., in_features)` gives `(..., out_features)` in the input's dtype."""
        found = _ProductOfRows.apply(input, self.weight, self.SCB)
        return found if self.bias is None else found + self.bias.to(found.dtype)


class _ProductOfRows(rl.autograd.Function):
    """The product in int8, whose gradient is that of a product with the whole weights."""

    @staticmethod
    def forward(ctx: Any, input: Any, rows: Any, largest: Any) -> Any:
        ctx.save_for_backward(rows, largest)
        flat = input.reshape(-1, input.shape[-1]).half()
        found = quantization.product_of_rows(flat, rows, largest)
        return found.reshape(*input.shape[:-1], rows.shape[0]).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        rows, largest = ctx.saved_tensors
        return grad @ quantization.from_rows(rows, largest).to(grad.dtype), None, None


class LearningLinear8bit(nn.Linear):
    """A linear layer that learns: its weights stay whole; products with inputs, and of gradients
    with inputs, are made in int8, but for columns of inputs that hold outliers (6 and more).

    Args:
        linear: the layer whose weights and bias it takes over.

    >>> layer = LearningLinear8bit(nn.Linear(4, 2))
    >>> layer(rl.ones(3, 4)).sum().backward()
    >>> layer.weight.dtype, layer.weight.grad.shape
    (rushlight.float32, rushlight.Size([2, 4]))
    """

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.train(linear.training)

    def forward(self, input: Any) -> Any:
        """`(..., in_features)` gives `(..., out_features)` in the input's dtype."""
        found = _LearningProduct.apply(input, self.weight)
        return found if self.bias is None else found + self.bias.to(found.dtype)


class _LearningProduct(rl.autograd.Function):
    """The product with rows of int8, and the gradients of both sides (LLM.int8(), appendix)."""

    @staticmethod
    def forward(ctx: Any, input: Any, weight: Any) -> Any:
        rows, largest = quantization.to_rows(weight.half())
        flat = input.reshape(-1, input.shape[-1]).half()
        ctx.save_for_backward(flat, rows, largest)
        ctx.kinds = input.dtype, weight.dtype
        found = quantization.product_of_rows(flat, rows, largest)
        return found.reshape(*input.shape[:-1], rows.shape[0]).to(input.dtype)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        flat, rows, largest = ctx.saved_tensors
        kind, of_weight = ctx.kinds
        for_input = for_weight = None
        if ctx.needs_input_grad[0]:
            for_input = (grad @ quantization.from_rows(rows, largest).to(grad.dtype)).to(kind)
        if ctx.needs_input_grad[1]:
            several = grad.reshape(-1, grad.shape[-1]).half()
            for_weight = quantization.product_of_columns(several, flat).to(of_weight)
        return for_input, for_weight
