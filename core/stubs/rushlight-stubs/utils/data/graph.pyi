# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

def traverse_dps(datapipe: Any) -> dict[Any, Any]: ...
