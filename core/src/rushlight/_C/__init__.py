"""The few names of PyTorch's compiled part that Python programs use."""

from __future__ import annotations

from rushlight.refusals import rest_of


def _log_api_usage_once(event: str) -> None:
    """Count the use of an interface for PyTorch's makers: nothing is counted here."""


class _nn:  # noqa: N801 - PyTorch's name
    """The functions behind ``Module.to``."""

    @staticmethod
    def _parse_to(*args, **kwargs):
        """``(device, dtype, non_blocking, memory_format)`` of the arguments of ``to``."""
        from rushlight.devices import as_device
        from rushlight.ops.creation.conversion import parse_to

        dtype, device, _, non_blocking, memory_format = parse_to(args, kwargs)
        device = None if device is None else as_device(device)
        return device, dtype, non_blocking, memory_format


__getattr__ = rest_of(__name__)
