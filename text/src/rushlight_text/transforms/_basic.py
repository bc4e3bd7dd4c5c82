"""From tokens to padded tensors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight import nn
from rushlight_text import functional as F
from rushlight_text.vocab import Vocab

__all__ = [
    "AddToken",
    "LabelToIndex",
    "PadTransform",
    "Sequential",
    "StrToIntTransform",
    "ToTensor",
    "Truncate",
    "VocabTransform",
]


class Sequential(nn.Sequential):
    """Transforms one after the other.

    >>> vocab = Vocab(["<pad>", "<bos>", "a", "b"])
    >>> Sequential(VocabTransform(vocab), Truncate(2), AddToken(1), ToTensor(0))(["a", "b", "a"])
    tensor([1, 2, 3])
    """

    def forward(self, input: Any) -> Any:
        """What the last transform makes of what the others made of `input`."""
        for module in self:
            input = module(input)
        return input

    if TYPE_CHECKING:  # a call is that of `forward`, not of `nn.Sequential` on tensors

        def __call__(self, input: Any) -> Any: ...


class VocabTransform(nn.Module):
    """Tokens to ids: a list, or each list of a list of lists."""

    def __init__(self, vocab: Vocab):
        super().__init__()
        if not isinstance(vocab, Vocab):
            raise TypeError(
                f"VocabTransform(): argument 'vocab' must be a Vocab, not {type(vocab).__name__}"
            )
        self.vocab = vocab

    def forward(self, input: Any) -> list[int] | list[list[int]]:
        """The ids of `input`."""
        if isinstance(input, (list, tuple)) and input and isinstance(input[0], (list, tuple)):
            return [self.vocab.lookup_indices(row) for row in input]
        return self.vocab.lookup_indices(input)


class ToTensor(nn.Module):
    """Ids to a tensor, the short rows padded; see :func:`rushlight_text.functional.to_tensor`."""

    def __init__(self, padding_value: int | None = None, dtype: rl.dtype = rl.long):
        super().__init__()
        self.padding_value = padding_value
        self.dtype = dtype

    def forward(self, input: list[int] | list[list[int]]) -> rl.Tensor:
        """``[T]`` of a list, ``[B, T]`` of a list of lists."""
        return F.to_tensor(input, self.padding_value, self.dtype)


class Truncate(nn.Module):
    """The first `max_seq_len` tokens or ids."""

    def __init__(self, max_seq_len: int):
        super().__init__()
        self.max_seq_len = max_seq_len

    def forward(self, input: Any) -> Any:
        """A list, or each list of a list of lists, cut."""
        return F.truncate(input, self.max_seq_len)


class AddToken(nn.Module):
    """A token or id before (``begin=True``) or after each list."""

    def __init__(self, token: int | str, begin: bool = True):
        super().__init__()
        self.token = token
        self.begin = begin

    def forward(self, input: Any) -> Any:
        """A list, or each list of a list of lists, with the token."""
        return F.add_token(input, self.token, self.begin)


class PadTransform(nn.Module):
    """A tensor padded at its end to a fixed length; a longer one is unchanged."""

    def __init__(self, max_length: int, pad_value: int):
        super().__init__()
        self.max_length = max_length
        self.pad_value = float(pad_value)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[*, T]`` to ``[*, max(T, max_length)]``."""
        return F.pad(x, self.max_length, self.pad_value)


class StrToIntTransform(nn.Module):
    """Strings of digits to integers, in a list or a list of lists."""

    def forward(self, input: list[str] | list[list[str]]) -> list[int] | list[list[int]]:
        """The integers."""
        return F.str_to_int(input)


class LabelToIndex(nn.Module):
    """Names of labels to their places.

    Args:
        label_names: the names, in order; or
        label_path: a file with one name a line.
        sort_names: sort them first.

    Raises:
        ValueError: both or neither are given.
        FileNotFoundError: no such file.
    """

    def __init__(
        self,
        label_names: list[str] | None = None,
        label_path: str | os.PathLike | None = None,
        sort_names: bool = False,
    ):
        super().__init__()
        if label_names is not None and label_path is not None:
            raise ValueError("LabelToIndex(): give label_names or label_path, not both of them")
        if label_names is None:
            if label_path is None:
                raise ValueError("LabelToIndex(): give label_names or label_path")
            if not Path(label_path).is_file():
                raise FileNotFoundError(f"LabelToIndex(): no such file: {os.fspath(label_path)!r}")
            lines = Path(label_path).read_text(encoding="utf-8").splitlines()
            label_names = [line.strip() for line in lines if line.strip()]
        self._names = Vocab(sorted(label_names) if sort_names else label_names)

    @property
    def label_names(self) -> list[str]:
        """The names by place."""
        return self._names.get_itos()

    def forward(self, input: str | list[str]) -> int | list[int]:
        """The place of a name, or the places of several."""
        return self._names[input] if isinstance(input, str) else self._names(input)
