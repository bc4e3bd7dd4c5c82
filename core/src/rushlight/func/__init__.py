"""Transforms of functions: derivatives and batches of functions of tensors, in any composition.

>>> import rushlight
>>> from rushlight.func import grad, vmap
>>> x = rushlight.tensor([1.0, 2.0])
>>> vmap(grad(lambda x: x**3))(x)
tensor([ 3., 12.])
"""

from rushlight.func.batching import debug_unwrap, fallback_counts, vmap
from rushlight.func.forward import hessian, jacfwd, jvp, linearize
from rushlight.func.functional import functionalize
from rushlight.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from rushlight.func.rearranging import rearrange
from rushlight.func.reverse import grad, grad_and_value, jacrev, vjp

__all__ = [
    "debug_unwrap",
    "fallback_counts",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
