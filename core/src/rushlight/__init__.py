"""Rushlight: deep learning in Python, all the way down.

``import rushlight as torch`` is how programs migrate: names, signatures and semantics are
PyTorch's. Everything here is plain Python over NumPy and generated kernels.
"""

from rushlight import autograd
from rushlight._version import __version__
from rushlight.autograd.engine import grad as _grad
from rushlight.autograd.mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from rushlight.devices import device, get_default_device, set_default_device
from rushlight.dtypes import (
    bfloat16,
    can_cast,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from rushlight.dtypes import bool_ as bool
from rushlight.tensor.shape import Size
from rushlight.tensor.tensor import Tensor
