"""Decibels."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F

__all__ = ["AmplitudeToDB"]


class AmplitudeToDB(nn.Module):
    """Power or amplitude to decibels.

    Args:
        stype: ``"power"`` (times 10) or ``"magnitude"`` (times 20).
        top_db: raise what lies more than this below the maximum.
    """

    def __init__(self, stype: str = "power", top_db: float | None = None):
        super().__init__()
        if stype not in ("power", "magnitude"):
            raise ValueError(
                f"AmplitudeToDB(): stype must be 'power' or 'magnitude', got {stype!r}"
            )
        if top_db is not None and top_db < 0:
            raise ValueError(f"AmplitudeToDB(): top_db must not be negative, got {top_db}")
        self.stype = stype
        self.top_db = None if top_db is None else float(top_db)  # as scripts declare it
        self.multiplier = 10.0 if stype == "power" else 20.0
        self.amin = 1e-10
        self.ref_value = 1.0
        self.db_multiplier = math.log10(max(self.amin, self.ref_value))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Decibels in the shape of `x`."""
        return F.amplitude_to_DB(x, self.multiplier, self.amin, self.db_multiplier, self.top_db)
