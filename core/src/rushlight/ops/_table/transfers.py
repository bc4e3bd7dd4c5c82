"""Arrays between devices, and new ones where a tensor is made."""

from __future__ import annotations

from rushlight import devices
from rushlight.compiler.cuda import array_code, device_array
from rushlight.compiler.cuda.device_array import DeviceArray
from rushlight.compiler.cuda.translation import on_device
from rushlight.machine import np
from rushlight.tensor import memory_format


def moved(array, device, non_blocking=False):
    """A copy of an array on another device; dense arrays keep the order of their dimensions."""
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    if not array.flags.c_contiguous and array.transpose(order).flags.c_contiguous:
        made = _moved(array.transpose(order), device, non_blocking)
        return made.transpose([order.index(d) for d in range(array.ndim)])
    return _moved(array, device, non_blocking)


def _moved(array, device, non_blocking):
    copies = device_array.copies()
    if type(array) is not DeviceArray:
        return copies.from_host(array, device.index, not non_blocking)
    if device is devices.cpu:
        return copies.to_host(array, not non_blocking)
    return copies.to_device(array, device.index)


def placed(array, device):
    """A host array, or a device array, on a device: itself where it is there already."""
    here = array.home if type(array) is DeviceArray else devices.cpu
    return array if here is device else moved(array, device)


def empty(shape, dtype, device):
    """Uninitialised memory on a GPU."""
    return device_array.empty(shape, dtype, device.index)


def filled(shape, dtype, device, value):
    """An array of one value on a GPU."""
    if value == 0:
        return device_array.zeros(shape, dtype, device.index)
    out = device_array.empty(shape, dtype, device.index)
    out[...] = value
    return out


def ramp(count, start, step, dtype, device):
    """Numbers in even steps on a GPU."""
    return device_array.copies().ramp(count, start, step, dtype, device.index)


def empty_in(shape, dtype, chosen, device):
    """Uninitialised memory on a GPU, in a memory format."""
    with array_code.running_op("empty", device.index):
        return on_device(memory_format.empty_in)(shape, dtype, chosen)


def empty_like(array, dtype, device):
    """Uninitialised memory on a GPU with the shape and, where it is dense, the strides of an array
    on whichever device."""
    with array_code.running_op("empty_like", device.index):
        return on_device(memory_format.empty_like)(array, dtype)


def host(array):
    """The elements as an array of the host. Waits for the device."""
    return array.get() if type(array) is DeviceArray else np.asarray(array)
