"""Code inside of dispatch modes that is not for them to see."""

from __future__ import annotations

import contextlib

from rushlight.refusals import rest_of
from rushlight.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def no_dispatch():
    """Inside of ``with``, no :class:`~rushlight.utils._python_dispatch.TorchDispatchMode` sees an
    op.

    Example:
        >>> import rushlight
        >>> from rushlight.utils._mode_utils import no_dispatch
        >>> with no_dispatch():
        ...     rushlight.ones(1) + 1
        tensor([2.])
    """
    with _disable_current_modes():
        yield


__getattr__ = rest_of(__name__)
__all__ = ["no_dispatch"]
