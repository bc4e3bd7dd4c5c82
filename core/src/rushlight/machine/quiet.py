"""NumPy's functions without its warnings: NaN and infinity are results like others here.

``np.errstate`` takes longer than a small product; a context that holds its setting is entered in a
fifth of the time.
"""

from __future__ import annotations

import contextvars

from rushlight.machine import np


def _silenced():
    context = contextvars.copy_context()
    context.run(np.errstate(all="ignore").__enter__)
    return context.run


_run = _silenced()


def quietly(function, *args, **kwargs):
    """``function(*args, **kwargs)``, one of NumPy's, that warns of nothing."""
    try:
        return _run(function, *args, **kwargs)
    except RuntimeError:  # another thread is in the context at this moment
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
