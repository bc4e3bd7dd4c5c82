"""Tokenizers as modules: a text, or a list of texts, to tokens or to ids spelled as strings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rushlight import nn
from rushlight_text.tokenizers.bpe import ByteLevelBPETokenizer
from rushlight_text.tokenizers.char_bpe import CharBPE
from rushlight_text.tokenizers.clip import CLIPBPETokenizer
from rushlight_text.tokenizers.sentencepiece import SentencePieceModel
from rushlight_text.tokenizers.wordpiece import SPECIAL, WordPieceTokenizer
from rushlight_text.utils import get_asset_local_path

__all__ = [
    "BERTTokenizer",
    "CLIPTokenizer",
    "CharBPETokenizer",
    "GPT2BPETokenizer",
    "RegexTokenizer",
    "SentencePieceTokenizer",
]

Location = str | os.PathLike


class _Tokenizer(nn.Module):
    """One text after the other; what one becomes is the subclass's `_one`."""

    @property
    def is_jitable(self) -> bool:
        """False: the tables are Python's, whose lookups are not traced."""
        return False

    def forward(self, input: str | list[str]) -> list[Any]:
        """The tokens or ids of a text, or of each of several."""
        if isinstance(input, str):
            return self._one(input)
        if isinstance(input, (list, tuple)):
            return [self._one(text) for text in input]
        raise TypeError(
            f"{type(self).__name__}: the input must be a string or a list of strings, "
            f"not {type(input).__name__}"
        )

    def _one(self, text: str) -> list[Any]:
        raise NotImplementedError


class SentencePieceTokenizer(_Tokenizer):
    """Pieces by a SentencePiece model.

    Args:
        sp_model_path: path or address of a ``.model`` file.
    """

    def __init__(self, sp_model_path: Location):
        super().__init__()
        self.sp_model = SentencePieceModel(get_asset_local_path(os.fspath(sp_model_path)))

    def _one(self, text: str) -> list[str]:
        return self.sp_model.EncodeAsPieces(text)


class GPT2BPETokenizer(_Tokenizer):
    """GPT-2's byte-level BPE from its two files.

    Args:
        encoder_json_path: path or address of ``vocab.json`` (GPT-2's own name: ``encoder.json``).
        vocab_bpe_path: of ``merges.txt`` (``vocab.bpe``).
        return_tokens: give tokens; else ids, spelled as strings as torchtext gives them
            (:class:`StrToIntTransform` makes integers of them).
    """

    SPECIAL_TOKENS_ATTRIBUTES = (
        "bos_token eos_token unk_token sep_token pad_token cls_token mask_token "
        "additional_special_tokens"
    ).split()

    def __init__(
        self,
        encoder_json_path: Location,
        vocab_bpe_path: Location,
        return_tokens: bool = False,
    ):
        super().__init__()
        self.tokenizer = ByteLevelBPETokenizer.from_files(
            get_asset_local_path(os.fspath(encoder_json_path)),
            get_asset_local_path(os.fspath(vocab_bpe_path)),
        )
        self.return_tokens = return_tokens

    def add_special_tokens(self, special_tokens_dict: Mapping[str, str | Sequence[str]]) -> int:
        """Tokens that are never cut; those without an id get the next ones.

        The keys are of `SPECIAL_TOKENS_ATTRIBUTES`; returns how many tokens are new.
        """
        tokens: list[str] = []
        for key, value in special_tokens_dict.items():
            if key not in self.SPECIAL_TOKENS_ATTRIBUTES:
                raise ValueError(
                    f"add_special_tokens(): {key!r} is none of {self.SPECIAL_TOKENS_ATTRIBUTES}"
                )
            tokens += [value] if isinstance(value, str) else value
        return self.tokenizer.add_special_tokens(tokens)

    def decode(self, tokens: list[str]) -> str:
        """The text of ids that are spelled as strings."""
        ids = [int(token) for token in tokens]
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def _one(self, text: str) -> list[str]:
        if self.return_tokens:
            return self.tokenizer.tokenize(text)
        return [str(index) for index in self.tokenizer.encode(text)]


