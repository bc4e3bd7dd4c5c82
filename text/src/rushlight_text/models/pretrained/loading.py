"""Models by configuration and from folders of Hugging Face, and back into such folders."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.serialization import safetensors
from rushlight_text.models.pretrained import heads
from rushlight_text.models.pretrained._files import read_weights
from rushlight_text.models.pretrained._parts import Config
from rushlight_text.models.pretrained.bart import (
    BartForConditionalGeneration,
    BartModel,
    MarianMTModel,
)
from rushlight_text.models.pretrained.configs import config as completed
from rushlight_text.models.pretrained.configs import read_config
from rushlight_text.models.pretrained.gpt2 import GPT2LMHeadModel, GPT2Model
from rushlight_text.models.pretrained.llama import LlamaForCausalLM, LlamaModel
from rushlight_text.models.pretrained.quantization import prepare_int8
from rushlight_text.models.pretrained.t5 import T5EncoderModel, T5ForConditionalGeneration

__all__ = ["HEADS", "build_model", "load_model", "load_weights", "save_model"]

_ENCODER_HEADS: dict[str, Any] = {
    "sequence-classification": heads.EncoderForSequenceClassification,
    "token-classification": heads.EncoderForTokenClassification,
    "question-answering": heads.EncoderForQuestionAnswering,
    "masked-lm": heads.EncoderForMaskedLM,
}
_DECODERS: dict[str, dict[str, Any]] = {
    "gpt2": {"base": GPT2Model, "causal-lm": GPT2LMHeadModel},
    "llama": {"base": LlamaModel, "causal-lm": LlamaForCausalLM},
    "mistral": {"base": LlamaModel, "causal-lm": LlamaForCausalLM},
    "qwen2": {"base": LlamaModel, "causal-lm": LlamaForCausalLM},
    "t5": {"encoder": T5EncoderModel, "seq2seq-lm": T5ForConditionalGeneration},
    "bart": {"base": BartModel, "seq2seq-lm": BartForConditionalGeneration},
    "marian": {"seq2seq-lm": MarianMTModel},
}
HEADS = ("base", "encoder", *_ENCODER_HEADS, "causal-lm", "seq2seq-lm")
# How the names of Hugging Face's classes end.
_ENDINGS = {
    "ForSequenceClassification": "sequence-classification",
    "ForTokenClassification": "token-classification",
    "ForQuestionAnswering": "question-answering",
    "ForMaskedLM": "masked-lm",
    "LMHeadModel": "causal-lm",
    "ForCausalLM": "causal-lm",
    "ForConditionalGeneration": "seq2seq-lm",
    "MTModel": "seq2seq-lm",
    "EncoderModel": "encoder",
    "Model": "base",
}
# Tensors of checkpoints that are computed here.
_COMPUTED = ("position_ids", ".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq")


def head_of(config: Config) -> str:
    """The head that a configuration's ``architectures`` names."""
    names = config.get("architectures") or []
    for ending, head in _ENDINGS.items():
        if names and names[0].endswith(ending):
            return head
    raise ValueError(f"the configuration's architectures {names} name no head; pass one of {HEADS}")


def build_model(
    config: str | Mapping[str, Any], head: str | None = None, **changes: Any
) -> nn.Module:
    """A model with new weights.

    Args:
        config: a name in :data:`PRESETS`, or entries of a ``config.json``.
        head: one of `HEADS`; default: what ``architectures`` says, else ``"base"``.
        changes: entries that win.

    Raises:
        NotImplementedError: a head that this kind of model has not.

    Example
    -------
    >>> model = build_model("gpt2", "causal-lm", n_layer=1, n_embd=8, n_head=2, vocab_size=20)
    >>> model(rl.tensor([[1, 2, 3]])).logits.shape
    rushlight.Size([1, 3, 20])
    """
    whole = completed(config, **changes)
    if head is None:
        head = head_of(whole) if whole.get("architectures") else "base"
    return _class(whole, head)(whole)


def _class(config: Config, head: str) -> Any:
    kind = config.model_type
    table = _DECODERS.get(kind) or {"base": heads.base_class(config), **_ENCODER_HEADS}
    if head not in table:
        raise NotImplementedError(f"{kind} has no head {head!r}; it has {sorted(table)}")
    return table[head]


