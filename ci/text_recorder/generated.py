"""What transformers generates with tiny models, and what its processors make of scores."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers as hf
from tiny_models import CASES, SEQ2SEQ, _spread

OPTIONS = [
    {},
    {"repetition_penalty": 1.7},
    {"no_repeat_ngram_size": 2},
    {"min_new_tokens": 5},
    {"bad_words_ids": [[3], [5, 9]]},
    {"num_beams": 3},
    {"num_beams": 4, "length_penalty": 2.0, "num_return_sequences": 2},
    {"num_beams": 2, "length_penalty": 0.0, "early_stopping": True},
    {"num_beams": 3, "no_repeat_ngram_size": 2, "repetition_penalty": 1.3},
]
NAMES = ("gpt2", "llama", "t5", "bart", "marian")


def _runs(name: str) -> list[dict]:
    kind, config = CASES[name]
    torch.manual_seed(0)
    model = kind(config).eval()
    _spread(model)
    pad = 1 if name in ("bart", "marian") else 0
    ids = torch.tensor([[5, 9, 7, 11, 3], [pad, pad, 4, 8, 6]])
    if name in SEQ2SEQ:
        ids = torch.tensor([[5, 9, 7, 11, 2], [4, 8, 2, pad, pad]])
    found = []
    for options in OPTIONS:
        for end in (2, 13):
            settings = {
                "max_new_tokens": 8,
                "do_sample": False,
                "eos_token_id": end,
                "pad_token_id": pad,
                "decoder_start_token_id": pad,
                "forced_eos_token_id": None,
                "forced_bos_token_id": None,
                "bos_token_id": None,
            }
            made = hf.GenerationConfig(**settings, **options)
            out = model.generate(ids, attention_mask=(ids != pad).long(), generation_config=made)
            found.append({"options": options, "end": end, "pad": pad, "ids": out.tolist()})
    return [{"input": ids.tolist()}, *found]


def _processed() -> list[dict]:
    torch.manual_seed(1)
    scores = torch.randn(3, 12) * 2
    found = [{"scores": scores.tolist()}]
    for name, warper in (
        ("top_k", hf.TopKLogitsWarper(4)),
        ("top_p", hf.TopPLogitsWarper(0.8)),
        ("min_p", hf.MinPLogitsWarper(0.1)),
        ("temperature", hf.TemperatureLogitsWarper(0.7)),
    ):
        out = warper(torch.zeros(3, 1, dtype=torch.long), scores.clone())
        kept = [[None if x == float("-inf") else x for x in row] for row in out.tolist()]
        found.append({"name": name, "scores": kept})
    return found


def record(folder: Path) -> None:
    """Write ``generated.json``."""
    found = {name: _runs(name) for name in NAMES} | {"processors": _processed()}
    (folder / "generated.json").write_text(json.dumps(found))
