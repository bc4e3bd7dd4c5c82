"""Names of element types: in memory, in arithmetic, and in NumPy.

A dtype is a short string here (``"f32"``, ``"bf16"``, ...). Memory types outnumber arithmetic
types: narrow integers compute as 32-bit integers and wrap when stored, half-width floats compute
as float32 and are rounded when stored.
"""

from __future__ import annotations

from rushlight.machine import ml_dtypes, np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

#: storage dtype -> the dtype its arithmetic is done in
COMPUTE = {
    "bool": "bool",
    "u8": "i32",
    "i8": "i32",
    "i16": "i32",
    "i32": "i32",
    "i64": "i64",
    "f16": "f32",
    "bf16": "f32",
    "f32": "f32",
    "f64": "f64",
    "c64": "c64",
    "c128": "c128",
}
#: storage dtype -> NumPy dtype of an array
NUMPY = {
    "bool": np.dtype(np.bool_),
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "c64": np.dtype(np.complex64),
    "c128": np.dtype(np.complex128),
}
NAME = {dtype: name for name, dtype in NUMPY.items()}
SIZE = {name: dtype.itemsize for name, dtype in NUMPY.items()}
NARROW = ("u8", "i8", "i16")
HALF = ("f16", "bf16")
COMPLEX = ("c64", "c128")
DEFAULT_FLOAT = "f32"


def is_float(dtype: str) -> bool:
    """True for the real float types that arithmetic is done in."""
    return dtype in ("f32", "f64")


def is_inexact(dtype: str) -> bool:
    """True for real floats and complex numbers."""
    return dtype in ("f32", "f64", "c64", "c128")


def check(dtype: str, where: str) -> str:
    """`dtype` if it is a known name; otherwise a TypeError that says where it was given."""
    if dtype not in COMPUTE:
        raise TypeError(f"{where}: unknown dtype {dtype!r}, expected one of {', '.join(COMPUTE)}")
    return dtype


def round_bfloat16(x):
    """float32 array rounded to bfloat16 precision (half to even), still float32."""
    return np.asarray(x, np.float32).astype(BFLOAT16).astype(np.float32)


def decode(array, dtype: str):
    """Memory form to arithmetic form: what loading does."""
    return np.asarray(array).astype(NUMPY[COMPUTE[dtype]], copy=False)


def encode(values, dtype: str):
    """Arithmetic form to memory form: what storing does (wraps, rounds once)."""
    return np.asarray(values).astype(NUMPY[dtype], copy=False)
