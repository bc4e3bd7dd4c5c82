"""The tensor types that were once one a dtype: ``FloatTensor(2, 3)``, ``LongTensor([1, 2])``.

They are constructors and answer ``isinstance`` by dtype; tensors are all of one class.
"""

from __future__ import annotations

from rushlight import dtypes
from rushlight.ops.former.former_methods import construct
from rushlight.tensor.tensor import Tensor


class TensorType(type):
    """The type of the types: calling one makes a tensor, ``isinstance`` compares dtypes."""

    dtype: dtypes.dtype
    is_cuda = False

    def __call__(cls, *args, device=None, **kwargs):
        """A tensor of the dtype, from sizes or data."""
        if cls.is_cuda:
            from rushlight import cuda

            if not cuda.is_available():
                raise TypeError(
                    f"type rushlight.cuda.{cls.__name__} not available: this version computes on "
                    "the CPU only; guard GPU code with rushlight.cuda.is_available()"
                )
            device = "cuda" if device is None else device
        return construct(cls.__name__, cls.dtype, args, device=device, **kwargs)

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.is_cuda == cls.is_cuda
        )

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


_DTYPES = {
    "BFloat16Tensor": dtypes.bfloat16,
    "BoolTensor": dtypes.bool_,
    "ByteTensor": dtypes.uint8,
    "CharTensor": dtypes.int8,
    "DoubleTensor": dtypes.float64,
    "FloatTensor": dtypes.float32,
    "HalfTensor": dtypes.float16,
    "IntTensor": dtypes.int32,
    "LongTensor": dtypes.int64,
    "ShortTensor": dtypes.int16,
}


def _make(name, on_gpu=False):
    dtype = _DTYPES[name]
    text = f"Makes {dtype.name} tensors{' on a GPU; TypeError where there is none' * on_gpu}."
    module = "rushlight.cuda" if on_gpu else "rushlight"
    body = {"dtype": dtype, "is_cuda": on_gpu, "__doc__": text, "__module__": module}
    return TensorType(name, (), body)


_on_cpu = {name: _make(name) for name in _DTYPES}
_on_gpu = {name: _make(name, True) for name in _DTYPES}


def __getattr__(name):
    if name in _on_cpu:
        return _on_cpu[name]
    raise AttributeError(f"module 'rushlight.legacy_types' has no attribute '{name}'")


def on_cuda(name: str) -> TensorType:
    """The type of GPU tensors of that name: it can be asked about, making one raises."""
    return _on_gpu[name]
