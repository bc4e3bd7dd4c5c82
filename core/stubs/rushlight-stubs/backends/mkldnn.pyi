# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from contextlib import AbstractContextManager
from rushlight._words import _bool
from rushlight._words import _int
from rushlight._words import _str

allow_tf32: _bool
deterministic: _bool
enabled: _bool
def flags(enabled: _bool = ..., deterministic: _bool = ..., allow_tf32: _bool = ..., fp32_precision: _str = ...) -> AbstractContextManager[None]: ...
def is_available() -> _bool: ...
verbose: _int
