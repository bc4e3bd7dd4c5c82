# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from typing import Any

def consume_prefix_in_state_dict_if_present(state_dict: Any, prefix: Any) -> Any: ...
