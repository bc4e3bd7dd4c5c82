"""What the array namespace can do: the inspection interface of the array API standard."""

from __future__ import annotations

from rushlight import devices, dtypes
from rushlight.array_api.data_types import STANDARD, isdtype
from rushlight.devices import get_default_device


class __array_namespace_info__:  # noqa: N801 - the standard's name
    """Capabilities, devices and dtypes of :mod:`rushlight.array_api`."""

    def capabilities(self) -> dict:
        """Boolean indexing and data-dependent shapes are there; arrays have at most 64
        dimensions."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self):
        """The device of arrays made without one."""
        return get_default_device()

    def devices(self) -> list:
        """The devices there are."""
        return [devices.cpu]

    def default_dtypes(self, *, device=None) -> dict:
        """The dtypes given to data without one, by kind."""
        _check_device(device)
        return {
            "real floating": dtypes.default.float,
            "complex floating": dtypes.default.float.to_complex(),
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device=None, kind=None) -> dict:
        """The standard's dtypes that there are, by name; all, or those of a kind (see
        :func:`rushlight.array_api.isdtype`) or of a tuple of kinds."""
        _check_device(device)
        if kind is None:
            return dict(STANDARD)
        if isinstance(kind, tuple):
            return {n: d for k in kind for n, d in self.dtypes(kind=k).items()}
        return {name: dtype for name, dtype in STANDARD.items() if isdtype(dtype, kind)}


def _check_device(device):
    if device is not None and devices.device(device).type != "cpu":
        raise ValueError(f"unknown device {device!r}; expected one of {[devices.cpu]}")
