"""Errors of graph capture: `Unsupported`, `RecompileLimitExceeded`, `BackendCompilerFailed`,
`InvalidBackend` and `FailOnRecompileLimitHit` are raised; programs name the others in ``except``.
"""

from __future__ import annotations


class TorchDynamoException(RuntimeError):  # noqa: N818 - PyTorch's name
    """Base of the errors of graph capture."""

    @property
    def msg(self) -> str:
        """What the error says."""
        return str(self)


class Unsupported(TorchDynamoException):
    """Something that PyTorch's capture does not follow."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of PyTorch's capture."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """PyTorch's capture begins anew."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend has failed."""


class InvalidBackend(TorchDynamoException):
    """A name that no backend has."""


class UserError(TorchDynamoException):
    """A program that cannot be captured."""


class RecompileLimitExceeded(Unsupported):
    """Too many versions of one function."""


class FailOnRecompileLimitHit(Exception):  # noqa: N818 - PyTorch's name
    """Too many versions of one function, where ``compiler.config`` makes that an error."""
