"""The names that ``compile(options=...)`` takes: PyTorch's, so that a misspelt one is an error."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def _known() -> dict[str, bool]:
    """The options by name, with whether each must be a bool."""
    text = Path(__file__).with_name("option_names.txt").read_text(encoding="utf-8")
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: bool(rest) for name, *rest in lines}


def list_options() -> list[str]:
    """The names of all options of ``compile(options=...)``, of which `freezing` alone changes
    something here.

    >>> import rushlight
    >>> "max_autotune" in rushlight._inductor.list_options()
    True
    """
    return list(_known())


def check_options(options) -> None:
    """Raise RuntimeError for an option that there is not, or that must be a bool and is none."""
    for name, value in options.items():
        key = str(name).replace("-", "_")
        if key not in _known():
            raise RuntimeError(
                f"Unexpected optimization option {name}, known options are {list_options()}"
            )
        if _known()[key] and type(value) is not bool:
            raise RuntimeError(
                f"Unexpected type of attr {name}, got {type(value).__name__} should be bool"
            )
