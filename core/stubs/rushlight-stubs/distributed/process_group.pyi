# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _int
from rushlight.distributed.groups import RankGroup
from rushlight.distributed.works import Work
from rushlight.tensor.tensor import Tensor
from typing import Any

class ProcessGroup(RankGroup):
    def allreduce(self, tensors: Sequence[Tensor], opts: Any = ...) -> Work: ...
    def broadcast(self, tensors: Sequence[Tensor], opts: _int = ...) -> Work: ...
    def allgather(self, output_tensors: Any, input_tensors: Any) -> Work: ...
    def barrier(self, opts: Any = ...) -> Work: ...
