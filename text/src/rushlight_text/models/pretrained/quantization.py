"""Weights of pretrained models as signed bytes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from rushlight import nn
from rushlight.nn.int8 import Int8Linear
from rushlight.nn.int8 import quantize_int8 as quantize_linear
from rushlight_text.models.pretrained.gpt2 import Conv1D

__all__ = ["ENTRY", "int8_copy", "prepare_int8", "quantize_int8"]

# Of a configuration: the names of the layers, and of those that round their inputs.
ENTRY, DYNAMIC = "rushlight_int8", "rushlight_int8_dynamic"


def quantize_int8(model: nn.Module, keep: Sequence[str] = (), dynamic: bool = False) -> nn.Module:
    """Round the linear layers of a model to bytes, with a scale for each output; in place.

    Decoding reads a quarter of the memory of float32; `dynamic` layers multiply bytes with bytes,
    which is quicker for many rows at once. Tables of embeddings stay as they are; a last layer that
    is tied to one gets bytes of its own. `save_model` writes the bytes and `load_model` reads them;
    other libraries do not.

    Args:
        model: of `models.pretrained`, for use and not for training: weights get no gradient.
        keep: parts of names of layers that stay, such as ``["lm_head"]``.
        dynamic: whether the layers round their inputs to bytes, too, row by row.

    Returns:
        The model.

    Raises:
        ValueError: no layer is left to round, or a weight has NaN or infinity.

    Example
    -------
    >>> from rushlight_text.models.pretrained import build_model
    >>> model = build_model("gpt2", "causal-lm", n_layer=1, n_embd=8, n_head=2, vocab_size=20)
    >>> quantize_int8(model).lm_head.weight.dtype
    rushlight.int8
    """

    def chosen(name: str, layer: nn.Module | None = None) -> bool:
        return not any(part in name for part in keep)

    for name, layer in list(model.named_modules()):
        if isinstance(layer, Conv1D) and chosen(name):
            holder, _, own = name.rpartition(".")
            setattr(model.get_submodule(holder), own, _as_linear(layer))
    named = quantize_linear(model, chosen, dynamic)
    if not named:
        raise ValueError(f"quantize_int8(): no linear layer to round; keep is {list(keep)}")
    for entry in (ENTRY, DYNAMIC) if dynamic else (ENTRY,):
        model.config[entry] = sorted({*model.config.get(entry, []), *named})
    return model


def int8_copy(model: nn.Module, keep: Sequence[str] = (), dynamic: bool = True) -> nn.Module:
    """The same model with bytes; what is not rounded, such as tables, is shared with it.

    It guesses well how the model will go on, at a third of the time: see `assistant_model` of
    :class:`rushlight_text.generation.Options`.

    Args:
        model, keep, dynamic: as of :func:`quantize_int8`; the model stays as it is.

    Raises:
        ValueError: as :func:`quantize_int8`.

    Example
    -------
    >>> from rushlight_text.models.pretrained import build_model
    >>> model = build_model("gpt2", "causal-lm", n_layer=1, n_embd=8, n_head=2, vocab_size=20)
    >>> small = int8_copy(model)
    >>> model.lm_head.weight.dtype, small.lm_head.weight.dtype
    (rushlight.float32, rushlight.int8)
    >>> small.transformer.wte.weight is model.transformer.wte.weight
    True
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return quantize_int8(copy.deepcopy(model, shared), keep, dynamic)


def _as_linear(layer: Conv1D) -> nn.Linear:
    """The same layer with its weight the usual way round."""
    inputs, outputs = layer.weight.shape
    made = nn.Linear(inputs, outputs, device=layer.weight.device, dtype=layer.weight.dtype)
    made.weight = nn.Parameter(layer.weight.detach().t().contiguous())
    made.bias = layer.bias
    return made.train(layer.training)


def prepare_int8(model: Any) -> None:
    """Put empty layers of bytes where a configuration says that there were some."""
    for name in model.config.get(ENTRY, ()):
        holder, _, own = name.rpartition(".")
        try:
            parent = model.get_submodule(holder)
            layer = getattr(parent, own)
        except AttributeError:  # of a head that is not asked for
            continue
        if isinstance(layer, Conv1D):
            layer = _as_linear(layer)
        bias, dynamic = layer.bias is not None, name in model.config.get(DYNAMIC, ())
        made = Int8Linear(layer.in_features, layer.out_features, bias, dynamic=dynamic)
        setattr(parent, own, made.eval())
