"""PyTorch's path to the settings of its compiler: they can be set, and change nothing here."""

from __future__ import annotations

from rushlight._inductor import config
from rushlight._inductor.options import list_options
from rushlight.compiler.eager import cudagraph_mark_step_begin
from rushlight.refusals import rest_of

__all__ = ["config", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict:
    """The options that each `mode` of `compile` stands for: none, for all modes are the same here.

    Returns the dict of one mode where `mode` is given, else a dict of all.
    """
    modes = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
    every: dict[str, dict] = {name: {} for name in modes}
    return every if mode is None else every[mode]


__getattr__ = rest_of(__name__)
