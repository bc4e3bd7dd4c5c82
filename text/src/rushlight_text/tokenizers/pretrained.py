"""Tokenizers of published models: text to ids with marks, masks and offsets, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight_text.tokenizers import chat
from rushlight_text.tokenizers.marian import MarianTokenizer

if TYPE_CHECKING:
    import tokenizers

__all__ = ["SPECIAL_NAMES", "Tokenizer"]

SPECIAL_NAMES = tuple(f"{n}_token" for n in "bos eos unk sep pad cls mask".split())
NO_LIMIT = 10**9


class Tokenizer:
    """A tokenizer of the `tokenizers` library with the names of its special tokens.

    Make one by :meth:`from_folder`, :meth:`from_file`, or :func:`rushlight_text.tokenizers.train`.

    Args:
        backend: the library's tokenizer.
        special_tokens: token of each name in `SPECIAL_NAMES`; others are attributes None.
        max_length: longest sequence of the model, for ``truncation=True``.
        padding_side: ``"right"`` or ``"left"``.
        chat_template: a Jinja template of conversations.
        type_ids: give ``token_type_ids``, too.
        clean_up: take the spaces before punctuation out when decoding.

    Example
    -------
    >>> from rushlight_text.tokenizers import train
    >>> tokenizer = train(["low lower lowest"], kind="wordpiece", vocab_size=40)
    >>> tokenizer("low low")["input_ids"] == tokenizer.encode("low low")
    True
    >>> tokenizer.decode(tokenizer.encode("lower"), skip_special_tokens=True)
    'lower'
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        special_tokens: Mapping[str, str] | None = None,
        *,
        max_length: int = NO_LIMIT,
        padding_side: str = "right",
        chat_template: str | None = None,
        type_ids: bool = False,
        clean_up: bool = False,
    ):
        self.backend = backend
        named = dict(special_tokens or {})
        for name in SPECIAL_NAMES:
            token = named.pop(name, None)
            if token is not None and backend.token_to_id(token) is None:
                raise ValueError(f"Tokenizer(): {name} {token!r} is not in the vocabulary")
            setattr(self, name, token)
        if named:
            raise TypeError(f"Tokenizer(): no special token is called {sorted(named)}")
        self.max_length, self.padding_side = max_length, padding_side
        self.chat_template, self.type_ids, self.clean_up = chat_template, type_ids, clean_up

    @classmethod
    def from_file(cls, path: str | os.PathLike, **options: Any) -> Tokenizer:
        """Read a ``tokenizer.json``; options as of the class.

        Raises FileNotFoundError without a file, ValueError where it is no tokenizer.
        """
        from rushlight_text.tokenizers._folders import read_backend

        return cls(read_backend(path), **options)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike, **options: Any) -> Any:
        """Read what stands in a folder of Hugging Face.

        ``tokenizer.json``; else ``vocab.txt``; else ``vocab.json`` with ``merges.txt``; else a
        SentencePiece model; ``source.spm`` and ``target.spm`` give a :class:`MarianTokenizer`.
        Names of special tokens, the longest sequence and the template of conversations come from
        ``tokenizer_config.json`` and its neighbours; `options` as of the class win.

        Raises FileNotFoundError naming the files where none is there.
        """
        from rushlight_text.tokenizers._folders import read_folder

        path = Path(folder)
        if (path / "source.spm").is_file() and not (path / "tokenizer.json").is_file():
            return MarianTokenizer(path)
        backend, found = read_folder(path)
        return cls(backend, **{**found, **options})

    def save(self, folder: str | os.PathLike) -> None:
        """Write ``tokenizer.json`` and ``tokenizer_config.json`` for :meth:`from_folder`, and for
        other libraries."""
        from rushlight_text.tokenizers._folders import write_folder

        write_folder(self, Path(folder))

    # -- the vocabulary --------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.backend.get_vocab_size()

    def __getattr__(self, name: str) -> Any:
        """``pad_token_id`` and its like: the id of a special token, or None."""
        if name.endswith("_token_id") and name[:-3] in SPECIAL_NAMES:
            token = getattr(self, name[:-3])
            return None if token is None else self.backend.token_to_id(token)
        raise AttributeError(f"Tokenizer has no attribute {name!r}")

    def get_vocab(self) -> dict[str, int]:
        """Token to id."""
        return self.backend.get_vocab()

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self.backend.token_to_id(token)

    def id_to_token(self, index: int) -> str | None:
        """The token of an id, or None."""
        return self.backend.id_to_token(index) if index >= 0 else None

    def add_special_tokens(self, tokens: Mapping[str, str] | Sequence[str]) -> int:
        """Tokens that are never cut, by name or without; returns how many are new."""
        before = len(self)
        listed = list(tokens.values()) if isinstance(tokens, Mapping) else list(tokens)
        self.backend.add_special_tokens(listed)
        if isinstance(tokens, Mapping):
            for name, token in tokens.items():
                if name not in SPECIAL_NAMES:
                    raise ValueError(f"add_special_tokens(): {name!r} is none of {SPECIAL_NAMES}")
                setattr(self, name, token)
        return len(self) - before

    # -- text to ids -----------------------------------------------------------------------------

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, without marks."""
        return self.backend.encode(_text(text), add_special_tokens=False).tokens

    def encode(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = True
    ) -> list[int]:
        """The ids of a text, or of two."""
        pairs = None if pair is None else _text(pair)
        return self.backend.encode(_text(text), pairs, add_special_tokens=add_special_tokens).ids

    def __call__(
        self,
        text: str | Sequence[str],
        pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        padding: bool | str = False,
        truncation: bool = False,
        max_length: int | None = None,
        multiple: int | None = None,
        offsets: bool = False,
        return_tensors: bool | str | None = None,
    ) -> dict[str, Any]:
        """Everything that a model takes.

        Args:
            text, pair: a text or several, and the second of each.
            add_special_tokens: put the model's marks around them.
            padding: True or ``"longest"``: to the longest; ``"max_length"``: to `max_length`.
            truncation: cut to `max_length`, of two texts the longer first.
            max_length: default: the model's.
            multiple: pad to a multiple of it.
            offsets: give ``offset_mapping``: where in its text each token begins and ends.
            return_tensors: give int64 tensors ``[B, T]`` (any true value; ``"pt"`` is one).

        Returns:
            ``input_ids``, ``attention_mask``, with `type_ids` ``token_type_ids``.
        """
        single = isinstance(text, str)
        inputs = _inputs([text] if single else list(text), [pair] if single else pair)
        self._set(padding, truncation, max_length, multiple)
        try:
            found = self.backend.encode_batch(inputs, add_special_tokens=add_special_tokens)
        finally:
            self.backend.no_padding()
            self.backend.no_truncation()
        names = {"input_ids": "ids", "attention_mask": "attention_mask"}
        if self.type_ids:
            names["token_type_ids"] = "type_ids"
        if offsets:
            names["offset_mapping"] = "offsets"
        result: dict[str, Any] = {
            name: [list(getattr(each, part)) for each in found] for name, part in names.items()
        }
        if return_tensors:
            return {name: _tensor(rows) for name, rows in result.items()}
        return {name: rows[0] for name, rows in result.items()} if single else result

    def _set(
        self,
        padding: bool | str,
        truncation: bool,
        max_length: int | None,
        multiple: int | None,
    ) -> None:
        limit = self.max_length if max_length is None else max_length
        if padding not in (True, False, "longest", "max_length"):
            raise ValueError(f"padding must be True, False, 'longest', 'max_length': {padding!r}")
        if (padding == "max_length" or truncation) and limit >= NO_LIMIT:
            if padding == "max_length" or max_length is not None:
                raise ValueError("this tokenizer has no longest sequence: pass max_length")
            truncation = False
        if truncation:
            self.backend.enable_truncation(limit)
        if padding:
            if self.pad_token is None:
                raise ValueError("this tokenizer has no pad_token: name one of its tokens")
            self.backend.enable_padding(
                direction=self.padding_side,
                pad_id=self.pad_token_id,
                pad_token=self.pad_token,
                length=limit if padding == "max_length" else None,
                pad_to_multiple_of=multiple,
            )

    # -- ids to text -----------------------------------------------------------------------------

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = False) -> str:
        """The text of ids.

        Raises IndexError for an id that is not in the vocabulary.
        """
        listed = [int(index) for index in ids]
        for index in listed:
            if self.id_to_token(index) is None:
                raise IndexError(f"no token has id {index}; there are {len(self)}")
        text = self.backend.decode(listed, skip_special_tokens=skip_special_tokens)
        return _cleaned(text) if self.clean_up else text

    def batch_decode(
        self, rows: Iterable[Iterable[int]] | rl.Tensor, *, skip_special_tokens: bool = False
    ) -> list[str]:
        """The text of each row of ids."""
        listed: Any = rows.tolist() if isinstance(rows, rl.Tensor) else rows
        return [self.decode(row, skip_special_tokens=skip_special_tokens) for row in listed]

    # -- conversations ---------------------------------------------------------------------------

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = False,
        tokenize: bool = True,
        **variables: Any,
    ) -> str | list[int]:
        """A conversation as the model was trained on it: ids, or text without `tokenize`.

        Args:
            messages: dicts of ``role`` and ``content``.
            add_generation_prompt: end where the model's answer begins.
            variables: for the template.
        """
        special = {name: getattr(self, name) for name in SPECIAL_NAMES}
        text = chat.render(
            self.chat_template, messages, add_generation_prompt, {**special, **variables}
        )
        return self.encode(text, add_special_tokens=False) if tokenize else text

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "backend": self.backend.to_str()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import tokenizers

        self.__dict__.update(state, backend=tokenizers.Tokenizer.from_str(state["backend"]))

    def __repr__(self) -> str:
        return f"Tokenizer({type(self.backend.model).__name__}, {len(self)} tokens)"


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"Tokenizer: a text must be a string, not {type(text).__name__}")
    return text


def _inputs(texts: list[Any], pairs: Any) -> list[Any]:
    if pairs is None or pairs == [None]:
        return [_text(text) for text in texts]
    if isinstance(pairs, str) or len(pairs) != len(texts):
        raise ValueError("Tokenizer: as many second texts as first ones are needed")
    return [(_text(text), _text(pair)) for text, pair in zip(texts, pairs, strict=True)]


def _tensor(rows: list[Any]) -> rl.Tensor:
    if len({len(row) for row in rows}) > 1:
        raise ValueError("rows of different lengths make no tensor: pass padding=True")
    return rl.tensor(rows, dtype=rl.int64)


def _cleaned(text: str) -> str:
    """Without the spaces that WordPiece leaves before punctuation and contractions."""
    for mark in (".", "?", "!", ","):
        text = text.replace(f" {mark}", mark)
    text = text.replace(" ' ", "'")
    for ending in ("n't", "'m", "'s", "'ve", "'re"):
        text = text.replace(f" {ending}", ending)
    return text
