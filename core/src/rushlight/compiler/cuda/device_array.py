"""DeviceArray: what a tensor on a GPU holds, as a NumPy array is what a tensor on the CPU holds.

An address in a block of device memory with a shape, strides in bytes and a NumPy dtype. Views are
arithmetic on those numbers and touch no memory. Everything else (NumPy functions, methods such as
``sum``, indexing by arrays) is array code and goes through
:mod:`rushlight.compiler.cuda.array_code`; copies, casts and fills are generated kernels. Nothing
waits for the device but `item`, `tolist` and what asks for a truth value.
"""

from __future__ import annotations

import functools
import importlib
import math

from rushlight import devices
from rushlight.machine import np
from rushlight.machine.arrays import WIDER, is_complex
from rushlight.machine.cuda import runtime
from rushlight.machine.cuda.strides import (
    broadcast_strides,
    contiguous_strides,
    is_contiguous,
    reshaped_strides,
    step_through,
)

_new = object.__new__


@functools.cache
def copies():
    """The generated kernels that copy, cast and fill: the compiler's, loaded at first use."""
    return importlib.import_module("rushlight.compiler.cuda.copies")


class _Flags:
    """The flags of an array that bodies ask for."""

    __slots__ = ("aligned", "array", "owndata", "writeable")

    def __init__(self, array):
        self.array, self.writeable, self.aligned = array, array._writeable, True
        self.owndata = array.base is None

    @property
    def c_contiguous(self):
        """Whether the elements are in row-major order without gaps."""
        array = self.array
        return is_contiguous(array.shape, array.strides, array.itemsize)

    @property
    def f_contiguous(self):
        """Whether the transposed array is contiguous."""
        array = self.array
        return is_contiguous(array.shape[::-1], array.strides[::-1], array.itemsize)

    contiguous = c_contiguous
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)