class CLIPTokenizer(_Tokenizer):
    """CLIP's byte-level BPE: small letters, words end in ``</w>``.

    Args:
        merges_path: path or address of the merges, a header line first.
        encoder_json_path: of tokens and ids; without it ids follow from the merges.
        num_merges: how many lines of merges to take; default: what the encoder holds, or all.
        return_tokens: give tokens; else ids spelled as strings.
    """

    def __init__(
        self,
        merges_path: Location,
        encoder_json_path: Location | None = None,
        num_merges: int | None = None,
        return_tokens: bool = False,
    ):
        super().__init__()
        vocab = encoder_json_path
        self.tokenizer = CLIPBPETokenizer.from_files(
            get_asset_local_path(os.fspath(merges_path)),
            None if vocab is None else get_asset_local_path(os.fspath(vocab)),
            num_merges,
        )
        self.return_tokens = return_tokens

    def _one(self, text: str) -> list[str]:
        if self.return_tokens:
            return self.tokenizer.tokenize(text)
        return [str(index) for index in self.tokenizer.encode(text)]


class CharBPETokenizer(_Tokenizer):
    """BPE of characters; arguments as of :class:`rushlight_text.tokenizers.CharBPE`.

    Gives tokens with `return_tokens`, else integer ids.
    """

    def __init__(
        self,
        bpe_encoder_path: Location,
        bpe_merges_path: Location,
        return_tokens: bool = False,
        unk_token: str | None = None,
        suffix: str | None = None,
        special_tokens: list[str] | None = None,
    ):
        super().__init__()
        self.tokenizer = CharBPE(
            get_asset_local_path(os.fspath(bpe_encoder_path)),
            get_asset_local_path(os.fspath(bpe_merges_path)),
            unk_token,
            suffix,
            special_tokens,
        )
        self.return_tokens = return_tokens

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return len(self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self.tokenizer.encode(text)

    def decode(self, tokens: list[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode(tokens)

    def _one(self, text: str) -> list[Any]:
        return self.tokenizer.tokenize(text) if self.return_tokens else self.encode(text)


class BERTTokenizer(_Tokenizer):
    """BERT's WordPiece.

    Args:
        vocab_path: path or address of ``vocab.txt``.
        do_lower_case: small letters first.
        strip_accents: take accents away; None: with `do_lower_case`.
        return_tokens: give tokens; else ids spelled as strings.
        never_split: words that are kept as they stand, besides BERT's special tokens.
    """

    def __init__(
        self,
        vocab_path: Location,
        do_lower_case: bool = True,
        strip_accents: bool | None = None,
        return_tokens: bool = False,
        never_split: list[str] | None = None,
    ):
        super().__init__()
        self.tokenizer = WordPieceTokenizer(
            get_asset_local_path(os.fspath(vocab_path)),
            lowercase=do_lower_case,
            strip_accents=strip_accents,
            never_split=[*SPECIAL, *(never_split or ())],
        )
        self.return_tokens = return_tokens

    def _one(self, text: str) -> list[str]:
        if self.return_tokens:
            return self.tokenizer.tokenize(text)
        return [str(index) for index in self.tokenizer.encode(text)]


class RegexTokenizer(_Tokenizer):
    """Substitute regular expressions, then split at spaces.

    Args:
        patterns_list: pairs of a pattern and what replaces it, in order. Python's ``re`` runs them,
            so that what RE2 refuses (looking ahead, back references) works as well.

    >>> RegexTokenizer([(r"[,._+ ]+", " ")])("Basic.Regex,Tokenization")
    ['Basic', 'Regex', 'Tokenization']
    """

    def __init__(self, patterns_list: list[tuple[str, str]]):
        super().__init__()
        self.patterns = [(re.compile(pattern), new) for pattern, new in patterns_list]

    def _one(self, text: str) -> list[str]:
        for pattern, new in self.patterns:
            text = pattern.sub(new, text)
        return text.split()
