"""Telling the launcher why a rank fails."""

from __future__ import annotations

import functools

from rushlight.distributed import error_files
from rushlight.refusals import rest_of


def record(fn, error_handler=None):
    """Decorate a program's main function: what it raises is noted for the launcher, which names
    the rank that failed first."""

    @functools.wraps(fn)
    def recorded(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code not in (None, 0):
                error_files.write(error)
            raise
        except Exception as error:
            error_files.write(error)
            raise

    return recorded


__all__ = ["record"]
__getattr__ = rest_of(__name__)
