"""What steps of optimizers compute with: numbers that may be tensors, complex parameters as pairs,
and which form of a step is the default. Optimizers of libraries import these from
``torch.optim.optimizer``."""

from __future__ import annotations

import functools

from rushlight import devices, view_as_real
from rushlight.autograd.mode import set_grad_enabled
from rushlight.dtypes import float32, float64, get_default_dtype
from rushlight.tensor.tensor import Parameter, Tensor

_FOREACH_DEVICES = ("cuda",)  # where one kernel updates many tensors
_FUSED_DEVICES = ("cuda", "cpu")  # where a whole step is one kernel

_params_doc = """params: the tensors to update, ``(name, tensor)`` pairs, or dicts with ``params``
        and the options of a group."""
_foreach_doc = "foreach: update many tensors at once. Default: None, where it is faster."
_fused_doc = "fused: make a whole step one kernel. Default: None, False."
_maximize_doc = "maximize: climb the objective instead of descending it. Default: False."
_capturable_doc = "capturable: keep steps recordable in a CUDA graph. Default: False."
_differentiable_doc = "differentiable: let gradients flow through the step. Default: False."


def scalar_dtype(fused=False):
    """The dtype of step counters: float64 under that default dtype, else float32."""
    return float64 if get_default_dtype() is float64 and not fused else float32


def _get_scalar_dtype(is_fused=None):
    """The dtype of step counters, see :func:`scalar_dtype`."""
    return scalar_dtype(bool(is_fused))


def _get_value(x):
    """A number, or the element of a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x):
    """A number as it is, a tensor of one element without dimensions."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _stack_if_compiling(x):
    """A list as it is: no program is compiled that would need a tensor."""
    return x


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices whose steps can be recorded."""
    return ["cuda"]


def _view_as_real(params, *state_and_grads) -> None:
    """Replace the complex tensors of lists, in place, by pairs of real numbers: those positions
    where `params` is complex."""
    for i, parameter in enumerate(params):
        if parameter.is_complex():
            params[i] = view_as_real(parameter)
            for each in state_and_grads:
                each[i] = view_as_real(each[i])


def _all_on(params, kinds, floating: bool) -> bool:
    """Whether all are None or plain tensors on devices of some kinds."""
    return all(
        p is None
        or (
            type(p) in (Tensor, Parameter)
            and p.device.type in kinds
            and (p.is_floating_point() or not floating)
        )
        for p in params
    )


def _default_to_fused_or_foreach(params, differentiable: bool, use_fused: bool = False):
    """Whether a step is one kernel and, where not, whether it updates many tensors at once.

    params: a list of tensors or None.
    differentiable: gradients flow through the step, which then is neither.
    use_fused: whether it may be one kernel.
    """
    if differentiable:
        return False, False
    fused = use_fused and _all_on(params, _FUSED_DEVICES, floating=True)
    return fused, not fused and _all_on(params, _FOREACH_DEVICES, floating=False)


def _device_dtype_check_for_fused(p, cuda_unsupported: bool = False) -> None:
    """Raise RuntimeError where a parameter cannot be updated by a whole step in one kernel."""
    kinds = [kind for kind in _FUSED_DEVICES if kind != "cuda" or not cuda_unsupported]
    if not _all_on([p], kinds, floating=True):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {kinds} but {p.dtype} and {devices.device(p.device).type}"
        )


def _use_grad_for_differentiable(func):
    """A step that records gradients only where the optimizer's default ``differentiable`` is
    True."""

    @functools.wraps(func)
    def step(*args, **kwargs):
        with set_grad_enabled(args[0].defaults["differentiable"]):
            return func(*args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that gives the function back: no compiler has to leave steps out."""
    return lambda func: func
