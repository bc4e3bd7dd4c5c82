# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _str
from typing import Any

def get_env_variable_or_raise(env_name: _str) -> _str: ...
def get_socket_with_port() -> Any: ...
