"""What the architectures have in common: configurations, activations, attention, masks, outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn

__all__ = [
    "Config",
    "ModelOutput",
    "activation",
    "attend",
    "causal_mask",
    "initialize",
    "join_heads",
    "last_positions",
    "masked_loss",
    "padding_mask",
    "positions",
    "split_heads",
]

Activation = Callable[[rl.Tensor], rl.Tensor]

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": F.gelu,
    "gelu_new": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_fast": lambda x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * rl.sigmoid(1.702 * x),
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": rl.tanh,
}


def activation(name: str) -> Activation:
    """The function of a name in a configuration; ValueError for one that is not known."""
    if name not in _ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}; known are {sorted(_ACTIVATIONS)}")
    return _ACTIVATIONS[name]


class Config(dict[str, Any]):
    """A configuration: a dict whose entries are attributes, too.

    >>> Config(hidden_size=8).hidden_size
    8
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self:
            raise AttributeError(f"the configuration has no entry {name!r}")
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class ModelOutput(Mapping[str, Any]):
    """What a model returns: entries by name, as items and as attributes; absent ones are None."""

    def __init__(self, **entries: Any):
        self._entries = {name: value for name, value in entries.items() if value is not None}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._entries.get(name)

    def __getitem__(self, name: str) -> Any:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"ModelOutput({', '.join(self._entries)})"


def split_heads(x: rl.Tensor, heads: int) -> rl.Tensor:
    """``[B, T, H * D]`` as ``[B, H, T, D]``."""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def join_heads(x: rl.Tensor) -> rl.Tensor:
    """``[B, H, T, D]`` as ``[B, T, H * D]``."""
    return x.transpose(1, 2).flatten(2)


def attend(
    query: rl.Tensor,
    key: rl.Tensor,
    value: rl.Tensor,
    mask: rl.Tensor | None,
    dropout: float = 0.0,
    scale: float | None = None,
) -> rl.Tensor:
    """Attention ``[B, H, Q, D]``; `mask` is added to the scores."""
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, scale=scale
    )


def _hidden(allowed: rl.Tensor, dtype: rl.dtype) -> rl.Tensor:
    """0 where attention is allowed, else the least number: rows without any stay finite."""
    return rl.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(
        ~allowed, rl.finfo(dtype).min
    )


def padding_mask(attention_mask: rl.Tensor | None, dtype: rl.dtype) -> rl.Tensor | None:
    """``[B, 1, 1, T]`` to be added to scores, of ``[B, T]`` with 0 at padding; None for none."""
    if attention_mask is None:
        return None
    return _hidden(attention_mask.bool()[:, None, None, :], dtype)


def causal_mask(
    queries: int,
    keys: int,
    attention_mask: rl.Tensor | None,
    dtype: rl.dtype,
    device: rl.device | None = None,
    window: int | None = None,
) -> rl.Tensor | None:
    """``[B or 1, 1, Q, K]`` to be added to scores: nothing after the query, no padding, and
    nothing that is `window` or more before it.

    The queries are the last of the keys. None where there is nothing to hide.
    """
    narrow = window is not None and keys > window
    if queries == 1 and attention_mask is None and not narrow:
        return None
    place = rl.arange(keys, device=device)
    before = place[keys - queries :, None] - place[None, :]
    allowed = (before >= 0)[None, None]
    if window is not None and narrow:
        allowed = allowed & (before < window)[None, None]
    if attention_mask is not None:
        allowed = allowed & attention_mask.bool()[:, None, None, :]
    return _hidden(allowed, dtype)


def positions(length: int, past: int, attention_mask: rl.Tensor | None, device: Any) -> rl.Tensor:
    """The positions of new ids, ``[B or 1, T]``; padding on the left does not count."""
    if attention_mask is None:
        return rl.arange(past, past + length, device=device)[None]
    counted = (attention_mask.long().cumsum(-1) - 1).clamp(min=0)
    return counted[:, -length:]


def last_positions(x: rl.Tensor, count: int, labels: rl.Tensor | None) -> rl.Tensor:
    """The last `count` positions of states ``[B, T, E]``, all for 0; ValueError with labels, whose
    loss needs all."""
    if not count:
        return x
    if labels is not None or count < 0:
        raise ValueError(
            f"logits_to_keep must be 0 with labels, and never negative: it is {count}, and labels "
            f"are {'not ' if labels is None else ''}given"
        )
    return x[:, -count:]


def masked_loss(logits: rl.Tensor, labels: rl.Tensor | None) -> rl.Tensor | None:
    """Cross entropy of logits ``[..., C]`` and labels ``[...]``, of which -100 do not count."""
    if labels is None:
        return None
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def initialize(module: nn.Module, std: float) -> None:
    """Draw weights of linear layers and embeddings from N(0, std); biases and padding are zero."""
    with rl.no_grad():
        for part in module.modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                part.weight.normal_(0.0, std)
                if getattr(part, "bias", None) is not None:
                    part.bias.zero_()
                if getattr(part, "padding_idx", None) is not None:
                    part.weight[part.padding_idx] = 0
