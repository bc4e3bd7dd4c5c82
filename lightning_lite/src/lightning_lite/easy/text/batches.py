"""How texts become batches: padded to one length, or as one stream that a language model reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable
from rushlight.utils.data import DataLoader, Dataset, Sampler

PAD_ID = 1


def pad_chunk(
    x: Any, pad_len: int, pad_idx: int = PAD_ID, pad_first: bool = True, seq_len: int = 72
) -> Any:
    """A text `(T,)` filled up to `pad_len`: whole chunks of `seq_len` come first (unless
    `pad_first` is False), the rest behind, so that the text begins with a chunk."""
    missing = pad_len - len(x)
    chunks = rl.full((missing // seq_len * seq_len,), pad_idx, dtype=x.dtype)
    rest = rl.full((missing % seq_len,), pad_idx, dtype=x.dtype)
    return rl.cat([chunks, x, rest] if pad_first else [x, chunks, rest])


class PadCollate:
    """Fills the texts of samples up before `collate` makes a batch of them."""

    def __init__(self, collate: Any, kinds: tuple[str, ...], seq_len: int) -> None:
        self.collate, self.kinds, self.seq_len = collate, kinds, seq_len
        self.functions = collate.functions

    def __call__(self, samples: list[Any]) -> Any:
        """The batch."""
        texts = [number for number, kind in enumerate(self.kinds) if kind == "text"]
        texts = [number for number in texts if number < len(samples[0])]
        longest = max(len(each[number]) for each in samples for number in texts)
        return self.collate([self._padded(each, texts, longest) for each in samples])

    def _padded(self, sample: Any, texts: list[int], longest: int) -> tuple[Any, ...]:
        parts = list(sample)
        for number in texts:
            parts[number] = pad_chunk(parts[number], longest, seq_len=self.seq_len)
        return tuple(parts)


class SortedBatches(Sampler):
    """Batches of positions of about the same length in random order, the longest first; with
    `shuffle=False` in the order they are."""

    def __init__(self, lengths: list[int], bs: int, shuffle: bool, drop_last: bool) -> None:
        self.lengths, self.bs = lengths, bs
        self.shuffle, self.drop_last = shuffle, drop_last

    def __len__(self) -> int:
        """How many batches there are."""
        whole, rest = divmod(len(self.lengths), self.bs)
        return whole + int(rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        """The positions of each batch."""
        order = list(range(len(self.lengths)))
        batches = self._cut(self._mixed(order) if self.shuffle else order)
        if self.drop_last and batches and len(batches[-1]) < self.bs:
            batches.pop()
        if self.shuffle and len(batches) > 2:
            # A batch that is too large for the memory fails at once, and what is short comes last.
            middle = [batches[1 + each] for each in rl.randperm(len(batches) - 2).tolist()]
            batches = [batches[0], *middle, batches[-1]]
        return iter(batches)

    def _cut(self, order: list[int]) -> list[list[int]]:
        return [order[start : start + self.bs] for start in range(0, len(order), self.bs)]

    def _mixed(self, order: list[int]) -> list[int]:
        """Random, sorted by length within pieces of 50 batches, with the longest at the start."""
        order = rl.randperm(len(order)).tolist()
        longest = order.index(max(order, key=lambda each: self.lengths[each])) if order else 0
        if order:
            order[0], order[longest] = order[longest], order[0]
        size = self.bs * 50
        pieces = [order[start : start + size] for start in range(0, len(order), size)]
        return [
            each for piece in pieces for each in sorted(piece, key=lambda one: -self.lengths[one])
        ]


@describable
class SortedText:
    """Batches of texts of about the same length, filled up to the longest by chunks of
    `seq_len`."""

    def __init__(self, seq_len: int = 72) -> None:
        self.seq_len = seq_len

    def loader(self, finished: Any, collate: Any, bs: int, options: dict[str, Any]) -> DataLoader:
        """A DataLoader of samples."""
        options = dict(options)
        shuffle, drop_last = options.pop("shuffle", False), options.pop("drop_last", False)
        # The order of samples does not need their lengths.
        known = range(len(finished)) if shuffle else []
        lengths = [len(finished.samples[each][0]) for each in known] or [0] * len(finished)
        batches = SortedBatches(lengths, bs, shuffle, drop_last)
        padded: Callable[[list[Any]], Any] = PadCollate(collate, finished.kinds, self.seq_len)
        return DataLoader(finished, batch_sampler=batches, collate_fn=padded, **options)


class Stream(Dataset):
    """Texts one after another in `bs` rows, which batches read on from left to right.

    The element (seed, number) is a batch: inputs `(bs, seq_len)` and the token after each. The seed
    draws the order of texts, None leaves it. ValueError where `bs` rows have no two tokens.
    """

    def __init__(self, finished: Any, bs: int, seq_len: int) -> None:
        self.finished, self.bs, self.seq_len = finished, bs, seq_len
        self.total = sum(len(finished.samples[each][0]) for each in range(len(finished)))
        self.row = max(self.total - 1, 0) // bs
        if len(finished) and not self.row:
            raise ValueError(f"TextBlock: {self.total} tokens do not fill bs={bs} rows")
        self.seed: int | None = None
        self.flat: Any = None

    def __len__(self) -> int:
        """How many batches there are; the last one may be shorter."""
        return -(-self.row // self.seq_len)

    def _stream(self, seed: int | None) -> Any:
        if self.flat is None or seed != self.seed:
            order = list(range(len(self.finished)))
            if seed is not None:
                generator = rl.Generator().manual_seed(seed)
                order = rl.randperm(len(order), generator=generator).tolist()
            self.flat = rl.cat([self.finished[each][0] for each in order])
            self.seed = seed
        return self.flat

    def __getitem__(self, key: tuple[int | None, int]) -> tuple[Any, Any]:
        """Inputs and the tokens that come after."""
        seed, number = key
        flat, start = self._stream(seed), number * self.seq_len
        rows = flat[: self.bs * self.row].reshape(self.bs, self.row)
        after = flat[1 : self.bs * self.row + 1].reshape(self.bs, self.row)
        stop = min(start + self.seq_len, self.row)
        return rows[:, start:stop], after[:, start:stop]


class StreamOrder(Sampler):
    """The batches of a Stream from the first to the last, of a new order of texts each time."""

    def __init__(self, count: int, shuffle: bool) -> None:
        self.count, self.shuffle = count, shuffle

    def __len__(self) -> int:
        """How many batches there are."""
        return self.count

    def __iter__(self) -> Iterator[tuple[int | None, int]]:
        """Pairs of a seed and a batch's number."""
        seed = int(rl.randint(0, 2**31, ())) if self.shuffle else None
        return iter([(seed, number) for number in range(self.count)])


@describable
class StreamedText:
    """Batches of a stream of texts, `seq_len` tokens of each row; see `Stream`."""

    def __init__(self, seq_len: int = 72) -> None:
        self.seq_len = seq_len

    def loader(self, finished: Any, collate: Any, bs: int, options: dict[str, Any]) -> DataLoader:
        """A DataLoader of batches `(bs, seq_len)` and `(bs, seq_len)`."""
        options = {name: each for name, each in options.items() if name != "drop_last"}
        shuffle, stream = options.pop("shuffle", False), Stream(finished, bs, self.seq_len)
        order = StreamOrder(len(stream), shuffle)
        return DataLoader(stream, batch_size=None, sampler=order, **options)
