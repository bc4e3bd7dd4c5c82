# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _str
from typing import Any
from typing import NamedTuple

class SystemEnv(NamedTuple):
    rushlight_version: Any
    python_version: Any
    python_platform: Any
    os: Any
    libc_version: Any
    cpu_model: Any
    cpu_count: Any
    cpu_features: Any
    memory: Any
    threads: Any
    is_cuda_available: Any
    packages: Any
    environment: Any
def get_env_info() -> SystemEnv: ...
def get_pretty_env_info() -> _str: ...
def main() -> None: ...
def pretty_str(found: SystemEnv) -> _str: ...
