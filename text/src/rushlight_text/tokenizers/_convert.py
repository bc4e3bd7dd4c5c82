"""Former files of tokenizers as tokenizers of the library: BERT's, GPT-2's, SentencePiece's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushlight_text.tokenizers._sentencepiece_file import (
    BPE,
    BYTE,
    CONTROL,
    UNKNOWN,
    USER_DEFINED,
    ModelFile,
    read_model,
)
from rushlight_text.tokenizers.bpe import ByteLevelBPETokenizer
from rushlight_text.tokenizers.sentencepiece import SPACE, merges_of
from rushlight_text.tokenizers.wordpiece import read_vocab_lines

if TYPE_CHECKING:
    import tokenizers

__all__ = ["bert_backend", "byte_level_backend", "sentencepiece_backend"]

Settings = dict[str, Any]


def bert_backend(path: Path, settings: Settings, tokens: dict[str, str]) -> tokenizers.Tokenizer:
    """BERT's tokenizer of a ``vocab.txt``."""
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    table = read_vocab_lines(path)
    unk = tokens.setdefault("unk_token", "[UNK]")
    cls = tokens.setdefault("cls_token", "[CLS]")
    sep = tokens.setdefault("sep_token", "[SEP]")
    for name, token in (("pad_token", "[PAD]"), ("mask_token", "[MASK]")):
        tokens.setdefault(name, token)
    backend = tokenizers.Tokenizer(
        models.WordPiece(table, unk_token=unk, max_input_chars_per_word=100)
    )
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=settings.get("do_lower_case", True),
        strip_accents=settings.get("strip_accents"),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1",
        special_tokens=[(cls, table[cls]), (sep, table[sep])],
    )
    backend.add_special_tokens([token for token in tokens.values() if token in table])
    return backend


def byte_level_backend(
    folder: Path, settings: Settings, tokens: dict[str, str]
) -> tokenizers.Tokenizer:
    """GPT-2's or RoBERTa's tokenizer of ``vocab.json`` and ``merges.txt``."""
    from tokenizers import pre_tokenizers, processors

    prefix = settings.get("add_prefix_space", False)
    kind = str(settings.get("tokenizer_class", "GPT2Tokenizer"))
    made = ByteLevelBPETokenizer.from_files(
        folder / "vocab.json", folder / "merges.txt", add_prefix_space=prefix
    )
    backend = made.backend
    if kind.startswith(("Roberta", "Bart", "Longformer")):
        for name, token in (("cls_token", "<s>"), ("sep_token", "</s>"), ("pad_token", "<pad>")):
            tokens.setdefault(name, token)
        sep, cls = (tokens[name] for name in ("sep_token", "cls_token"))
        ids = backend.get_vocab()
        backend.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), trim_offsets=True, add_prefix_space=prefix
        )
    else:
        backend.post_processor = processors.ByteLevel(trim_offsets=False)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    present = [t for t in tokens.values() if backend.token_to_id(t) is not None]
    backend.add_special_tokens(present)
    return backend


def sentencepiece_backend(
    path: Path, settings: Settings, tokens: dict[str, str]
) -> tokenizers.Tokenizer:
    """The tokenizer of a SentencePiece model: ids are the model's, marks those of its class.

    Raises NotImplementedError where other ids than the model's are meant.
    """
    kind = str(settings.get("tokenizer_class", "LlamaTokenizer"))
    if kind.startswith(("XLMRoberta", "Camembert", "MBart", "Marian")):
        raise NotImplementedError(
            f"{path}: {kind} has ids of its own; save it with tokenizer.json, which is read"
        )
    file = read_model(path)
    backend = _sentencepiece(file)
    pieces = [piece.text for piece in file.pieces]
    for name, key in (("unk_token", "unk"), ("bos_token", "bos"), ("eos_token", "eos")):
        if file.special[key] >= 0:
            tokens.setdefault(name, pieces[file.special[key]])
    if file.special["pad"] >= 0:
        tokens.setdefault("pad_token", pieces[file.special["pad"]])
    _add_tokens(backend, file)
    if kind.startswith("T5"):  # masks of T5's training, the first with the highest id
        extra = settings.get("extra_ids", 100)
        backend.add_special_tokens([f"<extra_id_{n}>" for n in reversed(range(extra))])
    _marks(backend, settings, tokens, llama=not kind.startswith("T5"))
    return backend


def _sentencepiece(file: ModelFile) -> tokenizers.Tokenizer:
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers

    texts = [piece.text for piece in file.pieces]
    unk = next(i for i, piece in enumerate(file.pieces) if piece.kind == UNKNOWN)
    model: Any
    if file.model_type == BPE:
        model = models.BPE(
            vocab={text: index for index, text in enumerate(texts)},
            merges=merges_of(texts, file),
            unk_token=texts[unk],
            fuse_unk=True,
            byte_fallback=file.byte_fallback,
        )
    else:
        scored = [(piece.text, piece.score) for piece in file.pieces]
        model = models.Unigram(scored, unk, file.byte_fallback)
    backend = tokenizers.Tokenizer(model)
    steps: list[Any] = [normalizers.Precompiled(file.charsmap)] if file.charsmap else []
    if file.remove_extra_whitespaces:
        # Spaces alone: the library's Strip takes tabs and line ends, too.
        steps += [
            normalizers.Replace(Regex(pattern), new)
            for pattern, new in ((" {2,}", " "), ("^ ", ""), (" $", ""))
        ]
    backend.normalizer = normalizers.Sequence(steps)
    # "first" would look at the text before spaces were cut.
    scheme = "always" if file.add_dummy_prefix else "never"
    backend.pre_tokenizer = pre_tokenizers.Metaspace(
        SPACE, prepend_scheme=scheme, split=not _cross_words(texts)
    )
    bytes_too = [decoders.ByteFallback()] if any(p.kind == BYTE for p in file.pieces) else []
    backend.decoder = decoders.Sequence(
        [*bytes_too, decoders.Fuse(), decoders.Replace(SPACE, " "), decoders.Strip(" ", 1, 0)]
        if file.add_dummy_prefix
        else [*bytes_too, decoders.Fuse(), decoders.Replace(SPACE, " ")]
    )
    return backend


def _cross_words(texts: list[str]) -> bool:
    return any(SPACE in text[1:] for text in texts)


def _add_tokens(backend: tokenizers.Tokenizer, file: ModelFile) -> None:
    from tokenizers import AddedToken

    marks = [p.text for p in file.pieces if p.kind in (CONTROL, UNKNOWN)]
    users = [p.text for p in file.pieces if p.kind == USER_DEFINED]
    backend.add_special_tokens([AddedToken(text, normalized=False) for text in marks])
    backend.add_tokens([AddedToken(text, normalized=False) for text in users])


def _marks(
    backend: tokenizers.Tokenizer, settings: Settings, tokens: dict[str, str], llama: bool
) -> None:
    """Llama begins with its first token, T5 ends with its last."""
    from tokenizers import processors

    begin = settings.get("add_bos_token", llama) and tokens.get("bos_token")
    end = settings.get("add_eos_token", not llama) and tokens.get("eos_token")
    marks = [token for token in (begin, end) if token]
    first = f"{begin}:0 " if begin else ""
    second = f" {begin}:1" if begin else ""
    close = [f" {end}:{part}" if end else "" for part in (0, 1)]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{first}$A:0{close[0]}",
        pair=f"{first}$A:0{close[0]}{second} $B:1{close[1]}",
        special_tokens=[(token, backend.token_to_id(token)) for token in marks],
    )
