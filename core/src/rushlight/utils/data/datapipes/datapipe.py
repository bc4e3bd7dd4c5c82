"""What every data pipe is: a data set on which the registered steps are methods."""

from __future__ import annotations

import functools
import random

from rushlight.utils.data.dataset import Dataset, IterableDataset
from rushlight.utils.data.sampler import drawn_seed


class _Steps:
    """Steps as methods: ``pipe.map(f)`` is ``Mapper(pipe, f)``."""

    functions: dict = {}

    def __getattr__(self, name):
        if not name.startswith("__") and name in type(self).functions:
            return functools.partial(type(self).functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function) -> None:
        """Make a function of a pipe a method of all of them."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register, enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class a method. Raises Exception for a name that is taken, as PyTorch does."""
        if function_name in cls.functions:
            raise Exception(  # noqa: TRY002 - PyTorch's type
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    def __repr__(self):
        return type(self).__qualname__


class IterDataPipe(_Steps, IterableDataset):
    """A data pipe that is read in order.

    >>> from rushlight.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2, 3]).map(lambda x: 2 * x).batch(2))
    [[2, 4], [6]]
    """

    functions: dict = {}

    def reset(self) -> None:
        """Begin anew: called where a reading of the pipe starts."""


class MapDataPipe(_Steps, Dataset):
    """A data pipe that is read by index."""

    functions: dict = {}


class _IterDataPipeSerializationWrapper(IterDataPipe):
    """Reads another pipe in order: what loaders pass to their workers."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __iter__(self):
        yield from self._datapipe

    def __len__(self):
        return sized(type(self).__name__, self._datapipe)


class _MapDataPipeSerializationWrapper(MapDataPipe):
    """Reads another pipe by index: what loaders pass to their workers."""

    def __init__(self, datapipe):
        self._datapipe = datapipe

    def __getitem__(self, index):
        return self._datapipe[index]

    def __len__(self):
        return sized(type(self).__name__, self._datapipe)


class Shuffling:
    """What pipes in random order have: whether they are, and the seed of the next reading."""

    _enabled = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True):
        """Turn shuffling on or off; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int):
        """The seed of the next reading; returns the pipe."""
        self._seed = seed
        return self

    def _draw(self) -> random.Random:
        """Python's generator, as in PyTorch: the seed that was set, once, or one of ours."""
        seed, self._seed = self._seed, None
        return random.Random(drawn_seed() if seed is None else seed)


class functional_datapipe:  # noqa: N801 - PyTorch's name
    """A decorator that makes a class of pipes a method under a name.

    Raises TypeError for a class that is neither an `IterDataPipe` nor a `MapDataPipe`.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False):
        self.name = name

    def __call__(self, cls):
        """The class, which is a method of pipes from now on."""
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, base):
                base.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")


class DataChunk(list):
    """A batch of a pipe: a list."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The items in brackets."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self):
        """The items."""
        yield from self.items


def sized(name: str, pipe) -> int:
    """The length of a pipe. Raises TypeError for one without."""
    try:
        return len(pipe)
    except (TypeError, NotImplementedError):
        raise TypeError(f"{name} instance doesn't have valid length") from None
