"""Helpers of layers that subclasses import from ``nn.functional`` and ``nn.modules`` by PyTorch's
names. The layers here have their own; these are for programs."""

from __future__ import annotations

import types
import warnings

from rushlight.nn.transformer import _is_causal as _detect_is_causal_mask  # noqa: F401
from rushlight.nn.transformer import _square_mask as _generate_square_subsequent_mask  # noqa: F401
from rushlight.nn.tuples import (  # noqa: F401
    _list_with_default,
    _pair,
    _quadruple,
    _single,
    _triple,
)
from rushlight.ops.linalg.products import linear
from rushlight.ops.neural.attention import _additive, _projected
from rushlight.ops.neural.attention import _check_heads as _mha_shape_check  # noqa: F401
from rushlight.tensor.tensor import Tensor

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension of a softmax that was given none, with a warning."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


# ------------------------------------------------------------------------------------- attention
def _in_projection(q, k, v, w_q, w_k, w_v, *biases, **named):
    """Query, key and value (..., E) by weights (E, E) of their own; `b_q`, `b_k` and `b_v` (E,) may
    follow, by position or by name."""
    given = [*biases, *(named.pop(name, None) for name in ("b_q", "b_k", "b_v")[len(biases) :])]
    if named:
        raise TypeError(f"_in_projection() got an unexpected keyword argument {min(named)!r}")
    embed, names = q.shape[-1], ("query", "key", "value")
    for name, weight, size in zip(names, (w_q, w_k, w_v), (q, k, v), strict=True):
        expected = embed, size.shape[-1]
        if tuple(weight.shape) != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {tuple(weight.shape)}"
            )
    for name, bias in zip(names, given, strict=True):
        if bias is not None and tuple(bias.shape) != (embed,):
            raise AssertionError(
                f"expecting {name} bias shape of {(embed,)}, but got {tuple(bias.shape)}"
            )
    rows = zip((q, k, v), (w_q, w_k, w_v), given, strict=True)
    return tuple(linear(x, weight, bias) for x, weight, bias in rows)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Query, key and value (..., E) by one weight (3E, E)."""
    return _projected(q, k, v, w, b, None)


def _none_or_dtype(input: Tensor | None):
    """The dtype of a tensor that may be missing."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type, other_name: str, target_type,
    check_other: bool = True,
):  # fmt: skip
    """A mask as floats that are added to scores; bools are -inf where they are true."""
    other = None if other_type is None else types.SimpleNamespace(dtype=other_type)
    return _additive(mask, mask_name, other, other_name, target_type, check_other)


def _get_seq_len(src: Tensor, batch_first: bool) -> int | None:
    """The length of a sequence (L, E), or of those of a batch; None of what is nested."""
    if src.is_nested:
        return None
    sizes = src.size()
    return sizes[0] if len(sizes) == 2 else sizes[1 if batch_first else 0]


# --------------------------------------------------------------------------- sequences and sizes
def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The sequences of a state in another order."""
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """``tensor.index_select(dim, permutation)``; deprecated."""
    warnings.warn(
        "apply_permutation is deprecated, please use tensor.index_select(dim, permutation) instead",
        category=FutureWarning,
        stacklevel=2,
    )
    return _apply_permutation(tensor, permutation, dim)


def _verify_batch_size(size) -> None:
    """Refuse to normalize channels (N, C, ...) that have one value each."""
    count = size[0]
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def _verify_spatial_size(size) -> None:
    """Refuse to normalize pictures (N, C, ...) of one element."""
    count = 1
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )
