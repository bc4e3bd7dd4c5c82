# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import Enum
from rushlight._words import _bool
from typing import Any

class CheckpointPolicy(Enum):
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5
class SelectiveCheckpointContext:
    def __init__(self, *, is_recompute: _bool, op_output: object = ...) -> None: ...
    is_recompute: _bool
    op_output: object
def create_selective_checkpoint_contexts(policy_fn_or_list: Callable[..., Any] | Sequence[Callable[..., Any]], allow_cache_entry_mutation: _bool = ...) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]: ...
