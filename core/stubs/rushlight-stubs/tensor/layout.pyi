# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _layout
from rushlight._words import _str
from typing import Any

def in_layout(made: Any, layout: _layout, requires_grad: _bool) -> Any: ...
jagged: _layout
class layout(_str):
    @property
    def name(self) -> Any: ...
def only_strided(op: Any, layout: _layout) -> Any: ...
sparse_bsc: _layout
sparse_bsr: _layout
sparse_coo: _layout
sparse_csc: _layout
sparse_csr: _layout
strided: _layout