def load_model(
    folder: str | os.PathLike,
    head: str | None = None,
    *,
    dtype: rl.dtype | None = rl.float32,
    **changes: Any,
) -> nn.Module:
    """The model in a folder of Hugging Face, in evaluation mode.

    Args:
        folder: with ``config.json`` and ``model.safetensors`` (or its parts, or
            ``pytorch_model.bin``).
        head: one of `HEADS`; default: the one that was saved. Parameters of a head that was not
            saved are new, with a warning; those of a head that is not asked for are left out.
        dtype: of the parameters; None: as saved.
        changes: entries of the configuration that win.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: tensors that are missing, or of another shape.
    """
    config = read_config(folder, **changes)
    model = _class(config, head_of(config) if head is None else head)(config)
    prepare_int8(model)
    load_weights(model, read_weights(folder), dtype=dtype, source=os.fspath(folder))
    return model.eval()


def load_weights(
    model: nn.Module,
    weights: Mapping[str, rl.Tensor],
    *,
    dtype: rl.dtype | None = None,
    source: str = "the weights",
) -> None:
    """Put tensors by Hugging Face's names into a model; errors as of :func:`load_model`."""
    own = model.state_dict()
    found = _matched(model, own, weights)
    tied = _tied(model)
    computed = tuple(getattr(model, "computed", ()))
    missing = [
        key
        for key in own
        if not any(k in found for k in tied.get(key, [key])) and not key.endswith(computed)
    ]
    base = f"{getattr(model, 'base_model_prefix', '')}."
    new = [key for key in missing if base != "." and not key.startswith(base)]
    new += [key for key in missing if "pooler." in key and key not in new]
    lost = sorted(set(missing) - set(new))
    if lost:
        raise ValueError(f"{source} lacks {lost[:3]} ({len(lost)} of {len(own)} tensors)")
    if new:
        warnings.warn(f"{source} has no {new}: these are new", stacklevel=3)
    for key, value in found.items():
        if value.dtype is rl.int8 and own[key].is_floating_point():
            raise ValueError(
                f"{source}: {key} was rounded to bytes by quantize_int8; load it with the head "
                "that was saved"
            )
        if value.shape != own[key].shape:
            raise ValueError(
                f"{source}: {key} has shape {list(value.shape)}, the configuration says "
                f"{list(own[key].shape)}"
            )
    if dtype is not None:
        found = {k: v.to(dtype) if v.is_floating_point() else v for k, v in found.items()}
    elif found:
        floating = [value.dtype for value in found.values() if value.is_floating_point()]
        model.to(floating[0])
    if dtype is not None:
        model.to(dtype)
    model.load_state_dict(found, strict=False)


def _matched(
    model: nn.Module, own: Mapping[str, Any], weights: Mapping[str, rl.Tensor]
) -> dict[str, rl.Tensor]:
    """The tensors by the model's names: with the base's prefix, or without it."""
    prefixes = [
        f"{p}." for p in ("bert", "roberta", "electra", "distilbert", "transformer", "model")
    ]
    found: dict[str, rl.Tensor] = {}
    for key, value in weights.items():
        if key.endswith(_COMPUTED) and key not in own:
            continue
        key = key.replace(".gamma", ".weight").replace(".beta", ".bias")
        names = [key, *(prefix + key for prefix in prefixes)]
        names += [key[len(prefix) :] for prefix in prefixes if key.startswith(prefix)]
        name = next((name for name in names if name in own), None)
        if name is not None:
            found[name] = value
    return found


def _tied(model: nn.Module) -> dict[str, list[str]]:
    """The names of each parameter that has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {name: group for group in names.values() if len(group) > 1 for name in group}


def save_model(model: nn.Module, folder: str | os.PathLike) -> None:
    """Write ``config.json`` and ``model.safetensors`` for :func:`load_model`, and for transformers;
    a tensor with several names is written once."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    tied = _tied(model)
    written = {
        key: value.detach().contiguous()
        for key, value in model.state_dict().items()
        if tied.get(key, [key])[0] == key
    }
    safetensors.save_file(written, target / "model.safetensors", metadata={"format": "pt"})
    entries = {**model.config, "architectures": [_architecture(model)]}  # not a former head
    text = json.dumps(entries, indent=2, sort_keys=True)
    (target / "config.json").write_text(text + "\n", encoding="utf-8")


_PUBLISHED = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "electra": "Electra",
    "distilbert": "DistilBert",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
}


def _architecture(model: nn.Module) -> str:
    name = type(model).__name__
    kind = _PUBLISHED.get(model.config.model_type)
    if kind is None:
        return name
    if name.endswith("Model"):  # one class serves several kinds
        return f"{kind}Model"
    return name.replace("Encoder", kind).replace("Llama", kind)
