"""What nodes of layers keep, by PyTorch's names: see `saves` in
:mod:`rushlight.ops._table.saved_names`.
"""

from __future__ import annotations

import math

from rushlight.tensor.tensor import Parameter, Tensor

ATTENTION = {
    "saves": "attn_mask:mask dropout_p: is_causal:causal key logsumexp:result1 output:result0 "
    "query value",
    "saves_as": {"dropout_p": 0.0},
}

# ----------------------------------------------------------------------------------- convolutions
_CONVOLUTION = (
    "bias_sym_sizes_opt: dilation groups output_padding: padding stride transposed: weight"
)


def _sizes_of_bias(read):
    return read("bias_sym_sizes") or (0,)


def _padding_of_output(read):
    """What was asked for beside the smallest output that has the same input."""
    output, weight = read("output_sym_sizes"), read("weight_sym_sizes")
    settings = (read(name) for name in ("stride", "padding", "dilation"))
    each = zip(output[2:], weight[2:], read("shape")[2:], *settings, strict=True)
    return tuple(n - (o - 1) * s + 2 * p - d * (k - 1) - 1 for o, k, n, s, p, d in each)


_NOT_TRANSPOSED = {
    "bias_sym_sizes_opt": _sizes_of_bias,
    "output_padding": lambda read: (0,) * len(read("stride")),
    "transposed": False,
}
_TRANSPOSED = {
    "bias_sym_sizes_opt": _sizes_of_bias,
    "output_padding": _padding_of_output,
    "transposed": True,
}


CONVOLUTION = {"saves": f"{_CONVOLUTION} input", "saves_as": _NOT_TRANSPOSED}
TRANSPOSED = {"saves": f"{_CONVOLUTION} input:output", "saves_as": _TRANSPOSED}


# --------------------------------------------------------------------------------- normalization
def _normalized_dims(read):
    """The dimensions that make up rows of a size: those of the weight, else as few as will do."""
    weight, shape, size = read("weight"), tuple(read("input").shape), read("size")
    if weight is not None:
        return tuple(weight.shape)
    return next(shape[i:] for i in reversed(range(len(shape))) if math.prod(shape[i:]) == size)


def _of_rows(word):
    """A number of each row, with the input's dimensions."""

    def found(read):
        dims = len(_normalized_dims(read))
        return read(word).reshape(*read("input").shape[:-dims], *(1,) * dims)

    return found


def _kept_of_rows(node):
    """The bias, which no formula reads, is at hand where it is a leaf."""
    words = "input normalized_shape: result1: result2: weight"
    missing = node.plan.key[2] and type(node.edges[2]) not in (Tensor, Parameter)
    return words if missing else f"{words} bias:"


ROWS = {
    "saves": _kept_of_rows,
    "saves_as": {
        "bias": lambda read: read.node.edges[2],
        "normalized_shape": _normalized_dims,
        "result1": _of_rows("result1"),
        "result2": _of_rows("result2"),
    },
}
GROUPS = {
    "N": lambda read: read("input").shape[0],
    "C": lambda read: read("input").shape[1],
    "HxW": lambda read: math.prod(read("input").shape[2:]),
    "result1": lambda read: read("result1").reshape(-1, read("groups")),
    "result2": lambda read: read("result2").reshape(-1, read("groups")),
}
