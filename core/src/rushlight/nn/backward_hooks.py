"""Full backward hooks of modules: identity functions around forward that see the gradients."""

from __future__ import annotations

from rushlight.autograd.function import Function
from rushlight.autograd.mode import mode
from rushlight.tensor.tensor import Tensor


class _Watch(Function):
    """The identity; its backward hands the gradients to `notify` and passes on what it returns."""

    @staticmethod
    def forward(ctx, notify, *tensors):
        ctx.notify = notify
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return (None, *ctx.notify(grads))


class _Record:
    """What backward has seen of one call."""

    def __init__(self, module):
        self.module, self.grad_output = module, None

    def outputs(self, grads):
        """The gradients of the outputs arrive first; pre-hooks may replace them."""
        from rushlight.nn.module import _global_backward_pre_hooks as everywhere

        for hook in (*everywhere.values(), *self.module._backward_pre_hooks.values()):
            result = hook(self.module, grads)
            if result is not None:
                grads = result if isinstance(result, tuple) else (result,)
        self.grad_output = grads
        if self.alone:
            self.inputs((None,) * self.count)
        return grads

    def inputs(self, grads):
        """The gradients of the inputs; hooks may replace them."""
        from rushlight.nn.module import _global_backward_hooks as everywhere

        for hook in (*everywhere.values(), *self.module._backward_hooks.values()):
            result = hook(self.module, grads, self.grad_output)
            if result is not None:
                grads = result if isinstance(result, tuple) else (result,)
        return grads


def _through(values, notify):
    """Pass the tensors among `values` that require grad through `_Watch`."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not places or not mode.recording:
        return values, False
    found = list(values)
    for i, tensor in zip(places, _Watch.apply(notify, *[values[i] for i in places]), strict=True):
        found[i] = tensor
    return tuple(found), True


def wrap_inputs(module, args):
    """The arguments as they go into forward, and the record of this call."""
    record = _Record(module)
    record.count = len(args)
    positions = [i for i, v in enumerate(args) if isinstance(v, Tensor) and v.requires_grad]

    def notify(grads):
        whole = [None] * len(args)
        for i, g in zip(positions, grads, strict=True):
            whole[i] = g
        found = record.inputs(tuple(whole))
        return tuple(found[i] for i in positions)

    wrapped, watched = _through(args, notify)
    record.alone = not watched
    return wrapped, record


def wrap_outputs(module, output, record):
    """The outputs as the caller gets them."""
    if isinstance(output, Tensor):
        return _through((output,), record.outputs)[0][0]
    if isinstance(output, tuple):
        return _through(output, record.outputs)[0]
    return output
