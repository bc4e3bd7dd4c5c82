"""A two-way channel between the loader and one worker: messages, and open files beside them.

One socket pair for each worker: there is no lock that a dying process could take with it, no thread
that feeds a queue, and the end of a worker is seen at once as the end of its stream.
"""

from __future__ import annotations

import contextlib
import copyreg
import pickle
import select
import socket
import struct
import threading
from array import array as file_numbers
from collections import ChainMap, deque
from multiprocessing.reduction import ForkingPickler

import rushlight
from rushlight import dtypes
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.tensor import sharing
from rushlight.tensor.shared_memory import SharedBlock, SharedFile, block_of
from rushlight.tensor.tensor import Parameter, Tensor, make_tensor

_HEADER = struct.Struct("<QIqq")  # bytes of the text, open files, epoch, order
_FILES_AT_ONCE = 200  # below the kernel's limit of 253
SHARED_FROM = 1 << 14  # bytes of a buffer from which it goes by shared memory
_TEXT_LIMIT = 1 << 15  # pickled bytes above which they go by shared memory, too
_arriving = threading.local()  # .blocks: those of the message that is being read


# ---------------------------------------------------------------------------------------- packing
class _Pickler(pickle.Pickler):
    """Pickles a batch; tensors in shared memory and large buffers stay outside, in `blocks`."""

    def __init__(self, file):
        super().__init__(file, pickle.HIGHEST_PROTOCOL, buffer_callback=self._put_aside)
        self.blocks, self.buffers = [], []
        others = ForkingPickler._extra_reducers  # of sockets, connections, locks, ...
        self.dispatch_table = ChainMap(others, copyreg.dispatch_table)

    def reducer_override(self, value):
        """Tensors as positions in blocks or as plain buffers; everything else as usual."""
        kind = type(value)
        if kind is not Tensor and kind is not Parameter:
            return NotImplemented
        if value.requires_grad and not value.is_leaf:
            raise RuntimeError(
                "a batch holds a tensor that was computed and requires grad; autograd does not "
                "cross processes: call detach() in the dataset or in collate_fn"
            )
        if value.is_meta:
            return NotImplemented
        data, described = value._array, (value.dtype.name, kind is Parameter, value.requires_grad)
        block = block_of(data)
        if block is not None and block.descriptor is not None:
            offset = data.ctypes.data - block.address if data.size else 0
            place = (self._number(block), offset, data.shape, data.strides)
            return _tensor_in_block, (*place, *described)
        rows, shape, order = _dense(data)
        return _tensor_of_bytes, (pickle.PickleBuffer(rows), shape, order, *described)

    def _number(self, block):
        for number, each in enumerate(self.blocks):
            if each is block:
                return number
        self.blocks.append(block)
        return len(self.blocks) - 1

    def _put_aside(self, buffer):
        raw = buffer.raw()
        if raw.nbytes < SHARED_FROM:
            return True  # in the text
        self.buffers.append(len(self.blocks))
        self.blocks.append(SharedFile(raw))
        return False


def _dense(array):
    """An array's bytes as one row, the shape of its dimensions from slow to fast, and their order:
    a dense array keeps its strides."""
    order = sorted(range(array.ndim), key=lambda d: -abs(array.strides[d]))
    sorted_array = np.ascontiguousarray(array.transpose(order)).reshape(
        [array.shape[d] for d in order]
    )
    return sorted_array.reshape(-1).view(np.uint8), sorted_array.shape, tuple(order)


def _tensor_in_block(number, offset, shape, strides, dtype_name, is_parameter, requires_grad):
    storage = sharing.storage_over(_arriving.blocks[number])
    dtype = dtypes.NAMES[dtype_name]
    array = np.ndarray(shape, BY_CODE[dtype.code], storage.array, offset, strides)
    tensor = make_tensor(array, dtype)
    tensor._storage = storage
    return _as_sent(tensor, is_parameter, requires_grad)


def _tensor_of_bytes(buffer, shape, order, dtype_name, is_parameter, requires_grad):
    dtype = dtypes.NAMES[dtype_name]
    row = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(bytearray(buffer), np.uint8)
    array = row.view(BY_CODE[dtype.code]).reshape(shape)
    places = [order.index(d) for d in range(len(order))]
    return _as_sent(make_tensor(array.transpose(places), dtype), is_parameter, requires_grad)


