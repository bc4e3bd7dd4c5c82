"""Packaged networks by name; how words are spoken."""

from __future__ import annotations

import itertools
import math
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.zoo.aligned import AlignedTransformer
from rushlight_text.zoo.bags import packaged_file
from rushlight_text.zoo.files import read_network, write_network
from rushlight_text.zoo.writers import CharacterWriter, PlainEnglish

__all__ = ["NETWORKS", "Pronouncer", "load_network"]

BEGIN, END = 0, 1
_SPECIAL = 2
_BATCH = 512  # words that are searched at once
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Pronouncer(nn.Module):
    """Spelling to sounds: a transformer from letters to the phones of the CMU dictionary.

    Each letter gives a piece of none, one or two phones. Letters that the network has not seen
    lose their accents, or are left out.

    Args:
        model: over the begin, the end and the letters, and over the pieces.
        letters: in the order of their ids.
        pieces: in the order of their ids, phones separated by spaces.
    """

    longest = 32  # letters of a word

    def __init__(self, model: AlignedTransformer, letters: Sequence[str], pieces: Sequence[str]):
        super().__init__()
        self.model, self.letters, self.pieces = model, list(letters), list(pieces)
        self.ids = {letter: number for number, letter in enumerate(letters, _SPECIAL)}
        self.piece_ids = {piece: number for number, piece in enumerate(pieces)}

    def encode(self, word: str) -> list[int]:
        """The ids of the begin, a word's letters and the end."""
        plain = unicodedata.normalize("NFKD", word.lower().replace("’", "'"))
        ids = [self.ids[c] for c in plain if c in self.ids]
        return [BEGIN, *ids[: self.longest], END]

    def predict(self, words: Sequence[str], num_beams: int = 1) -> list[list[str]]:
        """The phones of each word, such as ``["K", "AE1", "T"]``; none of a word without letters.

        The probabilities of sequences that give the same phones are added up.
        """
        if num_beams < 1:
            raise ValueError(f"Pronouncer: num_beams must be positive, got {num_beams}")
        rows = [self.encode(word) for word in words]
        found: list[list[str]] = [[] for _ in rows]
        order = sorted(
            (n for n, row in enumerate(rows) if len(row) > 2), key=lambda n: len(rows[n])
        )
        for _, same in itertools.groupby(order, key=lambda n: len(rows[n])):
            numbers = list(same)
            for start in range(0, len(numbers), _BATCH):
                part = numbers[start : start + _BATCH]
                pieces, scores = self.model.search(rl.tensor([rows[n] for n in part]), num_beams)
                for number, *beams in zip(part, pieces.tolist(), scores.tolist(), strict=True):
                    found[number] = self._likeliest(*beams)
        return found

    def _likeliest(self, beams: list[list[int]], scores: list[float]) -> list[str]:
        shares: dict[str, float] = defaultdict(float)
        for beam, score in zip(beams, scores, strict=True):
            said = " ".join(self.pieces[number] for number in beam if self.pieces[number])
            shares[said] += math.exp(score)
        return max(shares, key=shares.__getitem__).split()

    def __call__(self, texts: str | Sequence[str], num_beams: int = 4) -> Any:
        """The phones of all words of a text, of each word a list; a list of those for several."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        words = [_WORD.findall(text) for text in listed]
        flat = iter(self.predict([word for row in words for word in row], num_beams))
        found = [[next(flat) for _ in row] for row in words]
        return found[0] if isinstance(texts, str) else found

    def save(self, path: str | os.PathLike) -> None:
        """Write one file."""
        write_network(path, self.model, letters=self.letters, pieces=self.pieces)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Pronouncer:
        """Read what :meth:`save` wrote; ValueError where the file has another network."""

        def built(config: dict[str, Any]) -> AlignedTransformer:
            try:
                return AlignedTransformer(**config)
            except TypeError as error:
                raise ValueError(f"{path} has no {AlignedTransformer.__name__}: {error}") from None

        model, notes = read_network(path, built)
        return cls(model, notes["letters"], notes["pieces"]).eval()


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
