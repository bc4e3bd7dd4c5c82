"""Types of values inside of traced programs."""

from __future__ import annotations

from typing import Any

from rushlight.fx.proxy import Proxy


def annotate(val: Any, type: Any) -> Any:  # noqa: A002 - PyTorch's name
    """Give the value of a program that is being traced a type, which its node and code show; other
    values stay as they are. RuntimeError for one that has a type."""
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(
            f"Tried to annotate a value that already had a type on it! Existing type is "
            f"{val.node.type} and new type is {type}: annotate a parameter in the function's "
            "signature, and other values once"
        )
    val.node.type = type
    return val


__all__ = ["annotate"]
