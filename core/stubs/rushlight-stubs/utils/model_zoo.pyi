# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _str
from typing import Any

def load_url(url: _str, model_dir: _str | None = ..., map_location: object = ..., progress: _bool = ..., check_hash: _bool = ..., file_name: _str | None = ..., weights_only: _bool = ...) -> dict[_str, Any]: ...
