"""What goes wrong between processes, by kind."""

from __future__ import annotations


class DistError(RuntimeError):
    """An error of communication between processes."""


class DistBackendError(DistError):
    """The exchange of tensors failed: a rank is gone, left, or did not come in time."""


class DistNetworkError(DistError):
    """A connection could not be made or was lost."""


class DistStoreError(DistError):
    """A store did not have a key in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""
