"""What objects must have to be saved by their own state dict."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """An object with ``state_dict`` and ``load_state_dict``."""

    def state_dict(self) -> dict[str, Any]:
        """What is to be saved."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what was saved."""
        ...
