"""Tokenizers learnt from text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rushlight_text.tokenizers.pretrained import Tokenizer

if TYPE_CHECKING:
    import tokenizers

__all__ = ["KINDS", "train"]

KINDS = ("byte_bpe", "bpe", "wordpiece", "unigram", "wordlevel")
BYTES = 256


def train(
    texts: Iterable[str],
    *,
    kind: str = "byte_bpe",
    vocab_size: int = 30_000,
    min_frequency: int = 2,
    special_tokens: Sequence[str] | None = None,
    lowercase: bool = False,
    show_progress: bool = False,
    **options: Any,
) -> Tokenizer:
    """Learn a tokenizer.

    Args:
        texts: strings; they are gone through once, and need not fit into memory.
        kind: ``"byte_bpe"`` (as GPT-2: every text comes back), ``"bpe"`` (characters, words end in
            ``</w>``), ``"wordpiece"`` (as BERT), ``"unigram"`` (as SentencePiece's default),
            ``"wordlevel"`` (words and punctuation).
        vocab_size: tokens at most, special ones included.
        min_frequency: rarer pairs or words are left out.
        special_tokens: tokens with the first ids; default: BERT's five for ``"wordpiece"``,
            ``[UNK]`` and ``[PAD]`` for others, ``<|endoftext|>`` for bytes.
        lowercase: small letters first.
        show_progress: let the library draw its bar.
        options: for :class:`Tokenizer`.

    Raises:
        ValueError: unknown kind, or no room for the bytes.
        TypeError: `texts` is one string, whose letters would be the texts.
    """
    if kind not in KINDS:
        raise ValueError(f"train(): kind must be one of {KINDS}, got {kind!r}")
    if isinstance(texts, str):
        raise TypeError("train(): texts must be strings in a list or an iterator, not one str")
    special = list(_special(kind) if special_tokens is None else special_tokens)
    if kind == "byte_bpe" and vocab_size < BYTES + len(special):
        raise ValueError(
            f"train(): vocab_size must be at least {BYTES} for the bytes plus {len(special)} "
            f"special tokens, got {vocab_size}"
        )
    sizes = {"vocab_size": vocab_size, "min_frequency": min_frequency}
    backend, trainer = _MAKERS[kind](special, lowercase, {**sizes, "show_progress": show_progress})
    backend.train_from_iterator(iter(texts), trainer)
    _marks(backend, kind, special)
    names = {name: token for name, token in _NAMED.items() if token in special}
    names |= {"bos_token": "<|endoftext|>"} if "<|endoftext|>" in special else {}
    return Tokenizer(
        backend, **{"special_tokens": names, "type_ids": kind == "wordpiece", **options}
    )


_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_NAMED = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
    "eos_token": "<|endoftext|>",
}


def _special(kind: str) -> Sequence[str]:
    if kind == "wordpiece":
        return _BERT
    return ("<|endoftext|>",) if kind == "byte_bpe" else ("[UNK]", "[PAD]")


def _unknown(special: Sequence[str]) -> str | None:
    return next((token for token in special if "unk" in token.lower()), None)


Made = tuple["tokenizers.Tokenizer", Any]


def _base(model: Any, normalizer: Any, cut: Any, decoder: Any) -> tokenizers.Tokenizer:
    import tokenizers

    backend = tokenizers.Tokenizer(model)
    if normalizer is not None:
        backend.normalizer = normalizer
    backend.pre_tokenizer = cut
    if decoder is not None:
        backend.decoder = decoder
    return backend


def _byte_bpe(special: list[str], lowercase: bool, sizes: dict[str, Any]) -> Made:
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    lower = normalizers.Lowercase() if lowercase else None
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend = _base(models.BPE(), lower, cut, decoders.ByteLevel())
    return backend, trainers.BpeTrainer(special_tokens=special, initial_alphabet=letters, **sizes)


def _bpe(special: list[str], lowercase: bool, sizes: dict[str, Any]) -> Made:
    from tokenizers import decoders, models, pre_tokenizers, trainers

    model = models.BPE(unk_token=_unknown(special), end_of_word_suffix="</w>")
    cut = pre_tokenizers.BertPreTokenizer()
    backend = _base(model, _plain(lowercase), cut, decoders.BPEDecoder("</w>"))
    return backend, trainers.BpeTrainer(special_tokens=special, end_of_word_suffix="</w>", **sizes)


def _wordpiece(special: list[str], lowercase: bool, sizes: dict[str, Any]) -> Made:
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    model = models.WordPiece(unk_token=_unknown(special) or "[UNK]")
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    cut = pre_tokenizers.BertPreTokenizer()
    backend = _base(model, normalizer, cut, decoders.WordPiece())
    return backend, trainers.WordPieceTrainer(special_tokens=special, **sizes)


def _unigram(special: list[str], lowercase: bool, sizes: dict[str, Any]) -> Made:
    from tokenizers import decoders, models, pre_tokenizers, trainers

    sizes = {key: value for key, value in sizes.items() if key != "min_frequency"}
    backend = _base(
        models.Unigram(), _plain(lowercase), pre_tokenizers.Metaspace(), decoders.Metaspace()
    )
    return backend, trainers.UnigramTrainer(
        special_tokens=special, unk_token=_unknown(special), **sizes
    )


def _wordlevel(special: list[str], lowercase: bool, sizes: dict[str, Any]) -> Made:
    from tokenizers import models, pre_tokenizers, trainers

    model = models.WordLevel(unk_token=_unknown(special) or "[UNK]")
    backend = _base(model, _plain(lowercase), pre_tokenizers.BertPreTokenizer(), None)
    return backend, trainers.WordLevelTrainer(special_tokens=special, **sizes)


def _plain(lowercase: bool) -> Any:
    from tokenizers import normalizers

    steps: list[Any] = [normalizers.NFKC()]
    return normalizers.Sequence([*steps, normalizers.Lowercase()] if lowercase else steps)


_MAKERS: dict[str, Callable[[list[str], bool, dict[str, Any]], Made]] = {
    "byte_bpe": _byte_bpe,
    "bpe": _bpe,
    "wordpiece": _wordpiece,
    "unigram": _unigram,
    "wordlevel": _wordlevel,
}


def _marks(backend: tokenizers.Tokenizer, kind: str, special: Sequence[str]) -> None:
    """Put BERT's marks around texts where the tokens are there."""
    from tokenizers import processors

    if kind == "wordpiece" and {"[CLS]", "[SEP]"} <= set(special):
        ids = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=ids,
        )
