"""Packaged networks by name; how words are spoken."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from rushlight import nn
from rushlight_text.data.collate import pad_ids
from rushlight_text.generation import generate
from rushlight_text.zoo.bags import packaged_file
from rushlight_text.zoo.files import read_network, write_network
from rushlight_text.zoo.writers import CharacterWriter, PlainEnglish

__all__ = ["NETWORKS", "Pronouncer", "load_network"]

PAD, END, UNKNOWN = 0, 1, 2
_SPECIAL = 3
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


class Pronouncer(nn.Module):
    """Spelling to sounds: a transformer from letters to the phones of the CMU dictionary.

    Args:
        model: an encoder-decoder over special ids, letters and phones.
        letters, phones: in the order of their ids.
    """

    longest = 32  # letters of a word, and phones

    def __init__(self, model: nn.Module, letters: Sequence[str], phones: Sequence[str]):
        super().__init__()
        self.model, self.letters, self.phones = model, list(letters), list(phones)
        self.ids = {letter: number for number, letter in enumerate(letters, _SPECIAL)}
        start = _SPECIAL + len(self.letters)
        self.phone_ids = {phone: number for number, phone in enumerate(phones, start)}

    def encode(self, word: str) -> list[int]:
        """The ids of a word's letters and the end."""
        return [self.ids.get(c, UNKNOWN) for c in word.lower()[: self.longest]] + [END]

    def encode_phones(self, phones: Sequence[str]) -> list[int]:
        """The ids of phones and the end."""
        return [self.phone_ids[phone] for phone in phones] + [END]

    def predict(self, words: Sequence[str], num_beams: int = 1) -> list[list[str]]:
        """The phones of each word, such as ``["K", "AE1", "T"]``."""
        if not words:
            return []
        ids, mask = pad_ids([self.encode(word) for word in words], PAD)
        found = generate(self.model, ids, mask, max_new_tokens=self.longest, num_beams=num_beams)
        start = _SPECIAL + len(self.letters)
        return [
            [self.phones[n - start] for n in row if n >= start] for row in found[:, 1:].tolist()
        ]

    def __call__(self, texts: str | Sequence[str], num_beams: int = 4) -> Any:
        """The phones of all words of a text, of each word a list; a list of those for several."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        words = [_WORD.findall(text) for text in listed]
        flat = iter(self.predict([word for row in words for word in row], num_beams))
        found = [[next(flat) for _ in row] for row in words]
        return found[0] if isinstance(texts, str) else found

    def save(self, path: str | os.PathLike) -> None:
        """Write one file."""
        write_network(path, self.model, letters=self.letters, phones=self.phones)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Pronouncer:
        """Read what :meth:`save` wrote."""
        model, notes = read_network(path, "seq2seq-lm")
        return cls(model, notes["letters"], notes["phones"]).eval()


NETWORKS: dict[str, Any] = {
    "character_gpt": CharacterWriter,
    "plain_english": PlainEnglish,
    "pronunciation": Pronouncer,
}


def load_network(name: str) -> nn.Module:
    """The packaged network of a name in `NETWORKS`, in evaluation mode.

    Raises ValueError for an unknown name, RuntimeError where the file is damaged.
    """
    if name not in NETWORKS:
        raise ValueError(f"no packaged network is called {name!r}; there are {sorted(NETWORKS)}")
    return NETWORKS[name].load(packaged_file(name))
