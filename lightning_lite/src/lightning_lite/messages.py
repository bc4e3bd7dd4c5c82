"""What the trainer says to the user: information through one logger, doubts as warnings."""

from __future__ import annotations

import logging
import warnings

log = logging.getLogger("lightning_lite")
log.setLevel(logging.INFO)
if not log.handlers:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.propagate = False


def info(message: str) -> None:
    """Tell the user something; `logging.getLogger("lightning_lite").setLevel(...)` quietens it."""
    log.info(message)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the user, as seen from outside this package."""
    warnings.warn(message, category, stacklevel=3)
