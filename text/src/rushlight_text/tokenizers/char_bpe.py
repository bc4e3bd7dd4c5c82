"""Byte-pair encoding of characters, as of the first papers; words are cut at white space."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["CharBPE", "get_pairs", "merge_word"]


def get_pairs(word: Sequence[str]) -> set[tuple[str, str]]:
    """The pairs of neighbours in a word.

    >>> sorted(get_pairs("abc"))
    [('a', 'b'), ('b', 'c')]
    """
    return set(zip(word, word[1:], strict=False))


def merge_word(symbols: Sequence[str], ranks: dict[tuple[str, str], int]) -> list[str]:
    """Merge neighbours, the pair of the lowest rank first, until no pair has a rank."""
    word = list(symbols)
    while len(word) > 1:
        best = min(get_pairs(word), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        merged: list[str] = []
        for symbol in word:
            if merged and (merged[-1], symbol) == best:
                merged[-1] = best[0] + best[1]
            else:
                merged.append(symbol)
        word = merged
    return word


class CharBPE:
    """Tokens of words by a list of merges.

    Args:
        encoder_path: JSON of tokens and ids.
        merges_path: a header line, then two symbols a line, best first.
        unk_token: what unknown tokens count as; without it they are a KeyError.
        suffix: what the last character of a word ends in, such as ``</w>``.
        special_tokens: words that are never cut.

    Raises:
        RuntimeError: `unk_token` or a special token has no id.
        FileNotFoundError: a file is missing.
    """

    def __init__(
        self,
        encoder_path: str | os.PathLike,
        merges_path: str | os.PathLike,
        unk_token: str | None = None,
        suffix: str | None = None,
        special_tokens: Iterable[str] | None = None,
    ):
        self.encoder: dict[str, int] = json.loads(Path(encoder_path).read_text(encoding="utf-8"))
        self.decoder = {index: token for token, index in self.encoder.items()}
        lines = Path(merges_path).read_text(encoding="utf-8").split("\n")[1:]
        pairs = [tuple(line.split()) for line in lines if line.strip()]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs) if len(pair) == 2}
        self.suffix = suffix or ""
        self.unk_token = unk_token
        self.special = set(special_tokens or ())
        for kind, token in [("Unknown", unk_token), *(("Special", each) for each in self.special)]:
            if token and token not in self.encoder:
                raise RuntimeError(
                    f"{kind} token {token} not found in encoder. Special tokens must be in encoder."
                )

    def __len__(self) -> int:
        return len(self.encoder)

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return [token for word in text.split() for token in self._word(word)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; KeyError for an unknown token without `unk_token`."""
        return [self._id(token) for token in self.tokenize(text)]

    def _word(self, word: str) -> list[str]:
        if word in self.special:
            return [word]
        return merge_word([*word[:-1], word[-1] + self.suffix], self.ranks)

    def _id(self, token: str) -> int:
        if self.unk_token is None:
            return self.encoder[token]
        return self.encoder.get(token, self.encoder[self.unk_token])

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; special tokens stand between spaces."""
        text = ""
        for index in ids:
            token = self._token(index)
            if token in self.special or (token.startswith("<") and not self.suffix):
                text = f"{text.rstrip()} {token} "
            elif self.suffix:
                text += token.replace(self.suffix, " ")
            else:
                text += token + " "
        return text.strip()

    def _token(self, index: int) -> str:
        if self.unk_token is None:
            return self.decoder[index]
        return self.decoder.get(index, self.unk_token)
