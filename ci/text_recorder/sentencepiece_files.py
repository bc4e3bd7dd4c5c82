"""Small SentencePiece models, and what the library makes of sentences with them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import sentencepiece
from corpus import questions, sentences

PLAIN = {"normalization_rule_name": "identity", "vocab_size": 90, "hard_vocab_limit": False}
MODELS = {
    "unigram": PLAIN | {"model_type": "unigram"},
    "bpe": PLAIN | {"model_type": "bpe", "vocab_size": 120},
    "unigram_bytes": PLAIN | {"model_type": "unigram", "byte_fallback": True, "vocab_size": 340},
    "bpe_bytes": PLAIN | {"model_type": "bpe", "byte_fallback": True, "vocab_size": 370},
    "users": PLAIN | {"model_type": "unigram", "user_defined_symbols": ["<sep>", "cat"]},
    "bpe_users": PLAIN | {"model_type": "bpe", "user_defined_symbols": ["<sep>", "cat"]},
    "spaces": PLAIN | {"model_type": "bpe", "remove_extra_whitespaces": False},
    "bare": PLAIN | {"model_type": "unigram", "add_dummy_prefix": False, "pad_id": 3},
    "rules": PLAIN | {"model_type": "unigram", "normalization_rule_tsv": "rules.tsv"},
}
RULES = {"A": "a", "É": "e", "ﬁ": "fi", "½": "1 2", "\t": " ", "\n": " ", "　": " ", "e\u0301": "é"}


def _trained(options: dict) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(400)), model_writer=model, minloglevel=2, **options
    )
    return model.getvalue()


def _answers(processor) -> list[dict]:
    found = []
    for text in questions():
        ids = processor.encode(text)
        pieces = processor.encode(text, out_type=str)
        found.append({"text": text, "ids": ids, "pieces": pieces, "decoded": processor.decode(ids)})
    return found


def record(folder: Path) -> None:
    """Write ``sentencepiece.json``."""
    rules = folder / "rules.tsv"
    code = lambda text: " ".join(f"{ord(letter):X}" for letter in text)  # noqa: E731
    rules.write_text("".join(f"{code(old)}\t{code(new)}\n" for old, new in RULES.items()))
    recorded = {}
    for name, options in MODELS.items():
        if "normalization_rule_tsv" in options:
            options = options | {"normalization_rule_tsv": str(rules)}
            options.pop("normalization_rule_name")
        model = _trained(options)
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        recorded[name] = {
            "model": base64.b64encode(model).decode(),
            "answers": _answers(processor),
        }
    rules.unlink()
    (folder / "sentencepiece.json").write_text(json.dumps(recorded, ensure_ascii=True, indent=0))
