"""Devices: where a tensor's elements live."""

from __future__ import annotations

import contextlib

# Every kind that PyTorch can name; tensors are on those of `USABLE`.
TYPES = tuple(
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu "
    "mtia privateuseone".split()
)
USABLE = ("cpu", "cuda", "meta")


class device:  # noqa: N801 - PyTorch's public name
    """``device("cpu")``, ``device("cuda", 0)``, ``device("cuda:0")`` or ``device("meta")``."""

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, int):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        if ":" in type:
            if index is not None:
                raise RuntimeError(
                    f"device(): 'type' must not include an index because index was given: {type}"
                )
            type, _, number = type.partition(":")
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(TYPES)} device type at start of device string: {type}"
            )
        self.type, self.index = type, index

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self):
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __reduce__(self):
        return device, (self.type, self.index)

    def __copy__(self):
        return self  # devices do not change, and tensors compare theirs by identity

    def __deepcopy__(self, memo):
        return self

    def __enter__(self):
        # Devices of tensors are compared by identity.
        current.stack.append({"cpu": cpu, "meta": meta}.get(self.type, self))
        return self

    def __exit__(self, *exc):
        current.stack.pop()


cpu = device("cpu")
meta = device("meta")


class _Current:
    """The default-device stack; its bottom is what `set_default_device` set. `imagining`: how many
    want all devices to be there, as tensors without elements do."""

    __slots__ = ("imagining", "stack")

    def __init__(self):
        self.stack, self.imagining = [cpu], 0


current = _Current()


def as_device(value) -> device:
    """Any spelling of a device, or None for the default one, as a device object that exists."""
    if value is None:
        return current.stack[-1]
    found = value if isinstance(value, device) else device(value)
    if found.type == "cpu":
        return cpu
    if found.type == "meta":
        return meta
    return _existing(found)


def is_cpu(value) -> bool:
    """Whether a spelling of a device, or None for the default one, is the CPU in a usual way."""
    if value is None:
        return current.stack[-1] is cpu
    if value is cpu:
        return True
    kind = type(value)
    return kind is str and value == "cpu" or kind is device and value.type == "cpu"


_cuda_devices: dict[int, device] = {}


def cuda_device(index: int) -> device:
    """The one object for a GPU: devices of tensors are compared by identity."""
    found = _cuda_devices.get(index)
    if found is None:
        found = _cuda_devices[index] = device("cuda", index)
    return found


_imagined: dict[tuple, device] = {}


def any_device():
    """Inside of ``with``, every device is there, for tensors without elements."""
    return _imagining(current.imagining + 1)


def existing_devices():
    """Inside of ``with``, only devices that exist are there."""
    return _imagining(0)


@contextlib.contextmanager
def _imagining(count):
    before, current.imagining = current.imagining, count
    try:
        yield
    finally:
        current.imagining = before


def _existing(found):
    """The GPU that is meant, or the error that says why it cannot be used."""
    import importlib

    if current.imagining:
        if found.type == "cuda":
            return cuda_device(found.index or 0)
        return _imagined.setdefault((found.type, found.index), found)
    if found.type not in USABLE:
        raise RuntimeError(
            f"device '{found}' is not available: tensors are on {', '.join(USABLE)}; guard code "
            "that needs another one"
        )
    runtime = importlib.import_module("rushlight.machine.cuda.runtime")
    if not runtime.available():
        raise RuntimeError(
            f"device '{found}' is not available: rushlight computes on the CPU only here, because "
            f"{runtime.why_unavailable()}; guard GPU code with rushlight.cuda.is_available()"
        )
    index = runtime.streams.current_device() if found.index is None else found.index
    count = runtime.current().device_count()
    if index >= count:
        raise RuntimeError(f"device '{found}' does not exist: there are {count} CUDA devices")
    return cuda_device(index)


def set_default_device(device) -> None:
    """The device new tensors are made on when none is named; None means the CPU."""
    current.stack[0] = cpu if device is None else as_device(device)


def get_default_device() -> device:
    """The device new tensors are made on when none is named."""
    return current.stack[-1]
