# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class CheckpointPolicy:
    MUST_SAVE: Any
    PREFER_SAVE: Any
    MUST_RECOMPUTE: Any
    PREFER_RECOMPUTE: Any
    MUST_CPU_OFFLOAD: Any
    PREFER_CPU_OFFLOAD: Any
    def __new__(cls, value: Tensor) -> Self: ...
class SelectiveCheckpointContext:
    def __init__(self, *, is_recompute: _bool, op_output: object = ...) -> None: ...
    is_recompute: _bool
    op_output: object
def create_selective_checkpoint_contexts(policy_fn_or_list: Callable[..., Any] | Sequence[Callable[..., Any]], allow_cache_entry_mutation: _bool = ...) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]: ...
