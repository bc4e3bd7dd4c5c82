"""Tiny models saved by transformers, and their outputs: one folder for each kind and head."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import save

V = 24
_BERT = {
    "vocab_size": V,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 16,
    "num_labels": 3,
}
_LLAMA = {
    "vocab_size": V,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 64,
}
_BART = {
    "vocab_size": V,
    "d_model": 8,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 12,
    "max_position_embeddings": 20,
    "pad_token_id": 1,
}
_T5 = {
    "vocab_size": V,
    "d_model": 8,
    "d_kv": 4,
    "d_ff": 12,
    "num_layers": 2,
    "num_heads": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
}
_ROPE3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
_GPT2 = {"vocab_size": V, "n_positions": 20, "n_embd": 8, "n_layer": 2, "n_head": 2}
_DISTIL = {"vocab_size": V, "dim": 8, "n_layers": 1, "n_heads": 2, "hidden_dim": 12}

CASES = {
    "bert": (hf.BertModel, hf.BertConfig(**_BERT | {"num_hidden_layers": 2})),
    "bert_masked": (hf.BertForMaskedLM, hf.BertConfig(**_BERT, hidden_act="gelu_new")),
    "bert_labels": (hf.BertForSequenceClassification, hf.BertConfig(**_BERT)),
    "bert_tokens": (hf.BertForTokenClassification, hf.BertConfig(**_BERT)),
    "bert_spans": (hf.BertForQuestionAnswering, hf.BertConfig(**_BERT | {"num_labels": 2})),
    "roberta_masked": (hf.RobertaForMaskedLM, hf.RobertaConfig(**_BERT, pad_token_id=1)),
    "roberta_labels": (
        hf.RobertaForSequenceClassification,
        hf.RobertaConfig(**_BERT, pad_token_id=1),
    ),
    "xlmr": (hf.XLMRobertaModel, hf.XLMRobertaConfig(**_BERT, pad_token_id=1)),
    "electra": (hf.ElectraModel, hf.ElectraConfig(**_BERT, embedding_size=4)),
    "electra_masked": (hf.ElectraForMaskedLM, hf.ElectraConfig(**_BERT, embedding_size=4)),
    "electra_labels": (
        hf.ElectraForSequenceClassification,
        hf.ElectraConfig(**_BERT, embedding_size=8),
    ),
    "distilbert": (hf.DistilBertModel, hf.DistilBertConfig(**_DISTIL, max_position_embeddings=16)),
    "distilbert_masked": (
        hf.DistilBertForMaskedLM,
        hf.DistilBertConfig(**_DISTIL, max_position_embeddings=16),
    ),
    "distilbert_labels": (
        hf.DistilBertForSequenceClassification,
        hf.DistilBertConfig(**_DISTIL, max_position_embeddings=16, num_labels=3),
    ),
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config(**_GPT2, bos_token_id=0, eos_token_id=0)),
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig(**_LLAMA)),
    "llama3": (
        hf.LlamaForCausalLM,
        hf.LlamaConfig(**_LLAMA, rope_parameters=_ROPE3, tie_word_embeddings=True),
    ),
    "mistral": (hf.MistralForCausalLM, hf.MistralConfig(**_LLAMA, head_dim=4)),
    "window": (
        hf.MistralForCausalLM,
        hf.MistralConfig(**_LLAMA, head_dim=4, sliding_window=3),
    ),
    "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config(**_LLAMA)),
    "t5": (hf.T5ForConditionalGeneration, hf.T5Config(**_T5)),
    "flan": (
        hf.T5ForConditionalGeneration,
        hf.T5Config(**_T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
    ),
    "bart": (hf.BartForConditionalGeneration, hf.BartConfig(**_BART)),
    "marian": (
        hf.MarianMTModel,
        hf.MarianConfig(**_BART, scale_embedding=True, decoder_start_token_id=1, eos_token_id=0),
    ),
}
SEQ2SEQ = ("t5", "flan", "bart", "marian")


def _inputs(name: str, pad: int) -> dict[str, torch.Tensor]:
    ids = torch.tensor([[5, 9, 7, 11, 3, 20, 2], [4, 8, 6, 2, pad, pad, pad]])
    mask = (ids != pad).long()
    return {"input_ids": ids, "attention_mask": mask}


def _spread(model) -> None:
    torch.manual_seed(3)
    with torch.no_grad():
        for key, value in model.named_parameters():
            if "embed_positions" in key and not value.requires_grad:
                continue
            norm = "norm" in key.lower() or "ln_" in key
            one = norm and key.endswith("weight")
            value.copy_(torch.randn_like(value) * 0.4 + one)
        for key, value in model.named_buffers():
            if key == "final_logits_bias":
                value.copy_(torch.randn_like(value))


def _outputs(name: str, model, inputs: dict) -> dict[str, torch.Tensor]:
    extra = {}
    if name in SEQ2SEQ:
        extra = {"labels": torch.tensor([[6, 7, 3, 2], [5, 2, -100, -100]])}
    elif name.startswith("bert"):
        extra = {"token_type_ids": torch.tensor([[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0, 0]])}
    elif name in ("gpt2", "llama"):
        extra = {"labels": inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)}
    found = model(**inputs, **extra)
    kept = ("logits", "loss", "last_hidden_state", "pooler_output", "start_logits", "end_logits")
    return {key: found[key] for key in kept if found.get(key) is not None} | {
        f"in.{key}": value for key, value in {**inputs, **extra}.items()
    }


def record(folder: Path) -> None:
    """Write ``tiny_models.safetensors.gz`` and ``tiny_models.json`` (configurations)."""
    tensors: dict[str, torch.Tensor] = {}
    configs = {}
    for name, (kind, config) in CASES.items():
        torch.manual_seed(0)
        model = kind(config).eval()
        _spread(model)
        pad = config.pad_token_id if config.pad_token_id is not None else 0
        with torch.no_grad():
            outputs = _outputs(name, model, _inputs(name, pad))
        with tempfile.TemporaryDirectory() as scratch:
            model.save_pretrained(scratch)
            configs[name] = json.loads(Path(scratch, "config.json").read_text())
            weights = Path(scratch, "model.safetensors").read_bytes()
        tensors[f"{name}/weights"] = torch.frombuffer(bytearray(weights), dtype=torch.uint8)
        tensors |= {f"{name}/{key}": value.contiguous() for key, value in outputs.items()}
    target = folder / "tiny_models.safetensors.gz"
    target.write_bytes(gzip.compress(save(tensors), 9, mtime=0))
    (folder / "tiny_models.json").write_text(json.dumps(configs, indent=0))
