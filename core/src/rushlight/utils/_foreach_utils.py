"""Lists of tensors for functions over many of them: grouped by device and dtype."""

from __future__ import annotations

import rushlight
from rushlight.refusals import rest_of

__all__ = []

_STEP_DTYPES = (rushlight.float32, rushlight.float64)


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of equal length, split by device and dtype of the first list's tensors.

    tensorlistlist: lists of tensors; one behind the first may be empty, or have None for tensors.
    with_indices: also say which positions of the lists a group has.

    Returns a dict from ``(device, dtype)`` to the group's lists and its positions (empty without
    `with_indices`), in the order in which the groups begin.

    Raises RuntimeError where the first list is missing, empty, or holds None, where lengths differ,
    and where tensors of one position differ in device or dtype, which only counters of steps may
    (float32 or float64, on the CPU), and bfloat16 ones.

    Example:
        >>> import rushlight
        >>> from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype
        >>> pair = [rushlight.ones(1), rushlight.ones(1, dtype=rushlight.float64)]
        >>> groups = _group_tensors_by_device_and_dtype([pair], with_indices=True)
        >>> [positions for _, positions in groups.values()]
        [[0], [1]]
    """
    _check_lists(tensorlistlist)
    groups: dict = {}
    for position, tensor in enumerate(tensorlistlist[0]):
        for each in tensorlistlist:
            _check_partner(tensor, each[position] if each else None, position)
        lists, positions = groups.setdefault(
            (tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], [])
        )
        for own, given in zip(lists, tensorlistlist, strict=True):
            own.extend(given[position : position + 1])
        if with_indices:
            positions.append(position)
    return groups


def _check_lists(lists) -> None:
    """Raise where lists cannot be grouped at all."""
    name = "_group_tensors_by_device_and_dtype()"
    if not lists or not lists[0]:
        raise RuntimeError(f"{name}: tensorlistlist has no tensors in its first list")
    lengths = [len(each) for each in lists]
    if any(length not in (0, lengths[0]) for length in lengths):
        raise RuntimeError(f"{name}: the lists have different lengths, {lengths}")
    missing = [i for i, tensor in enumerate(lists[0]) if tensor is None]
    if missing:
        raise RuntimeError(f"{name}: the first list has None at {missing}, expected tensors")


def _check_partner(tensor, other, position: int) -> None:
    """Raise where a tensor does not go with the first list's at its position."""
    if other is None or (other.device == tensor.device and other.dtype == tensor.dtype):
        return
    counts = other.device.type == "cpu" and other.dtype in _STEP_DTYPES
    small = other.device == tensor.device and other.dtype == rushlight.bfloat16
    if not counts and not small:
        raise RuntimeError(
            f"_group_tensors_by_device_and_dtype(): at position {position} a tensor is "
            f"{other.dtype} on {other.device}, expected {tensor.dtype} on {tensor.device}"
        )


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The kinds of devices for which many tensors are updated by one kernel."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The kinds of devices on which a whole step of an optimizer is one kernel."""
    return ["cuda", "cpu"]


def _device_has_foreach_support(device) -> bool:
    """Whether functions over many tensors take those of a device."""
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors, device) -> bool:
    """Whether functions over many tensors take these: None or plain tensors, on a device."""
    plain = (type(None), rushlight.Tensor)
    return _device_has_foreach_support(device) and all(type(t) in plain for t in tensors)


__getattr__ = rest_of(__name__)
