"""PyTorch's path to the names that annotations of TorchScript are written with."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - TorchScript's names


class _OneOrMany:
    """``BroadcastingList2[int]``: a list of that length, or one number for all its items."""

    def __getitem__(self, element):
        return List[element] | element  # noqa: UP006


BroadcastingList1, BroadcastingList2, BroadcastingList3 = _OneOrMany(), _OneOrMany(), _OneOrMany()

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "List",
    "Optional",
    "Tuple",
    "Union",
]
