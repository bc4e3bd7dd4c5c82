"""Tokenizers in folders of Hugging Face: which files there are, and what they say."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushlight_text.tokenizers._convert import (
    bert_backend,
    byte_level_backend,
    sentencepiece_backend,
)

if TYPE_CHECKING:
    import tokenizers

    from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["read_backend", "read_folder", "write_folder"]

_NAMES = tuple(f"{n}_token" for n in "bos eos unk sep pad cls mask".split())
SENTENCEPIECE = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model")
_LONGEST = 10**9
# Classes whose models take the numbers of the texts.
_WITH_TYPES = ("Bert", "Electra", "MobileBert", "Funnel", "ConvBert", "Deberta")


def read_backend(path: str | os.PathLike) -> tokenizers.Tokenizer:
    """The library's tokenizer in a ``tokenizer.json``."""
    import tokenizers

    if not Path(path).is_file():
        raise FileNotFoundError(f"no tokenizer: {os.fspath(path)!r}")
    try:
        backend = tokenizers.Tokenizer.from_file(os.fspath(path))
    except Exception as error:  # the library raises bare Exception
        raise ValueError(f"{path}: not a tokenizer: {error}") from error
    backend.no_padding()
    backend.no_truncation()
    return backend


def read_folder(folder: Path) -> tuple[tokenizers.Tokenizer, dict[str, Any]]:
    """The tokenizer of a folder, and the options of :class:`Tokenizer` that stand beside it."""
    settings = _json(folder / "tokenizer_config.json")
    special = {**_json(folder / "special_tokens_map.json"), **settings}
    listed = ((name, _content(special.get(name))) for name in _NAMES)
    tokens = {name: token for name, token in listed if token is not None}
    backend = _backend(folder, settings, tokens)
    known = {name: t for name, t in tokens.items() if backend.token_to_id(t) is not None}
    kind = str(settings.get("tokenizer_class", ""))
    template = folder / "chat_template.jinja"
    longest = settings.get("model_max_length") or _LONGEST
    return backend, {
        "special_tokens": known,
        "max_length": int(min(longest, _LONGEST)),
        "padding_side": settings.get("padding_side", "right"),
        "chat_template": template.read_text(encoding="utf-8")
        if template.is_file()
        else _template(settings.get("chat_template")),
        "type_ids": kind.startswith(_WITH_TYPES),
        "clean_up": bool(settings.get("clean_up_tokenization_spaces", False)),
    }


def _backend(
    folder: Path, settings: dict[str, Any], tokens: dict[str, str]
) -> tokenizers.Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return read_backend(folder / "tokenizer.json")
    if (folder / "vocab.txt").is_file():
        return bert_backend(folder / "vocab.txt", settings, tokens)
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return byte_level_backend(folder, settings, tokens)
    for name in SENTENCEPIECE:
        if (folder / name).is_file():
            return sentencepiece_backend(folder / name, settings, tokens)
    raise FileNotFoundError(
        f"{folder}: none of tokenizer.json, vocab.txt, vocab.json with merges.txt, "
        f"{', '.join(SENTENCEPIECE)}"
    )


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: must hold one JSON object")
    return found


def _content(token: Any) -> str | None:
    return token.get("content") if isinstance(token, dict) else token


def _template(found: Any) -> str | None:
    """The template, or of several the one called default."""
    if isinstance(found, list):
        return next((each["template"] for each in found if each.get("name") == "default"), None)
    return found


def write_folder(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files that :func:`read_folder` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.backend.save(os.fspath(folder / "tokenizer.json"))
    settings: dict[str, Any] = {
        name: getattr(tokenizer, name) for name in _NAMES if getattr(tokenizer, name) is not None
    }
    settings |= {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": tokenizer.max_length,
        "padding_side": tokenizer.padding_side,
        "clean_up_tokenization_spaces": tokenizer.clean_up,
    }
    if tokenizer.type_ids:
        settings["tokenizer_class"] = "BertTokenizer"
    if tokenizer.chat_template:
        settings["chat_template"] = tokenizer.chat_template
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")
