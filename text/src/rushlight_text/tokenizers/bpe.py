"""Byte-level byte-pair encoding, as GPT-2 uses it, on the `tokenizers` library."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers

__all__ = ["ByteLevelBPETokenizer"]

BYTES = 256
PathLike = str | os.PathLike


class ByteLevelBPETokenizer:
    """Byte-pair encoding over bytes: every text has a code and decodes to itself.

    Text is cut into words and their spaces by GPT-2's pattern, each word written in bytes, and
    neighbouring pieces are merged in the order the training found most frequent (Sennrich et al.
    2016; Radford et al. 2019). Make one by :meth:`train`, :meth:`train_from_iterator`,
    :meth:`from_files` (GPT-2's ``vocab.json`` and ``merges.txt``) or :meth:`load`.

    Args:
        vocab: token to id; must hold what the merges make.
        merges: pairs of tokens in order of rank.
        add_prefix_space: put a space before the first word, so that it is coded like the others.
        special_tokens: tokens that are never cut; those not in `vocab` get the next ids.
    """

    def __init__(
        self,
        vocab: dict[str, int],
        merges: Sequence[tuple[str, str]],
        *,
        add_prefix_space: bool = False,
        special_tokens: Sequence[str] = (),
    ):
        from tokenizers import models

        try:
            model = models.BPE(vocab=dict(vocab), merges=[(left, right) for left, right in merges])
        except Exception as error:  # the library raises bare Exception
            raise ValueError(
                f"ByteLevelBPETokenizer(): vocab and merges do not fit: {error}"
            ) from error
        self._backend = _pipeline(model, add_prefix_space)
        self.add_special_tokens(special_tokens)

    # -- making one ------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        files: PathLike | Sequence[PathLike],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        *,
        special_tokens: Sequence[str] = (),
        add_prefix_space: bool = False,
        show_progress: bool = False,
    ) -> ByteLevelBPETokenizer:
        """Learn merges from UTF-8 text files.

        Args:
            files: one path or several.
            vocab_size: most tokens to have, the 256 bytes and the special tokens included.
            min_frequency: a pair seen less often is not merged.
            special_tokens: get the first ids, in this order.
            add_prefix_space: as for the class.
            show_progress: let the library draw its progress bar.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: `vocab_size` leaves no room for the bytes, or a file is not UTF-8.
        """
        paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        for path in paths:
            _require_file("ByteLevelBPETokenizer.train", path)
        return cls.train_from_iterator(
            _lines(paths),
            vocab_size,
            min_frequency,
            special_tokens=special_tokens,
            add_prefix_space=add_prefix_space,
            show_progress=show_progress,
        )

    @classmethod
    def train_from_iterator(
        cls,
        iterator: Iterable[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        *,
        special_tokens: Sequence[str] = (),
        add_prefix_space: bool = False,
        show_progress: bool = False,
    ) -> ByteLevelBPETokenizer:
        """Learn merges from strings; arguments and errors as :meth:`train`."""
        from tokenizers import models, pre_tokenizers, trainers

        if isinstance(iterator, str):
            raise TypeError(
                "ByteLevelBPETokenizer.train_from_iterator(): argument 'iterator' must yield "
                "strings; for one text pass a list with it, for a path use train()"
            )
        special = _special("ByteLevelBPETokenizer.train", special_tokens)
        if vocab_size < BYTES + len(special):
            raise ValueError(
                f"ByteLevelBPETokenizer.train(): vocab_size must be at least {BYTES} for the bytes "
                f"plus {len(special)} special tokens, got {vocab_size}"
            )
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special,
            show_progress=show_progress,
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        )
        backend = _pipeline(models.BPE(), add_prefix_space)
        backend.train_from_iterator(iterator, trainer=trainer)
        return cls._of(backend)

    @classmethod
    def from_files(
        cls,
        vocab: PathLike,
        merges: PathLike,
        *,
        add_prefix_space: bool = False,
        special_tokens: Sequence[str] = ("<|endoftext|>",),
    ) -> ByteLevelBPETokenizer:
        """Read GPT-2's two files: ``vocab.json`` and ``merges.txt``.

        Special tokens that the vocabulary does not hold are left out, so that ids stay those of
        the files.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file has another form; the message names it and the line.
        """
        table = _read_vocab(vocab)
        pairs = _read_merges(merges)
        known = [token for token in special_tokens if token in table]
        try:
            return cls(table, pairs, add_prefix_space=add_prefix_space, special_tokens=known)
        except ValueError as error:
            raise ValueError(f"{vocab} and {merges} do not belong together: {error}") from error

    @classmethod
    def load(cls, path: PathLike) -> ByteLevelBPETokenizer:
        """Read a tokenizer that :meth:`save` wrote.

        Raises:
            FileNotFoundError: `path` is missing.
            ValueError: the file is not a saved byte-level BPE tokenizer.
        """
        import tokenizers

        _require_file("ByteLevelBPETokenizer.load", path)
        try:
            backend = tokenizers.Tokenizer.from_file(os.fspath(path))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path}: not a saved tokenizer: {error}") from error
        levels = (type(backend.model).__name__, type(backend.pre_tokenizer).__name__)
        if levels != ("BPE", "ByteLevel"):
            raise ValueError(f"{path}: holds {levels[0]} over {levels[1]}, not byte-level BPE")
        return cls._of(backend)

    @classmethod
    def _of(cls, backend: tokenizers.Tokenizer) -> ByteLevelBPETokenizer:
        made = cls.__new__(cls)
        made._backend = backend
        return made

    # -- text to ids and back --------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self._encoding(text).ids

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, in GPT-2's printable letters for bytes (a space is ``Ġ``)."""
        return self._encoding(text).tokens

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text; the library works on several at once."""
        listed = list(texts)
        for text in listed:
            _require_string("encode_batch", text)
        return [encoding.ids for encoding in self._backend.encode_batch(listed)]

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of ids; a cut character comes back as U+FFFD.

        Raises:
            IndexError: an id is not in the vocabulary.
        """
        listed = [int(index) for index in ids]
        for index in listed:
            self._require_id(index)
        return self._backend.decode(listed, skip_special_tokens=skip_special_tokens)

    def decode_batch(
        self, batch: Iterable[Iterable[int]], *, skip_special_tokens: bool = True
    ) -> list[str]:
        """The text of each list of ids; errors as :meth:`decode`."""
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in batch]

    def __call__(self, text: str | list[str]) -> list[int] | list[list[int]]:
        """:meth:`encode` for a text, :meth:`encode_batch` for a list of them."""
        return self.encode(text) if isinstance(text, str) else self.encode_batch(text)

    # -- the vocabulary --------------------------------------------------------------------------

    @property
    def backend(self) -> tokenizers.Tokenizer:
        """The library's tokenizer."""
        return self._backend

    def __len__(self) -> int:
        return self._backend.get_vocab_size()

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included."""
        return len(self)

    def get_vocab(self) -> dict[str, int]:
        """Token to id."""
        return self._backend.get_vocab()

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._backend.token_to_id(token)

    def id_to_token(self, index: int) -> str:
        """The token of an id; IndexError when there is none."""
        return self._require_id(index)

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write everything into one JSON file, the form of the `tokenizers` library."""
        _require_folder("ByteLevelBPETokenizer.save", Path(path).parent)
        Path(path).write_text(self._backend.to_str(pretty=True), encoding="utf-8")

    def save_model(self, folder: PathLike) -> tuple[Path, Path]:
        """Write GPT-2's ``vocab.json`` and ``merges.txt`` into an existing folder."""
        _require_folder("ByteLevelBPETokenizer.save_model", folder)
        written = self._backend.model.save(os.fspath(folder))
        vocab, merges = (Path(name) for name in written)
        return vocab, merges

    def __getstate__(self) -> dict[str, str]:
        return {"tokenizer": self._backend.to_str()}

    def __setstate__(self, state: dict[str, str]) -> None:
        import tokenizers

        self._backend = tokenizers.Tokenizer.from_str(state["tokenizer"])

    def __repr__(self) -> str:
        return f"ByteLevelBPETokenizer(vocab_size={len(self)})"

    # -- checks ----------------------------------------------------------------------------------

    def _encoding(self, text: str) -> tokenizers.Encoding:
        _require_string("encode", text)
        return self._backend.encode(text)

    def add_special_tokens(self, tokens: Sequence[str]) -> int:
        """Let tokens never be cut; those without an id get the next ones. Returns how many."""
        before = len(self)
        if special := _special("ByteLevelBPETokenizer", tokens):
            self._backend.add_special_tokens(special)
        return len(self) - before

    def _require_id(self, index: int) -> str:
        token = self._backend.id_to_token(index) if index >= 0 else None
        if token is None:
            raise IndexError(f"no token has id {index}; the vocabulary has {len(self)} tokens")
        return token


