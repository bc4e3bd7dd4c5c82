"""Fields: what is done to a column of a data set on its way to a tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import rushlight as rl
from rushlight_text.data.utils import (
    dtype_to_attr,
    get_tokenizer,
    is_tokenizer_serializable,
)
from rushlight_text.legacy.data.pipeline import Pipeline
from rushlight_text.legacy.vocab import Vocab

__all__ = ["Field", "LabelField", "RawField"]

Function = Callable[..., Any]


class RawField:
    """A column that is left as it is.

    Args:
        preprocessing: function of each value.
        postprocessing: function of the list of values of a batch.
        is_target: the column is what a model predicts.
    """

    def __init__(
        self,
        preprocessing: Function | None = None,
        postprocessing: Function | None = None,
        is_target: bool = False,
    ):
        self.preprocessing = preprocessing
        self.postprocessing = postprocessing
        self.is_target = is_target

    def preprocess(self, x: Any) -> Any:
        """What becomes of a value when an example is made."""
        return x if self.preprocessing is None else self.preprocessing(x)

    def process(self, batch: list, *args: Any, **kwargs: Any) -> Any:
        """What becomes of the values of a batch."""
        return batch if self.postprocessing is None else self.postprocessing(batch)


class Field(RawField):
    """A column of text or numbers: tokenize, pad, look up, make a tensor.

    Args:
        sequential: values are sequences, which are tokenized and padded.
        use_vocab: look tokens up; else they are numbers already.
        init_token, eos_token: put before and after each sequence.
        fix_length: length of all sequences, these tokens included; default: the longest of a batch.
        dtype: of the tensor.
        preprocessing: function of the tokens.
        postprocessing: function of the ids of a batch, and of the vocabulary.
        lower: small letters.
        tokenize: as of :func:`rushlight_text.data.get_tokenizer`, with `tokenizer_language`.
        include_lengths: give the lengths as well.
        batch_first: ``[B, T]`` instead of ``[T, B]``.
        pad_token, unk_token: for padding, and for unknown tokens.
        pad_first, truncate_first: pad or cut at the beginning.
        stop_words: tokens that are dropped.
        is_target: the column is what a model predicts.
    """

    vocab_cls: type[Vocab] = Vocab
    # How a number that is spelled is read, by the dtype of the tensor.
    dtypes: dict[rl.dtype, type] = {
        rl.float32: float,
        rl.float64: float,
        rl.float16: float,
        rl.uint8: int,
        rl.int8: int,
        rl.int16: int,
        rl.int32: int,
        rl.int64: int,
    }
    ignore = ("dtype", "tokenize")

    def __init__(
        self,
        sequential: bool = True,
        use_vocab: bool = True,
        init_token: str | None = None,
        eos_token: str | None = None,
        fix_length: int | None = None,
        dtype: rl.dtype = rl.long,
        preprocessing: Function | None = None,
        postprocessing: Function | None = None,
        lower: bool = False,
        tokenize: str | Function | None = None,
        tokenizer_language: str = "en",
        include_lengths: bool = False,
        batch_first: bool = False,
        pad_token: str | None = "<pad>",
        unk_token: str | None = "<unk>",
        pad_first: bool = False,
        truncate_first: bool = False,
        stop_words: Iterable[str] | None = None,
        is_target: bool = False,
    ):
        super().__init__(preprocessing, postprocessing, is_target)
        self.sequential, self.use_vocab = sequential, use_vocab
        self.init_token, self.eos_token, self.unk_token = init_token, eos_token, unk_token
        self.fix_length, self.dtype, self.lower = fix_length, dtype, lower
        self.tokenizer_args = (tokenize, tokenizer_language)
        self.tokenize = get_tokenizer(tokenize, tokenizer_language)
        self.include_lengths, self.batch_first = include_lengths, batch_first
        self.pad_token: Any = pad_token if sequential else None
        self.pad_first, self.truncate_first = pad_first, truncate_first
        self.stop_words = None if stop_words is None else _words(stop_words)

    def __getstate__(self) -> dict[str, Any]:
        state = {key: value for key, value in self.__dict__.items() if key not in self.ignore}
        state["dtype"] = dtype_to_attr(self.dtype)
        tokenize = self.tokenize if is_tokenizer_serializable(*self.tokenizer_args) else None
        return state | {"tokenize": tokenize}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {**state, "dtype": getattr(rl, state["dtype"])}
        if not state["tokenize"]:
            state["tokenize"] = get_tokenizer(*state["tokenizer_args"])
        self.__dict__.update(state)

    def preprocess(self, x: Any) -> Any:
        """The tokens of a value: tokenized if it is a string, in small letters if asked for,
        without stop words, through `preprocessing`."""
        if self.sequential and isinstance(x, str):
            x = self.tokenize(x.rstrip("\n"))
        if self.lower:
            x = Pipeline(str.lower)(x)
        if self.sequential and self.use_vocab and self.stop_words is not None:
            x = [token for token in x if token not in self.stop_words]
        return super().preprocess(x)

    def process(self, batch: list, device: Any = None) -> Any:
        """The tensor of the values of a batch."""
        return self.numericalize(self.pad(batch), device=device)

    def pad(self, minibatch: Iterable[Any]) -> Any:
        """Lists of one length, with the tokens of beginning and end; with `include_lengths` also
        the list of their true lengths."""
        rows = list(minibatch)
        if not self.sequential:
            return rows
        marks = [token for token in (self.init_token, self.eos_token) if token is not None]
        if self.fix_length is None:
            room = max(len(row) for row in rows)
        else:
            room = self.fix_length - len(marks)
        padded = [self._padded(list(row), room) for row in rows]
        lengths = [min(len(row), room) + len(marks) for row in rows]
        return (padded, lengths) if self.include_lengths else padded

    def _padded(self, row: list, room: int) -> list:
        kept = row[-room:] if self.truncate_first else row[:room]
        fill = [self.pad_token] * max(0, room - len(row))
        begin = [] if self.init_token is None else [self.init_token]
        end = [] if self.eos_token is None else [self.eos_token]
        whole = [*begin, *kept, *end]
        return [*fill, *whole] if self.pad_first else [*whole, *fill]

    def build_vocab(self, *args: Any, **kwargs: Any) -> None:
        """Make the vocabulary.

        Args:
            args: data sets, whose columns of this field count, or columns.
            kwargs: for the vocabulary (``max_size``, ``min_freq``, ``vectors``, ``specials``).
        """
        counter: Counter[str] = Counter()
        for column in self._columns(args):
            for value in column:
                counter.update(_tokens(value) if self.sequential else [value])
        own = [self.unk_token, self.pad_token, self.init_token, self.eos_token]
        names = [*own, *kwargs.pop("specials", [])]
        special = list(dict.fromkeys(token for token in names if token is not None))
        self.vocab = self.vocab_cls(counter, specials=special, **kwargs)

    def _columns(self, sources: Iterable[Any]) -> list[Any]:
        from rushlight_text.legacy.data.dataset import Dataset

        columns: list[Any] = []
        for source in sources:
            if isinstance(source, Dataset):
                fields = source.fields.items()
                columns += [getattr(source, name) for name, field in fields if field is self]
            else:
                columns.append(source)
        return columns

    def numericalize(self, arr: Any, device: Any = None) -> Any:
        """The tensor of padded lists: ``[T, B]``, or ``[B, T]`` with `batch_first`; ``[B]`` where
        values are no sequences. With `include_lengths` also the lengths, ``[B]``.

        Raises ValueError where lengths are missing, or a dtype has no form in text.
        """
        lengths = None
        if self.include_lengths:
            if not isinstance(arr, tuple):
                raise ValueError(
                    "Field has include_lengths set to True, but input data is not a tuple of "
                    "(data batch, batch lengths)."
                )
            arr, counts = arr
            lengths = rl.tensor(counts, dtype=self.dtype, device=device)
        tensor = rl.tensor(self._numbers(arr), dtype=self.dtype, device=device)
        if self.sequential:
            tensor = (tensor if self.batch_first else tensor.t()).contiguous()
        return tensor if lengths is None else (tensor, lengths)

    def _numbers(self, arr: list) -> list:
        if self.use_vocab:
            look = self.vocab.stoi.__getitem__
            arr = (
                [[look(x) for x in row] for row in arr] if self.sequential else list(map(look, arr))
            )
            return arr if self.postprocessing is None else self.postprocessing(arr, self.vocab)
        if self.dtype not in self.dtypes:
            raise ValueError(
                f"Specified Field dtype {self.dtype} can not be used with use_vocab=False because "
                "we do not know how to numericalize it."
            )
        if not self.sequential:
            read = self.dtypes[self.dtype]
            arr = [read(x) if isinstance(x, str) else x for x in arr]
        return arr if self.postprocessing is None else self.postprocessing(arr, None)


def _tokens(value: Any) -> Iterable[str]:
    """Tokens of a value, which may be a list of lists of them."""
    if value and isinstance(value, (list, tuple)) and isinstance(value[0], (list, tuple)):
        return chain.from_iterable(value)
    return value


def _words(words: Iterable[str]) -> set[str]:
    try:
        return set(words)
    except TypeError as error:
        raise ValueError("Stop words must be convertible to a set") from error


class LabelField(Field):
    """A column of labels: no sequences, nothing unknown, a target. Arguments as of `Field`."""

    def __init__(self, **kwargs: Any):
        kwargs["sequential"] = False
        kwargs["unk_token"] = None
        kwargs["is_target"] = True
        super().__init__(**kwargs)
