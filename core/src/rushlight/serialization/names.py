"""The names PyTorch's checkpoints use, and what they mean here."""

from __future__ import annotations

from rushlight import dtypes

STORAGE_OF = {
    "float32": "FloatStorage", "float64": "DoubleStorage", "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage", "int64": "LongStorage", "int32": "IntStorage",
    "int16": "ShortStorage", "int8": "CharStorage", "uint8": "ByteStorage", "bool": "BoolStorage",
    "complex64": "ComplexFloatStorage", "complex128": "ComplexDoubleStorage",
}  # fmt: skip
DTYPE_OF = {storage: dtypes.NAMES[name] for name, storage in STORAGE_OF.items()}


class Global:
    """A name in a pickle that is not imported here: ``module.name``."""

    __slots__ = ("module", "name")

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *args):
        """Names are not called, only written."""
        raise TypeError(f"{self.module}.{self.name} is only a name in a checkpoint")