def _as_sent(tensor, is_parameter, requires_grad):
    if is_parameter:
        return rushlight.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(True) if requires_grad else tensor


def pack(value):
    """A value as text and the shared blocks it needs."""
    import io

    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    text, blocks = file.getbuffer(), pickler.blocks
    in_block = len(text) > _TEXT_LIMIT
    if in_block:
        blocks.append(SharedFile(text))
    sizes = [block.nbytes for block in blocks]
    content = None if in_block else bytes(text)
    return pickle.dumps((sizes, pickler.buffers, content), pickle.HIGHEST_PROTOCOL), blocks


def unpack(text, descriptors):
    """The value that :func:`pack` wrote; its large parts are in the sender's blocks."""
    sizes, buffers, content = pickle.loads(text)
    blocks = [
        SharedBlock.attach(descriptor, size, keep=False)
        for descriptor, size in zip(descriptors, sizes, strict=True)
    ]
    if content is None:
        content = np.asarray(blocks[-1])
    _arriving.blocks = blocks
    try:
        return pickle.loads(content, buffers=[np.asarray(blocks[i]) for i in buffers])
    finally:
        del _arriving.blocks


# ---------------------------------------------------------------------------------------- sending
class Channel:
    """One end of the socket pair. Messages are values with two numbers: epoch and order."""

    def __init__(self, end: socket.socket):
        self.end = end
        self.waiting: deque = deque()

    @classmethod
    def pair(cls):
        """Two channels that are connected."""
        one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(one), cls(other)

    def __reduce__(self):
        return Channel, (self.end,)

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self.end.fileno()

    def close(self) -> None:
        """Let go of this process's descriptor."""
        self.end.close()

    def shut_down(self) -> None:
        """No more messages: the other side sees the end, even if a process forked from this one
        holds a copy of the descriptor."""
        with contextlib.suppress(OSError):  # the other side is gone, or it was done before
            self.end.shutdown(socket.SHUT_RDWR)
        self.end.close()

    def send(self, value, epoch: int = 0, order: int = 0) -> None:
        """Send a value. While the other side does not take it, what it sends is put by."""
        text, blocks = pack(value)
        files = [block.descriptor for block in blocks]
        head = _HEADER.pack(len(text), len(files), epoch, order)
        self._write(head + text, files[:_FILES_AT_ONCE])
        for start in range(_FILES_AT_ONCE, len(files), _FILES_AT_ONCE):
            self._write(b"+", files[start : start + _FILES_AT_ONCE])

    def _write(self, data, files):
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, file_numbers("i", files))] if files else []
        data = memoryview(data)
        while data:
            try:
                sent = self.end.sendmsg([data], beside, socket.MSG_DONTWAIT)
            except BlockingIOError:
                readable, _, _ = select.select([self.end], [self.end], [])
                if readable:
                    self.waiting.append(self._read())
                continue
            data, beside = data[sent:], []

    def receive(self):
        """(text, open files, epoch, order) of the next message; EOFError when the other side is
        gone."""
        return self.waiting.popleft() if self.waiting else self._read()

    def _read(self):
        head, files = self._read_files(_HEADER.size)
        size, count, epoch, order = _HEADER.unpack(head)
        text = self._read_exactly(size)
        while len(files) < count:
            files += self._read_files(1)[1]
        return text, files, epoch, order

    def _read_files(self, size):
        space = socket.CMSG_SPACE(_FILES_AT_ONCE * 4)
        data, beside, _, _ = self.end.recvmsg(size, space, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if not data:
            raise EOFError("the other side is gone")
        files = file_numbers("i")
        for _, _, content in beside:
            files.frombytes(content[: len(content) - len(content) % files.itemsize])
        if len(data) < size:
            data += self._read_exactly(size - len(data))
        return data, list(files)

    def _read_exactly(self, size):
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count = self.end.recv_into(view)
            if not count:
                raise EOFError("the other side is gone")
            view = view[count:]
        return data
