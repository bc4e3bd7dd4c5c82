"""Methods of tensors from earlier days of PyTorch, and answers about layouts there are none of."""

from __future__ import annotations

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.errors import shape_text
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.machine.meta_array import meta_array
from rushlight.tensor.interchange import arguments_by_word, array_of_data
from rushlight.tensor.shape import Size, normalize_size
from rushlight.tensor.storage import Storage, row_of, storage_of
from rushlight.tensor.subclasses import of_same_class
from rushlight.tensor.tensor import Tensor, make_tensor

_SHORT = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


# ------------------------------------------------------------------------------------ constructors
def construct(name, dtype, args, *, device=None, **named) -> Tensor:
    """What ``LongTensor(*args)`` gives: nothing, sizes (uninitialised), data, or another tensor of
    the dtype, whose memory it shares."""
    device = devices.as_device(device)
    args = arguments_by_word(name, args, named)
    if len(args) == 1 and isinstance(args[0], Tensor):
        return _same_type(name, dtype, args[0])
    if len(args) == 1 and isinstance(args[0], TypedStorage | Storage):
        return make_tensor(np.empty(0, BY_CODE[dtype.code]), dtype).set_(args[0])
    if len(args) == 1 and not isinstance(args[0], int | Size):
        if not hasattr(args[0], "__len__") and not hasattr(args[0], "__array__"):
            raise TypeError(
                f"{name}(): data must be a sequence, got {type(args[0]).__name__}: "
                f"write {name}([value])"
            )
        array, _ = array_of_data(args[0])
        with np.errstate(invalid="ignore"):
            array = array.astype(BY_CODE[dtype.code], copy=False)
        return make_tensor(array, dtype).to(device)
    for value in args:
        if not isinstance(value, int | Size):
            raise TypeError(
                f"{name}(): expected sizes as integers, or one sequence of data; got "
                f"{type(value).__name__} among {len(args)} arguments"
            )
    shape = normalize_size(args) if args else (0,)
    if any(extent < 0 for extent in shape):
        raise RuntimeError(f"{name}(): negative extent in the shape {shape_text(shape)}")
    return make_tensor(np.empty(shape, BY_CODE[dtype.code]), dtype).to(device)


def _same_type(name, dtype, tensor):
    if tensor.dtype is not dtype:
        raise TypeError(
            f"{name}(): expected a tensor of {dtype}, got one of {tensor.dtype}; write "
            f"tensor.to({dtype})"
        )
    return tensor.as_subclass(Tensor)


def new(self, *args, device=None, **named) -> Tensor:
    """A new tensor of this one's dtype and device: ``x.new(2, 3)`` (uninitialised),
    ``x.new([1, 2])``; `new_empty` and `new_tensor` are today's names."""
    made = construct("new", self.dtype, args, device=device or self.device, **named)
    return of_same_class(Tensor, self, made)


