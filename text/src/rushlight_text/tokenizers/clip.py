"""CLIP's tokenizer: byte-level BPE of small letters, whose words end in ``</w>``."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rushlight_text.tokenizers.byte_letters import bytes_to_unicode

if TYPE_CHECKING:
    import tokenizers

__all__ = ["CLIPBPETokenizer"]

START, END = "<|startoftext|>", "<|endoftext|>"
_WORD = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


class CLIPBPETokenizer:
    """The tokenizer of CLIP's text encoder.

    Args:
        vocab: token to id, with ``<|startoftext|>`` and ``<|endoftext|>``.
        merges: pairs of tokens, best first.

    Reference: Radford et al., "Learning Transferable Visual Models From Natural Language
    Supervision" (2021).
    """

    def __init__(self, vocab: dict[str, int], merges: Sequence[tuple[str, str]]):
        import tokenizers
        from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

        self._backend: tokenizers.Tokenizer = tokenizers.Tokenizer(
            models.BPE(dict(vocab), list(merges), end_of_word_suffix="</w>", unk_token=END)
        )
        self._backend.normalizer = normalizers.Sequence(
            [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
        )
        self._backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_WORD), "removed", invert=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        self._backend.decoder = decoders.ByteLevel()
        self._backend.add_special_tokens([START, END])

    @classmethod
    def from_files(
        cls,
        merges: str | os.PathLike,
        vocab: str | os.PathLike | None = None,
        num_merges: int | None = None,
    ) -> CLIPBPETokenizer:
        """Read merges (plain or gzip, a header line first) and, if there is one, the JSON of ids.

        Without ids they are the bytes, the bytes that end a word, the merges, the two marks.
        """
        content = Path(merges).read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        lines = [line.split() for line in content.decode("utf-8").split("\n")[1:]]
        pairs = [(line[0], line[1]) for line in lines if len(line) == 2]
        table = None
        if vocab is not None:
            table = json.loads(Path(vocab).read_text(encoding="utf-8"))
            num_merges = num_merges or (len(table) - 256 * 2 - 2)
        pairs = pairs[:num_merges]
        return cls(table or _table(pairs), pairs)

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text."""
        return self._backend.encode(text).tokens

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without marks of its start and end."""
        return self._backend.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, a space after each word."""
        text = self._backend.decode(list(ids), skip_special_tokens=False)
        return text.replace("</w>", " ").strip()


def _table(pairs: list[tuple[str, str]]) -> dict[str, int]:
    letters = list(bytes_to_unicode().values())
    tokens = [*letters, *(letter + "</w>" for letter in letters)]
    tokens += ["".join(pair) for pair in pairs]
    return {token: index for index, token in enumerate([*tokens, START, END])}
