"""WordPiece with BERT's rules of cutting; the library `tokenizers` does the work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers

__all__ = ["WordPieceTokenizer", "read_vocab_lines"]

SPECIAL = ("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]")


def read_vocab_lines(path: str | os.PathLike) -> dict[str, int]:
    """The ids of tokens that stand one a line, as in BERT's ``vocab.txt``.

    Raises FileNotFoundError without a file, ValueError where it is not UTF-8 or is empty.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no vocabulary: {os.fspath(path)!r}")
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from error
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise ValueError(f"{path}: no tokens")
    return {token.rstrip("\r"): index for index, token in enumerate(lines)}


class WordPieceTokenizer:
    """BERT's tokenizer: clean, cut at white space and punctuation, then longest known pieces.

    Args:
        vocab: token to id, or the path of a file with a token a line.
        lowercase: small letters first.
        strip_accents: take accents away; None: with `lowercase`.
        unk_token: what a word without known pieces becomes.
        never_split: words that are kept as they stand where white space surrounds them.
    """

    def __init__(
        self,
        vocab: dict[str, int] | str | os.PathLike,
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        unk_token: str = "[UNK]",
        never_split: Iterable[str] = SPECIAL,
    ):
        import tokenizers
        from tokenizers import decoders, models, normalizers, pre_tokenizers

        table = dict(vocab) if isinstance(vocab, dict) else read_vocab_lines(vocab)
        if unk_token not in table:
            raise ValueError(f"WordPieceTokenizer(): the vocabulary has no {unk_token!r}")
        self.never_split = set(never_split)
        self._backend: tokenizers.Tokenizer = tokenizers.Tokenizer(
            models.WordPiece(table, unk_token=unk_token, max_input_chars_per_word=100)
        )
        self._backend.normalizer = normalizers.BertNormalizer(
            lowercase=lowercase, strip_accents=strip_accents
        )
        self._backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._backend.decoder = decoders.WordPiece()

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    def tokenize(self, text: str) -> list[str]:
        """The pieces of a text; those inside of words begin with ``##``."""
        return [token for part in self._parts(text) for token in part.tokens]

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return [index for part in self._parts(text) for index in part.ids]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text; the library works on several at once."""
        if any(word in text for text in texts for word in self.never_split):
            return [self.encode(text) for text in texts]
        return [each.ids for each in self._backend.encode_batch(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, as far as pieces keep it."""
        return self._backend.decode(list(ids), skip_special_tokens=False)

    def _parts(self, text: str) -> Iterator[tokenizers.Encoding]:
        if not isinstance(text, str):
            raise TypeError(f"WordPiece: a text must be a string, not {type(text).__name__}")
        if not any(word in text for word in self.never_split):
            yield self._backend.encode(text)
            return
        waiting: list[str] = []
        for word in text.split():
            if word not in self.never_split:
                waiting.append(word)
                continue
            yield self._backend.encode(" ".join(waiting))
            yield self._whole(word)
            waiting = []
        yield self._backend.encode(" ".join(waiting))

    def _whole(self, word: str) -> tokenizers.Encoding:
        """A word through the model alone, without cleaning and cutting."""
        import tokenizers

        return tokenizers.Tokenizer(self._backend.model).encode(word)
