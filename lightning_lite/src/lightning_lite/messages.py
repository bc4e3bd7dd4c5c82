"""What the trainer says to the user: information through one logger, doubts as warnings."""

from __future__ import annotations

import logging
import os
import sys
import warnings


class BarHandler(logging.StreamHandler):
    """Writes to standard error, above the progress bars that tqdm is drawing."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message."""
        tqdm = getattr(sys.modules.get("tqdm"), "tqdm", None)
        if tqdm is None:
            super().emit(record)
        else:
            tqdm.write(self.format(record), file=sys.stderr)


PACKAGE = os.path.dirname(__file__) + os.sep
log = logging.getLogger("lightning_lite")
log.setLevel(logging.INFO)
if not log.handlers:
    handler = BarHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.propagate = False


def info(message: str) -> None:
    """Tell the user something; `logging.getLogger("lightning_lite").setLevel(...)` quietens it."""
    log.info(message)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the user, at the line of theirs that led here: the innermost outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def quiet_other_ranks(rank: int) -> None:
    """Let information come from the first of several processes alone."""
    if rank and log.level < logging.WARNING:
        log.setLevel(logging.WARNING)
