"""Samplers: the order in which indices are drawn."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Generic, TypeVar

import rushlight
from rushlight.ops.random.sampling import Generator, multinomial, randint, randperm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized
    from typing import Any

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base of samplers: define ``__iter__``, and ``__len__`` where it is known."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")


class SequentialSampler(Sampler[int]):
    """The indices in order."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def drawn_seed(generator=None) -> int:
    """A seed, drawn as PyTorch draws that of a pass over a loader, a sampler or a pipe."""
    return int(rushlight.empty((), dtype=rushlight.int64).random_(generator=generator).item())


def _seeded():
    """A generator seeded by the default one, as PyTorch's samplers do it."""
    generator = Generator()
    generator.manual_seed(drawn_seed())
    return generator


class RandomSampler(Sampler[int]):
    """The indices in random order; with `replacement`, drawn independently."""

    def __init__(self, data_source: Sized, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples="
                f"{self.num_samples}"
            )

    @property
    def num_samples(self):
        """How many indices one pass draws."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count = len(self.data_source)
        generator = _seeded() if self.generator is None else self.generator
        if self.replacement:
            for _ in range(self.num_samples // 32):
                yield from randint(count, (32,), generator=generator).tolist()
            yield from randint(count, (self.num_samples % 32,), generator=generator).tolist()
            return
        for _ in range(self.num_samples // count):
            yield from randperm(count, generator=generator).tolist()
        rest = self.num_samples % count
        # PyTorch draws it even if none of it is used: a generator of the user's moves on.
        if rest or generator is self.generator:
            yield from randperm(count, generator=generator).tolist()[:rest]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order."""

    def __init__(self, indices: Sequence[int], generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given (unnormalised) probabilities."""

    def __init__(self, weights: Sequence[float], num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        self.weights = rushlight.as_tensor(weights, dtype=rushlight.float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        found = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from iter(found.tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of `batch_size` indices of another sampler."""

    def __init__(self, sampler: Iterable[Any], batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        source = iter(self.sampler)
        while batch := list(itertools.islice(source, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
