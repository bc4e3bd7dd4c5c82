# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from typing import Any

class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: _bool) -> None: ...
    def fetch(self, possibly_batched_index: Any) -> Any: ...
    dataset: Any
    auto_collation: Any
    collate_fn: Any
    drop_last: _bool
