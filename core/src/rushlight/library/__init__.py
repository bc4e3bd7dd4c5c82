"""Operators of one's own: Python functions, Numba kernels or SciPy routines that record gradients,
batch under `vmap`, know their shapes on the meta device, and have a name in ``rushlight.ops``.

>>> from rushlight.library import custom_op
>>> @custom_op("docs::cube", mutates_args=())
... def cube(x: rushlight.Tensor) -> rushlight.Tensor:
...     return rushlight.from_numpy(x.numpy() ** 3)
>>> def save(ctx, inputs, output):
...     ctx.save_for_backward(*inputs)
>>> def backward(ctx, grad):
...     (x,) = ctx.saved_tensors
...     return grad * 3 * x**2
>>> cube.register_autograd(backward, setup_context=save)
>>> x = rushlight.tensor([2.0], requires_grad=True)
>>> cube(x).backward()
>>> x.grad
tensor([12.])
"""

from rushlight import refusals
from rushlight.library.checks import OpCheckError, opcheck
from rushlight.library.definitions import (
    CustomOpDef,
    Library,
    custom_op,
    define,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
    triton_op,
)
from rushlight.library.fake_sizes import get_ctx
from rushlight.library.kinds import OpOverload, OpOverloadPacket
from rushlight.library.schema import infer_schema

__getattr__ = refusals.rest_of(__name__)

__all__ = [
    "CustomOpDef",
    "Library",
    "OpCheckError",
    "OpOverload",
    "OpOverloadPacket",
    "custom_op",
    "define",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
]
