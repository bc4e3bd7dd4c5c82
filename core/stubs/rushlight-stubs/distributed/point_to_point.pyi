# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import _int
from rushlight.distributed.process_group import ProcessGroup
from rushlight.distributed.works import Work
from rushlight.tensor.tensor import Tensor
from typing import Any

class P2POp:
    def __init__(self, op: Callable[..., Work | None], tensor: Tensor, peer: _int | None = ..., group: ProcessGroup | None = ..., tag: _int = ..., group_peer: _int | None = ...) -> None: ...
    op: Callable[..., Work | None]
    tensor: Tensor
    group: ProcessGroup | None
    tag: _int
    group_peer: Any
    peer: Any
def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]: ...
def irecv(tensor: Tensor, src: _int | None = ..., group: ProcessGroup | _int | None = ..., tag: _int = ..., group_src: _int | None = ...) -> Work | None: ...
def isend(tensor: Tensor, dst: _int | None = ..., group: ProcessGroup | _int | None = ..., tag: _int = ..., group_dst: _int | None = ...) -> Work | None: ...
def recv(tensor: Tensor, src: _int | None = ..., group: ProcessGroup | _int | None = ..., tag: _int = ..., group_src: _int | None = ...) -> _int: ...
def send(tensor: Tensor, dst: _int | None = ..., group: ProcessGroup | _int | None = ..., tag: _int = ..., group_dst: _int | None = ...) -> None: ...
