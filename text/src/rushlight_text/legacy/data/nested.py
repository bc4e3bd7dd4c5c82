"""Fields of sequences of sequences, such as the letters of the words of a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import rushlight as rl
from rushlight_text.legacy.data.field import Field

__all__ = ["NestedField"]


class NestedField(Field):
    """A field whose every token goes through another field; both share the vocabulary.

    The tensor is ``[B, T, W]``: batch, tokens, parts of a token.

    Args:
        nesting_field: of the tokens. It has no lengths of its own; its padding is this field's,
            too, and unknown parts are its.
        others: as of :class:`Field`. `include_lengths` gives the tensor, the lengths of the
            sequences ``[B]`` and those of their tokens ``[B, T]``.

    Raises:
        ValueError: a nested field in a nested field, or one with lengths, or another `use_vocab`.
    """

    def __init__(
        self,
        nesting_field: Field,
        use_vocab: bool = True,
        init_token: str | None = None,
        eos_token: str | None = None,
        fix_length: int | None = None,
        dtype: rl.dtype = rl.long,
        preprocessing: Callable[..., Any] | None = None,
        postprocessing: Callable[..., Any] | None = None,
        tokenize: str | Callable[..., Any] | None = None,
        tokenizer_language: str = "en",
        include_lengths: bool = False,
        pad_token: str = "<pad>",
        pad_first: bool = False,
        truncate_first: bool = False,
    ):
        if isinstance(nesting_field, NestedField):
            raise ValueError("nesting field must not be another NestedField")
        if nesting_field.include_lengths:
            raise ValueError("nesting field cannot have include_lengths=True")
        if nesting_field.sequential:
            pad_token = nesting_field.pad_token
        super().__init__(
            use_vocab=use_vocab,
            init_token=init_token,
            eos_token=eos_token,
            fix_length=fix_length,
            dtype=dtype,
            preprocessing=preprocessing,
            postprocessing=postprocessing,
            lower=nesting_field.lower,
            tokenize=tokenize,
            tokenizer_language=tokenizer_language,
            batch_first=True,
            pad_token=pad_token,
            unk_token=nesting_field.unk_token,
            pad_first=pad_first,
            truncate_first=truncate_first,
            include_lengths=include_lengths,
        )
        self.nesting_field = nesting_field
        self.nesting_field.batch_first = True

    def preprocess(self, xs: Any) -> list:
        """The tokens of a value, each through the nesting field."""
        return [self.nesting_field.preprocess(x) for x in super().preprocess(xs)]

    def pad(self, minibatch: Iterable[Any]) -> Any:
        """Lists of one length of lists of one length; with lengths as the class says."""
        rows = [list(row) for row in minibatch]
        inner = self.nesting_field
        if not inner.sequential:
            return super().pad(rows)
        marks = [token for token in (inner.init_token, inner.eos_token) if token is not None]
        if inner.fix_length is None:
            room = max(len(parts) for row in rows for parts in row)
        else:
            room = inner.fix_length - len(marks)
        width = room + len(marks)
        begin = [] if self.init_token is None else [self._word([self.init_token], room)]
        end = [] if self.eos_token is None else [self._word([self.eos_token], room)]
        count = self._count(rows, len(begin) + len(end))
        padded, lengths, word_lengths = [], [], []
        for row in rows:
            kept = row[-count:] if self.truncate_first else row[:count]
            words = [*begin, *(self._word(parts, room) for parts in kept), *end]
            sizes = [len(marks) + 1] * len(begin)
            sizes += [min(len(parts), room) + len(marks) for parts in kept]
            sizes += [len(marks) + 1] * len(end)
            lengths.append(len(words))
            missing = count + len(begin) + len(end) - len(words)
            blank, none = [[self.pad_token] * width] * missing, [0] * missing
            padded.append([*blank, *words] if self.pad_first else [*words, *blank])
            word_lengths.append([*none, *sizes] if self.pad_first else [*sizes, *none])
        return (padded, lengths, word_lengths) if self.include_lengths else padded

    def _count(self, rows: list[list], marks: int) -> int:
        if self.fix_length is None:
            return max(len(row) for row in rows)
        return self.fix_length - marks

    def _word(self, parts: list, room: int) -> list:
        return self.nesting_field._padded(list(parts), room)

    def build_vocab(self, *args: Any, **kwargs: Any) -> None:
        """Make the vocabulary of both fields; arguments as of :meth:`Field.build_vocab`."""
        words = [row for column in self._columns(args) for row in column]
        vectors = {
            name: kwargs.pop(name)
            for name in ("vectors", "unk_init", "vectors_cache")
            if name in kwargs
        }
        self.nesting_field.build_vocab(*words, **kwargs)
        super().build_vocab()
        self.vocab.extend(self.nesting_field.vocab)
        self.vocab.freqs = self.nesting_field.vocab.freqs.copy()
        if vectors.get("vectors") is not None:
            self.vocab.load_vectors(
                vectors["vectors"],
                unk_init=vectors.get("unk_init"),
                cache=vectors.get("vectors_cache"),
            )
        self.nesting_field.vocab = self.vocab

    def numericalize(self, arrs: Any, device: Any = None) -> Any:
        """The tensor ``[B, T, W]`` of padded lists; with lengths as the class says."""
        lengths: tuple[list, ...] = ()
        if self.include_lengths:
            arrs, *rest = arrs
            lengths = tuple(rest)
        rows = [self.nesting_field.numericalize(row, device=device) for row in arrs]
        batch = rl.stack(rows)
        if not lengths:
            return batch
        counts = [rl.tensor(each, dtype=self.dtype, device=device) for each in lengths]
        return (batch, *counts)
