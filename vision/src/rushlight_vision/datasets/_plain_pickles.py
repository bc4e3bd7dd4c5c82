"""Reading pickles of arrays, lists and dicts, and of nothing else: no code in them runs."""

from __future__ import annotations

import pickle
from typing import Any

from rushlight_vision.datasets.integrity import Location

_ALLOWED = frozenset(
    (module, name)
    for name in ("_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer")
    for module in (
        "numpy",
        "numpy.core.multiarray",
        "numpy._core.multiarray",
        "numpy.core.numeric",
        "numpy._core.numeric",
    )
) | {("_codecs", "encode")}  # how Python 3 writes bytes for Python 2


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Only what builds an array."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which no data file needs")
        return super().find_class(module, name)


def read_plain_pickle(path: Location) -> Any:
    """What a pickle file holds; strings of Python 2 are read as Latin-1.

    Raises ValueError with the path if the file is damaged or names anything but arrays.
    """
    try:
        with open(path, "rb") as file:
            return _PlainUnpickler(file, encoding="latin1").load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError) as error:
        raise ValueError(f"{path} is truncated, altered or unsafe: {error}") from None
