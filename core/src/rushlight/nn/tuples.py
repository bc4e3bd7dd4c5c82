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


def _reverse_repeat_tuple(t, n):
    """The items from the last to the first, each `n` times: the padding of ``pad`` from that of a
    convolution."""
    return tuple(item for item in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """`out_size`, where it is None the last of `defaults` that belong to it."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    own = defaults[len(defaults) - len(out_size) :]
    return [
        given if given is not None else known for given, known in zip(out_size, own, strict=True)
    ]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Remove a prefix such as ``"module."`` from the keys of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key.startswith(prefix) or key == prefix[:-1]:
            metadata[key[len(prefix) :]] = metadata.pop(key)
