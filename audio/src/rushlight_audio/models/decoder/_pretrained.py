"""Lexicons, tokens and language models that torchaudio publishes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import rushlight as rl

__all__ = ["download_pretrained_files"]

ADDRESS = "https://download.pytorch.org/torchaudio/decoder-assets"
MODELS = ("librispeech-3-gram", "librispeech-4-gram", "librispeech")


class PretrainedFiles(NamedTuple):
    """Paths of files; `lm` is None where there is no language model."""

    lexicon: str
    tokens: str
    lm: str | None


def download_pretrained_files(model: str) -> PretrainedFiles:
    """The files of a published decoder, fetched unless they are in the folder
    ``torchaudio/decoder-assets`` of :func:`rushlight.hub.get_dir`.

    Args:
        model: ``"librispeech-3-gram"``, ``"librispeech-4-gram"`` or ``"librispeech"``, which has no
            language model. The language models are binary files of KenLM, which :func:`ctc_decoder`
            refuses; put an ARPA file in their place.

    Raises:
        ValueError: there is no such decoder.
        ConnectionError: a file is not there and cannot be fetched.
    """
    if model not in MODELS:
        raise ValueError(f"{model} not supported. Must be one of {list(MODELS)}")
    names = ["lexicon.txt", "tokens.txt"] + ([] if model == "librispeech" else ["lm.bin"])
    folder = Path(rl.hub.get_dir()) / "torchaudio" / "decoder-assets" / model
    paths = []
    for name in names:
        path = folder / name
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            rl.hub.download_url_to_file(f"{ADDRESS}/{model}/{name}", str(path))
        paths.append(str(path))
    return PretrainedFiles(paths[0], paths[1], paths[2] if len(paths) > 2 else None)
