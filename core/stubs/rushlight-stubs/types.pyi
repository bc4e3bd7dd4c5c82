# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from typing import Any as Any
def Device(*args: Any, **kwargs: Any) -> Any: ...
def FileLike(*args: Any, **kwargs: Any) -> Any: ...
def Number(*args: Any, **kwargs: Any) -> Any: ...
from rushlight.tensor.shape import Size as Size
from rushlight.tensor.storage import Storage as Storage
