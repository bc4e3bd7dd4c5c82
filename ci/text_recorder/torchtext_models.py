"""Tiny RoBERTa and T5 models of torchtext 0.18: weights, inputs, outputs.

Its binary part belongs to a PyTorch of 2024 and is left out; models and generation need none of it.
"""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file

_BINARY = (
    "CLIPEncoder GPT2BPEEncoder BERTEncoder RegexTokenizer SentencePiece Vocab Vectors "
    "_build_vocab_from_text_file _build_vocab_from_text_file_using_python_tokenizer "
    "_load_vocab_from_file _load_token_and_vectors_from_file"
).split()


def torchtext():
    """The package, importable without its extension."""
    extension = types.ModuleType("torchtext._extension")
    extension._init_extension = lambda: None
    binary = types.ModuleType("torchtext._torchtext")
    for name in _BINARY:
        setattr(binary, name, type(name, (), {}))
    sys.modules |= {extension.__name__: extension, binary.__name__: binary}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torchtext.models
        import torchtext.prototype.generate  # noqa: F401
    return sys.modules["torchtext"]


def _flat(outputs, prefix="out") -> dict:
    """Tensors inside of dicts, lists and tuples by a path of their own."""
    if isinstance(outputs, torch.Tensor):
        return {prefix: outputs.detach().clone().contiguous()}
    if isinstance(outputs, dict):
        items = outputs.items()
    elif isinstance(outputs, (list, tuple)):
        items = enumerate(outputs)
    else:
        return {}
    found = {}
    for key, value in items:
        found |= _flat(value, f"{prefix}.{key}")
    return found


def _spread(model) -> None:
    """Weights unlike the initial ones, so that nothing is hidden by zeros and ones."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4 + ("norm" in name))


def _saved(path: Path, model, outputs, **inputs) -> None:
    state = {f"state.{k}": v.clone().contiguous() for k, v in model.state_dict().items()}
    save_file(state | _flat(outputs) | {f"in.{k}": v for k, v in inputs.items()}, str(path))


def _roberta(models, folder: Path) -> None:
    tokens = torch.tensor([[0, 5, 6, 7, 2, 1, 1], [0, 9, 8, 7, 6, 5, 2], [0, 2, 1, 1, 1, 1, 1]])
    for first in (False, True):
        conf = models.RobertaEncoderConf(11, 8, 16, 1, 12, 2, 2, normalize_before=first)
        torch.manual_seed(0)
        model = models.RobertaModel(conf, models.RobertaClassificationHead(3, 8)).eval()
        _spread(model)
        with torch.no_grad():
            outputs = {
                "logits": model(tokens),
                "features": model.encoder(tokens),
                "masked": model.encoder(tokens, tokens == 6),
            }
        name = f"torchtext_roberta_{'pre' if first else 'post'}norm.safetensors"
        _saved(folder / name, model, outputs, tokens=tokens)


def _t5(package, folder: Path, gated: bool) -> None:
    models = package.models
    conf = models.T5Conf(
        embedding_dim=8,
        qkv_dim=3,
        num_attention_heads=2,
        num_encoder_layers=2,
        num_decoder_layers=2,
        ffn_dimension=16,
        vocab_size=11,
        linear_head=True,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=6,
        feed_forward_proj="gated-gelu" if gated else None,
    )
    torch.manual_seed(0)
    model = models.T5Model(conf).eval()
    _spread(model)
    source = torch.tensor([[5, 6, 7, 2, 3, 4, 9, 1], [9, 8, 7, 1, 0, 0, 0, 0]])
    target = torch.tensor([[0, 5, 6, 4], [0, 3, 0, 0]])
    with torch.no_grad():
        outputs = {
            "whole": model(source, target),
            "start": model(source, return_past_key_values=True),
            "encoded": model.encoder(src=source),
        }
        generator = models.t5.bundler.GenerationUtilsForT5(model)
        outputs["generated"] = generator.generate(source, max_length=9, eos_idx=1, pad_idx=0)
    name = f"torchtext_t5_{'gated' if gated else 'plain'}.safetensors"
    _saved(folder / name, model, outputs, source=source, target=target)


def record(folder: Path) -> None:
    """Write ``torchtext_roberta_*.safetensors`` and ``torchtext_t5_*.safetensors``."""
    package = torchtext()
    _roberta(package.models, folder)
    _t5(package, folder, gated=False)
    _t5(package, folder, gated=True)
