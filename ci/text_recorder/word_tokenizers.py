"""BERT's and CLIP's tokenizers as transformers has them, and torchtext's rules, on small files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import transformers
from corpus import questions, sentences
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def _wordpieces() -> list[str]:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=SPECIAL, show_progress=False)
    lines = [*sentences(400), "Ünïcode naïve 日 語 é è Ł", *(chr(c) for c in range(33, 127))]
    tokenizer.train_from_iterator(lines, trainer)
    return sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)


def _bert(folder: Path) -> dict:
    vocab = _wordpieces()
    (folder / "vocab.txt").write_text("\n".join(vocab) + "\n")
    found: dict = {"vocab": vocab, "answers": {}}
    for lower in (True, False):
        tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=lower)
        found["answers"][str(lower)] = [tokenizer.tokenize(text) for text in questions()]
    return found


def _clip(folder: Path) -> dict:
    from word_letters import merges, vocabulary

    pairs = merges()
    table = vocabulary(pairs)
    (folder / "vocab.json").write_text(json.dumps(table))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(map(" ".join, pairs)))
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    answers = [tokenizer.tokenize(text) for text in questions()]
    ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in questions()]
    return {"merges": pairs, "tokens": answers, "ids": ids}


def record(folder: Path) -> None:
    """Write ``word_tokenizers.json``."""
    with tempfile.TemporaryDirectory() as scratch:
        found = {"texts": questions(), "bert": _bert(Path(scratch)), "clip": _clip(Path(scratch))}
    (folder / "word_tokenizers.json").write_text(json.dumps(found, indent=0))