# --------------------------------------------------------------------------------------- storages
class TypedStorage:
    """A tensor's whole memory as one row of elements; writes go to the tensor.

    Today's name is :meth:`Tensor.untyped_storage`, which counts in bytes.
    """

    def __init__(self, row: Tensor):
        self._row = row

    dtype = property(lambda self: self._row.dtype, doc="The element type.")
    device = property(lambda self: self._row.device, doc="Where the memory lies.")
    is_cuda = property(lambda self: self._row.is_cuda, doc="True on a GPU.")

    def __len__(self):
        return self._row.numel()

    def size(self) -> int:
        """The number of elements."""
        return self._row.numel()

    def nbytes(self) -> int:
        """The number of bytes."""
        return self._row.numel() * self._row.element_size()

    def element_size(self) -> int:
        """Bytes per element."""
        return self._row.element_size()

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._row.data_ptr()

    def untyped(self) -> Storage:
        """The same memory, counted in bytes."""
        return storage_of(self._row)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._row.tolist()

    def type(self) -> str:
        """The type's former name, such as ``"rushlight.FloatStorage"``."""
        return f"rushlight.{_SHORT[self.dtype.name]}Storage"

    def is_shared(self) -> bool:
        """Whether other processes can see the memory."""
        return storage_of(self._row).is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the memory to where other processes can see it."""
        storage_of(self._row).share_memory_()
        return self

    def clone(self) -> TypedStorage:
        """A copy in memory of its own."""
        return TypedStorage(self._row.clone())

    def cpu(self) -> TypedStorage:
        """The storage on the CPU."""
        return self if self._row.is_cpu else TypedStorage(self._row.cpu())

    def fill_(self, value) -> TypedStorage:
        """Set every element."""
        self._row.fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking=None) -> TypedStorage:
        """Take over the elements of another storage of the same length."""
        self._row.copy_(source._row)
        return self

    def __getitem__(self, index):
        if isinstance(index, slice):
            return TypedStorage(self._row[index])
        return self._row[index].item()

    def __setitem__(self, index, value):
        self._row[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        rows = "".join(f" {value}\n" for value in self.tolist())
        kind = f"dtype={self.dtype}, device={self.device}"
        return f"{rows}[rushlight.storage.TypedStorage({kind}) of size {len(self)}]"


def storage(self) -> TypedStorage:
    """The memory shared by this tensor and its views, in elements of its dtype."""
    count = storage_of(self).nbytes() // self.element_size()
    return TypedStorage(self.detach().as_strided((count,), (1,), 0))


def set_(self, source=None, storage_offset=0, size=None, stride=None) -> Tensor:
    """Make this tensor share the memory of `source` (a tensor or a storage), at an offset and with
    a shape and strides in elements; without a source it becomes empty."""
    if self.requires_grad and (mode.recording or not self.is_leaf):
        raise RuntimeError(
            "set_(): a leaf Variable that requires grad is being used in an in-place operation."
            if self.is_leaf
            else "set_(): the tensor was computed; detach() it first"
        )
    if source is None:
        kind = BY_CODE[self.dtype.code]
        nothing = meta_array((0,), kind) if self.is_meta else np.empty(0, kind)
        source = make_tensor(nothing, self.dtype)
    elif isinstance(source, Storage):
        source = row_of(source, self.dtype)
    elif isinstance(source, TypedStorage):
        source = source._row
    if not isinstance(source, Tensor):
        raise TypeError(
            f"set_(): argument 'source' must be a tensor or a storage, not {type(source).__name__}"
        )
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}"
        )
    if size is not None:
        size = tuple(size)
        if stride is None:
            stride = [1] * len(size)
            for i in range(len(size) - 2, -1, -1):
                stride[i] = stride[i + 1] * max(size[i + 1], 1)
        source = source.detach().as_strided(size, tuple(stride), storage_offset)
    elif storage_offset:
        source = source.detach()[storage_offset:]
    storage_of(source)  # shared from now on: both see each other's version
    self.data = source
    return self


# ---------------------------------------------------------------------------------------- answers
def get_device(self) -> int:
    """The number of the tensor's GPU; -1 on the CPU."""
    return -1 if self.device.index is None else self.device.index


def record_stream(self, stream) -> None:
    """Note that work of `stream` uses this tensor's memory on a GPU: the memory is not given to
    others before that work is done."""
    if not self.is_cuda:
        raise RuntimeError(
            f"record_stream(): expected a tensor on a GPU, got one on {self.device}; guard "
            "the call with tensor.is_cuda"
        )
    self._array.block.used_by(stream.stream_id)


def dequantize(self) -> Tensor:
    """The values as float32; no tensor here is quantized, so it is a conversion."""
    return self.to(dtypes.float32)


def _refused(name, instead):
    def call(self, *args, **kwargs):
        raise NotImplementedError(f"Tensor.{name} is not available. Instead: {instead}.")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Not available; {instead}."
    call.refuses = True
    return call


Tensor.new, Tensor.storage, Tensor.typed_storage, Tensor.set_ = new, storage, storage, set_
Tensor.get_device, Tensor.record_stream = get_device, record_stream
Tensor.dequantize = dequantize
Tensor.to_mkldnn = _refused("to_mkldnn", "use the tensor itself")
Tensor.index = _refused("index", "write x[indices]")
