"""Ranks of OpenAI's tiktoken: a token in base64 and its rank a line."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rushlight_text.tokenizers.byte_letters import bytes_to_unicode
from rushlight_text.tokenizers.pretrained import Tokenizer

__all__ = ["GPT2_PATTERN", "from_tiktoken", "read_ranks"]

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def read_ranks(path: str | os.PathLike) -> dict[bytes, int]:
    """Token to rank; ValueError names the line of another form."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file of ranks: {os.fspath(path)!r}")
    ranks = {}
    for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise ValueError(f"{path}, line {number}: not a token and a rank: {error}") from error
    return ranks


def from_tiktoken(
    ranks: str | os.PathLike | Mapping[bytes, int],
    *,
    pattern: str = GPT2_PATTERN,
    special_tokens: Mapping[str, int] | None = None,
    **options: Any,
) -> Tokenizer:
    """A tokenizer of a file of ranks, or of the ranks themselves.

    Args:
        ranks: the file, or token to rank; a rank is the id.
        pattern: regular expression that cuts a text into words.
        special_tokens: token to id; ids that are not the next free ones are a ValueError.
        options: for :class:`Tokenizer`.
    """
    import tokenizers
    from tokenizers import Regex, decoders, models, pre_tokenizers

    table = dict(ranks) if isinstance(ranks, Mapping) else read_ranks(ranks)
    letters = bytes_to_unicode()

    def spelled(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    merges = [(spelled(a), spelled(b)) for a, b in _merges(table)]
    vocab = {spelled(token): rank for token, rank in table.items()}
    backend = tokenizers.Tokenizer(models.BPE(vocab, merges, ignore_merges=True))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    for token, index in sorted((special_tokens or {}).items(), key=lambda pair: pair[1]):
        backend.add_special_tokens([token])
        if backend.token_to_id(token) != index:
            raise ValueError(
                f"from_tiktoken(): special token {token!r} cannot have id {index}: the next free "
                f"one is {backend.token_to_id(token)}"
            )
    return Tokenizer(backend, **options)


def _merges(ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The pair that each token is merged from, in the order of ranks: what is left when the merges
    of lower rank are done."""
    found = []
    for token, rank in sorted(ranks.items(), key=lambda pair: pair[1]):
        if len(token) > 1:
            parts = _merged(token, ranks, rank)
            if len(parts) == 2:
                found.append((parts[0], parts[1]))
    return found


def _merged(token: bytes, ranks: Mapping[bytes, int], limit: int) -> list[bytes]:
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(a + b, limit) for a, b in zip(parts, parts[1:], strict=False)]
        best = min(pairs)
        if best >= limit:
            break
        place = pairs.index(best)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts
