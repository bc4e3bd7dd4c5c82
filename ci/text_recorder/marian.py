"""A small tokenizer of Marian's kind as transformers has it."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from pathlib import Path

import sentencepiece
import transformers
from corpus import questions, sentences


def _trained(seed: int, size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(300, seed)),
        model_writer=model,
        minloglevel=2,
        model_type="unigram",
        vocab_size=size,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
    )
    return model.getvalue()


def record(folder: Path) -> None:
    """Write ``marian.json``: three files, and answers."""
    files = {"source.spm": _trained(1, 70), "target.spm": _trained(2, 80)}
    pieces: list[str] = []
    for content in files.values():
        model = sentencepiece.SentencePieceProcessor(model_proto=content)
        pieces += [model.id_to_piece(i) for i in range(3, model.get_piece_size())]
    names = ["</s>", "<unk>", ">>fra<<", *dict.fromkeys(pieces[:-9]), "<pad>"]
    table = {name: index for index, name in enumerate(names)}
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in files.items():
            Path(scratch, name).write_bytes(content)
        Path(scratch, "vocab.json").write_text(json.dumps(table))
        made = transformers.MarianTokenizer(
            *(str(Path(scratch, name)) for name in ("source.spm", "target.spm", "vocab.json"))
        )
        texts = [text for text in [*questions(), ">>fra<< the cat"] if text.strip()]
        sources = [made(text)["input_ids"] for text in texts]
        targets = [made(text_target=text)["input_ids"] for text in texts]
        found = {
            "files": {name: base64.b64encode(data).decode() for name, data in files.items()},
            "vocab": table,
            "texts": texts,
            "sources": sources,
            "targets": targets,
            "decoded": [made.decode(ids, skip_special_tokens=True) for ids in targets],
            "whole": [made.decode(ids) for ids in targets],
        }
    (folder / "marian.json").write_text(json.dumps(found))