def _pipeline(model: tokenizers.models.Model, add_prefix_space: bool) -> tokenizers.Tokenizer:
    import tokenizers
    from tokenizers import decoders, pre_tokenizers

    backend = tokenizers.Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    backend.decoder = decoders.ByteLevel()
    return backend


def _lines(paths: list[PathLike]) -> Iterator[str]:
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            try:
                yield from file
            except UnicodeDecodeError as error:
                raise ValueError(f"{path}: not UTF-8 text: {error}") from error


def _read_vocab(path: PathLike) -> dict[str, int]:
    _require_file("ByteLevelBPETokenizer.from_files", path)
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # bad JSON and bad UTF-8 alike
        raise ValueError(f"{path}: not a JSON file of tokens and ids: {error}") from error
    if not isinstance(table, dict) or not all(type(index) is int for index in table.values()):
        raise ValueError(f"{path}: must hold one JSON object from token to integer id")
    return table


def _read_merges(path: PathLike) -> list[tuple[str, str]]:
    _require_file("ByteLevelBPETokenizer.from_files", path)
    pairs = []
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (number == 1 and line.startswith("#version")):
            continue
        parts = line.rstrip("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"{path}, line {number}: expected two tokens and a space: {line!r}")
        pairs.append((parts[0], parts[1]))
    return pairs


def _special(op: str, tokens: Sequence[str]) -> list[str]:
    if isinstance(tokens, str):
        raise TypeError(f"{op}(): argument 'special_tokens' must be a list of strings, not str")
    return list(tokens)


def _require_string(op: str, text: object) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{op}(): a text must be a string, not {type(text).__name__}")


def _require_file(op: str, path: PathLike) -> None:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{op}(): no such file: {os.fspath(path)!r}")


def _require_folder(op: str, folder: PathLike) -> None:
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"{op}(): no such folder: {os.fspath(folder)!r}")
