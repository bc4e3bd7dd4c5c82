"""The base of callbacks that write checkpoints."""

from __future__ import annotations

from lightning_lite.callbacks.callback import Callback


class Checkpoint(Callback):
    """A callback that writes checkpoints; it runs after all others and sees what they did."""
