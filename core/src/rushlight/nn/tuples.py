"""Settings that may be one number or one per dimension."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat


def _ntuple(n):
    def parse(value):
        if isinstance(value, Iterable):
            return tuple(value)
        return tuple(repeat(value, n))

    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Remove a prefix such as ``"module."`` from the keys of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key.startswith(prefix) or key == prefix[:-1]:
            metadata[key[len(prefix) :]] = metadata.pop(key)
