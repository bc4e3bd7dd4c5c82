# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

def write_embedding(log_dir: Any, matrix: Any, metadata: Any, pictures: Any, step: Any, tag: Any, header: Any) -> None: ...