class _Address:
    """``array.ctypes``, of which only ``data`` is known on a device."""

    __slots__ = ("data",)

    def __init__(self, data):
        self.data = data


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array in device memory."""

    __slots__ = (
        "__weakref__",
        "_writeable",
        "address",
        "base",
        "block",
        "dtype",
        "shape",
        "size",
        "strides",
    )
    __array_priority__ = 500

    def __init__(self, block, shape, dtype, strides=None, address=None, base=None):
        self.block, self.shape, self.dtype = block, shape, dtype
        self.strides = contiguous_strides(shape, dtype.itemsize) if strides is None else strides
        self.address = block.address if address is None else address
        self.size, self.base, self._writeable = math.prod(shape), base, True

    def __getattr__(self, name):
        """Methods of NumPy's arrays are put on the class when they are first called for."""
        if name not in _METHODS:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        setattr(DeviceArray, name, _method(name))
        return getattr(self, name)

    # ------------------------------------------------------------------ what it is
    @property
    def device(self) -> int:
        """The number of the device that it is on."""
        return self.block.device

    @property
    def home(self) -> devices.device:
        """The device, as tensors name it."""
        return devices.cuda_device(self.block.device)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> _Flags:
        """``c_contiguous``, ``writeable`` and others."""
        return _Flags(self)

    @property
    def ctypes(self) -> _Address:
        """An object with the address of the first element as ``data``."""
        return _Address(self.address)

    @property
    def T(self) -> DeviceArray:  # noqa: N802 - NumPy's name
        """The array with its dimensions reversed."""
        return self._with(self.shape[::-1], self.strides[::-1])

    @property
    def mT(self) -> DeviceArray:  # noqa: N802 - NumPy's name
        """The array with its last two dimensions swapped."""
        return self.swapaxes(-1, -2)

    @property
    def real(self) -> DeviceArray:
        """The real part, as a view."""
        return self._part(0)

    @real.setter
    def real(self, value):
        self.real[...] = value

    @property
    def imag(self) -> DeviceArray:
        """The imaginary part, as a view; zeros for real numbers."""
        return (
            self._part(1) if is_complex(self.dtype) else zeros(self.shape, self.dtype, self.device)
        )

    @imag.setter
    def imag(self, value):
        self.imag[...] = value

    def _part(self, number):
        if not is_complex(self.dtype):
            return self
        half = np.dtype(f"f{self.itemsize // 2}")
        return self._with(self.shape, self.strides, self.address + number * half.itemsize, half)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self):
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device})"

    @property
    def __cuda_array_interface__(self):
        """The array for other libraries, without a copy."""
        return {
            "shape": self.shape,
            "typestr": f"<V{self.itemsize}" if self.dtype in WIDER else self.dtype.str,
            "data": (self.address, not self._writeable),
            "version": 3,
            "strides": None if self.flags.c_contiguous else self.strides,
            "stream": runtime.current().streams.current(self.device) or 1,
        }

    # ------------------------------------------------------------------ views
    def _with(self, shape, strides, address=None, dtype=None):
        out = _new(DeviceArray)
        out.block, out.shape, out.strides = self.block, shape, strides
        out.dtype = self.dtype if dtype is None else dtype
        out.address = self.address if address is None else address
        out.size, out._writeable = math.prod(shape), self._writeable
        out.base = self if self.base is None else self.base
        return out

    def transpose(self, *axes) -> DeviceArray:
        """The dimensions in another order (default: reversed)."""
        given = axes
        if len(axes) == 1 and (axes[0] is None or not isinstance(axes[0], (int, np.integer))):
            given = () if axes[0] is None else axes[0]
        order = [a % self.ndim for a in given] or list(range(self.ndim)[::-1])
        if sorted(order) != list(range(self.ndim)):
            raise ValueError(f"axes {order} do not match an array of {self.ndim} dimensions")
        return self._with(
            tuple([self.shape[a] for a in order]), tuple([self.strides[a] for a in order])
        )

    def swapaxes(self, first, second) -> DeviceArray:
        """Two dimensions exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def reshape(self, *shape, order="C", copy=None) -> DeviceArray:
        """The elements in another shape: a view where strides can say it, else a copy."""
        if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
            shape = shape[0]
        if order not in ("C", "A", None):
            raise NotImplementedError(f"reshape of a device array in order {order!r}; only 'C'")
        shape = _known_shape(self, tuple(int(n) for n in shape))
        if shape == self.shape:
            return self._with(shape, self.strides)
        strides = reshaped_strides(self.shape, self.strides, shape, self.itemsize)
        if strides is None:
            if copy is False:
                raise ValueError("Unable to avoid creating a copy while reshaping.")
            made = self.copy()
            return made._with(shape, contiguous_strides(shape, self.itemsize))
        return self._with(shape, strides)

    def ravel(self, order="C") -> DeviceArray:
        """All elements in one dimension."""
        return self.reshape(-1)

    def flatten(self, order="C") -> DeviceArray:
        """A copy in one dimension."""
        return self.copy().reshape(-1)

    def squeeze(self, axis=None) -> DeviceArray:
        """Without dimensions of extent one."""
        if axis is None:
            drop = {d for d, n in enumerate(self.shape) if n == 1}
        else:
            axes = axis if isinstance(axis, (tuple, list)) else (axis,)
            drop = {a % self.ndim for a in axes}
            if any(self.shape[d] != 1 for d in drop):
                raise ValueError("cannot select an axis to squeeze out which has size not 1")
        keep = [d for d in range(self.ndim) if d not in drop]
        return self._with(
            tuple([self.shape[d] for d in keep]), tuple([self.strides[d] for d in keep])
        )

    def broadcast_to(self, shape) -> DeviceArray:
        """A read-only view in which some dimensions repeat."""
        out = self._with(tuple(shape), broadcast_strides(self.shape, self.strides, shape))
        out._writeable = False
        return out

    def view(self, dtype=None, type=None) -> DeviceArray:
        """The same bytes as another dtype."""
        if (
            dtype is None
            or not isinstance(dtype, (str, np.dtype))
            and issubclass(dtype, np.ndarray)
        ):
            return self._with(self.shape, self.strides)
        dtype = np.dtype(dtype)
        old, new = self.itemsize, dtype.itemsize
        if old == new:
            return self._with(self.shape, self.strides, None, dtype)
        dense = self.shape and (self.strides[-1] == old or self.shape[-1] == 1)
        if not dense or self.shape[-1] * old % new:
            raise ValueError(
                f"view of {self.dtype} as {dtype}: the last dimension must be contiguous and hold "
                f"a whole number of elements, shape {self.shape}"
            )
        shape = (*self.shape[:-1], self.shape[-1] * old // new)
        return self._with(shape, (*self.strides[:-1], new), None, dtype)

    def as_strided(self, shape, strides) -> DeviceArray:
        """Any shape and strides (in bytes) from the first element on."""
        return self._with(tuple(shape), tuple(strides))

    def diagonal(self, offset=0, axis1=0, axis2=1) -> DeviceArray:
        """The diagonals of planes, as a view; they are the last dimension."""
        axis1, axis2 = axis1 % self.ndim, axis2 % self.ndim
        rows, columns = self.shape[axis1], self.shape[axis2]
        count = min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns)
        start = offset * self.strides[axis2] if offset >= 0 else -offset * self.strides[axis1]
        keep = [d for d in range(self.ndim) if d not in (axis1, axis2)]
        return self._with(
            (*[self.shape[d] for d in keep], max(count, 0)),
            (*[self.strides[d] for d in keep], self.strides[axis1] + self.strides[axis2]),
            self.address + (start if count > 0 else 0),
        )

    def __getitem__(self, index):
        found = step_through(self, index)
        if found is None:
            from rushlight.compiler.cuda import array_code

            return array_code.take_at(self, index)
        shape, strides, offset = found
        return self._with(shape, strides, self.address + offset)

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    # ------------------------------------------------------------------ copies
    def __setitem__(self, index, value):
        from rushlight.compiler.cuda import array_code

        found = step_through(self, index)
        if found is None:
            array_code.put_at(self, index, value)
            return
        shape, strides, offset = found
        copies().write(self._with(shape, strides, self.address + offset), value)

    def copy(self, order="C") -> DeviceArray:
        """The elements in memory of their own; order "K" keeps the layout of dense arrays."""
        return copies().copied(self, order)

    def contiguous(self) -> DeviceArray:
        """The array itself where it is row-major without gaps, else a copy that is."""
        return self if self.flags.c_contiguous else self.copy()

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True) -> DeviceArray:
        """The elements in another dtype, by the rules of NumPy."""
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return copies().converted(self, dtype)

    def fill(self, value) -> None:
        """Set every element."""
        self[...] = value

    def get(self) -> np.ndarray:
        """A copy in host memory. Waits for the device."""
        return copies().to_host(self)

    def item(self, *index):
        """The only element (or the one at an index) as a Python number. Waits for the device."""
        array = self[index] if index else self
        if array.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return array.get().item()

    def tolist(self) -> list:
        """The elements as nested lists. Waits for the device."""
        return self.get().tolist()

    def tobytes(self, order="C") -> bytes:
        """The bytes of the elements. Waits for the device."""
        return self.get().tobytes(order)

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        return self.get().__index__()

    # ------------------------------------------------------------------ array code
    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "a device array does not become a NumPy array by itself: copy it with get(), or a "
            "tensor with cpu()"
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        from rushlight.compiler.cuda import array_code

        return array_code.ufunc_call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        from rushlight.compiler.cuda import array_code

        return array_code.function_call(function, args, kwargs)


def _method(name):
    def call(self, *args, **kwargs):
        from rushlight.compiler.cuda import array_code

        return array_code.method_call(self, name, args, kwargs)

    call.__name__, call.__doc__ = name, f"NumPy's ``ndarray.{name}``, as array code."
    return call


_METHODS = frozenset(
    "all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum "
    "dot max mean min nonzero partition prod ptp put repeat round searchsorted sort std sum take "
    "trace var".split()
)


def _known_shape(array, shape):
    """A shape whose -1 is worked out."""
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0 or array.size % rest:
            raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
        shape = tuple(array.size // rest if n == -1 else n for n in shape)
    if math.prod(shape) != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
    return shape


def empty(shape, dtype, device=0) -> DeviceArray:
    """A new array of uninitialised device memory; `shape` a tuple or an int."""
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    dtype = np.dtype(dtype)
    current = runtime.current()
    stream = current.streams.current(device)
    block = current.allocate(math.prod(shape) * dtype.itemsize, device, stream)
    return DeviceArray(block, shape, dtype)


def zeros(shape, dtype, device=0) -> DeviceArray:
    """A new array of zeros in device memory."""
    out = empty(shape, dtype, device)
    if out.size:
        current = runtime.current()
        current.fill_bytes(out.address, 0, out.nbytes, current.streams.current(device))
    return out


def from_host(array, device=0) -> DeviceArray:
    """A copy of a NumPy array in device memory."""
    return copies().from_host(array, device)
