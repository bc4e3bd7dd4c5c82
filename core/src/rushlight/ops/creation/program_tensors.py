"""New tensors in a program that is captured."""

from __future__ import annotations

from rushlight import devices
from rushlight.ops._table.aten import declared_in_aten, in_aten
from rushlight.ops.creation import aten_forms as forms
from rushlight.ops.shape.joining import stack
from rushlight.tensor.dispatch import captured, innermost_capture
from rushlight.tensor.tensor import Tensor


@in_aten("lift_fresh_copy(Tensor self) -> Tensor")
def lift_fresh_copy(self):
    """A copy of a constant of a program, which it may write to."""
    return self.clone()


@in_aten("_local_scalar_dense(Tensor self) -> Scalar")
def _local_scalar_dense(self):
    """The number in a tensor of one element."""
    return self.item()


declared_in_aten(
    "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor"
)


@in_aten(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    call=lambda self, **options: ("_to_copy", {"self": self, **options}),
)
def _to_copy(self, **options):
    """A copy with another dtype or on another device."""
    return Tensor.to(self, copy=True, **options)


def of_program(function, args, given):
    """The new tensor of a program that is captured; None where none is. `given` are all parameters
    of the call, `args` those that go by position."""
    if given.get("out") is not None:
        return None
    if any(isinstance(value, Tensor) for value in args):
        return None
    # sizes are given by position or by keyword, never both
    names = ("dtype", "device") if args else ("size", "dtype", "device")
    made = captured(function, args, {k: given[k] for k in names if given.get(k) is not None})
    if made is NotImplemented:
        return None
    return made.requires_grad_() if given["requires_grad"] else made


def constant(tensor, full, data, dtype, device):
    """What ``tensor(data)`` gives in a program that is captured; None where none is. `tensor` and
    `full` are the functions of these names."""
    level = innermost_capture()
    if level is None:
        return None
    imagining = devices.current.imagining  # a device may not be there: the tensor goes there later
    with level.outside():
        made = tensor(data, dtype=dtype, device=devices.cpu if imagining else device)
    tracking = level.tracking
    if tracking is not None and tracking.numbers and made.numel() and _of_numbers(data):
        return _computed(full, data, {"dtype": made.dtype, "device": device})
    found = captured(lift_fresh_copy, (made,), {})
    return found.to(devices.as_device(device)) if imagining else found


def pretending_array(from_numpy, ndarray):
    """What ``from_numpy(ndarray)`` gives where tensors only pretend to have elements."""
    with devices.existing_devices():
        made = from_numpy(ndarray)
    return made if innermost_capture() is None else captured(lift_fresh_copy, (made,), {})


def _of_numbers(data):
    """Whether data is of Python's numbers alone."""
    if isinstance(data, list | tuple):
        return all(map(_of_numbers, data))
    return isinstance(data, int | float) and not isinstance(data, bool)


def _computed(full, data, options):
    """The calls that make a tensor of numbers which differ from capture to capture."""
    if isinstance(data, list | tuple):
        return stack([_computed(full, item, options) for item in data])
    return full((), data, **options)


@in_aten(forms.like("full_like", "Scalar fill_value, "), call=forms.full_like)
def _full_like(input, fill_value, dtype=None, device=None):
    return input.new_full(tuple(input.shape), fill_value, dtype=dtype, device=device)


def full_like_of_program(input, fill_value, dtype, device):
    """:func:`full_like` in a program that is captured; None where none is."""
    if isinstance(fill_value, Tensor):
        return None
    named = {} if device is None else {"device": device}
    made = captured(_full_like, (input, fill_value, dtype), named)
    return None if made is NotImplemented else made
