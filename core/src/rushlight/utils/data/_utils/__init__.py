"""PyTorch's internal path of collating, which programs import from."""

from __future__ import annotations

from rushlight.utils.data import collate, workers

worker = workers

__all__ = ["collate", "worker"]
