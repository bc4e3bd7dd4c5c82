"""Full backward hooks of modules: identity functions around forward that see the gradients."""

from __future__ import annotations

import warnings

from rushlight.autograd.function import Function
from rushlight.autograd.mode import mode
from rushlight.tensor.tensor import Tensor


class BackwardHookFunction(Function):
    """The identity, whose node the hooks are put on."""

    @staticmethod
    def forward(ctx, *tensors):
        """Views of the tensors; those that need no gradient stay so."""
        views = tuple(t.view_as(t) for t in tensors)
        ctx.mark_non_differentiable(
            *(v for v, t in zip(views, tensors, strict=True) if not t.requires_grad)
        )
        return views

    @staticmethod
    def backward(ctx, *grads):
        """The gradients as they are."""
        return grads


class BackwardHook:
    """The backward hooks of one call of a module.

    `user_hooks` are called as ``hook(module, grad_input, grad_output)`` and `user_pre_hooks` as
    ``hook(module, grad_output)``. Pass the arguments through :meth:`setup_input_hook` and the
    output through :meth:`setup_output_hook`.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = self.input_places = self.output_places = None
        self.n_inputs = self.n_outputs = -1

    def setup_input_hook(self, args: tuple) -> tuple:
        """The arguments as they go into forward."""
        self.n_inputs = len(args)
        found, node, places = _through(args)
        if node is not None:
            self.input_places = places
            node.register_hook(self._inputs)
        return found

    def setup_output_hook(self, output):
        """The output, a tensor or a tuple, as the caller gets it."""
        if not isinstance(output, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(output)}",
                stacklevel=4,
            )
            return output
        found, node, places = _through((output,) if isinstance(output, Tensor) else output)
        if node is not None:
            self.n_outputs, self.output_places = len(found), places
            node.register_prehook(self._outputs)
        return found[0] if isinstance(output, Tensor) else found

    def _outputs(self, grads):
        """The gradients of the outputs arrive; pre-hooks may replace them."""
        changed, whole = False, _spread(grads, self.output_places, self.n_outputs)
        for hook in self.user_pre_hooks:
            result = hook(self.module, whole)
            if result is not None:
                whole, changed = _counted(result, self.n_outputs, "pre hook", "grad_output"), True
        self.grad_outputs = whole
        if self.input_places is None:
            self._without_inputs(whole)
        return tuple(whole[i] for i in self.output_places) if changed else None

    def _without_inputs(self, grads):
        """No input requires a gradient: the hooks run when the outputs' gradients are there."""
        self.grad_outputs = None
        if not self.user_hooks:
            return
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients.",
            stacklevel=6,
        )
        for hook in self.user_hooks:
            result = hook(self.module, (None,) * self.n_inputs, grads)
            if result is not None and not (isinstance(result, tuple) and not any(
                r is not None for r in result
            )):  # fmt: skip
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _inputs(self, grad_inputs, grads):
        """The gradients of the inputs; hooks may replace them."""
        if self.grad_outputs is None:  # the outputs got none
            return None
        whole = _spread(grad_inputs, self.input_places, self.n_inputs)
        for hook in self.user_hooks:
            result = hook(self.module, whole, self.grad_outputs)
            if result is not None:
                whole = _counted(result, self.n_inputs, "hook", "grad_input")
        self.grad_outputs = None
        return tuple(whole[i] for i in self.input_places)


def _through(values):
    """The values with their tensors behind one node, that node, and where they are; the node is
    None where nothing is recorded."""
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    tensors = [values[i] for i in places]
    if not mode.recording or not any(t.requires_grad for t in tensors):
        return values, None, None
    fresh = BackwardHookFunction.apply(*tensors)
    node = next(t.grad_fn for t in fresh if t.grad_fn is not None)
    found = list(values)
    for i, tensor in zip(places, fresh, strict=True):
        found[i] = tensor
    kind = type(values)
    return kind(found) if not hasattr(values, "_fields") else kind(*found), node, places


def _spread(grads, places, count):
    whole = [None] * count
    for place, grad in zip(places, grads, strict=True):
        whole[place] = grad
    return tuple(whole)


def _counted(result, count, what, name):
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != count:
        raise RuntimeError(
            f"Backward {what} returned an invalid number of {name}, got {len(result)}, but "
            f"expected {count}"
        )
    return result


def hook_result(args, result, module, hooks):
    """Put the backward hooks of the former kind on the node that made an output."""
    tensor = result
    while not isinstance(tensor, Tensor):
        if isinstance(tensor, dict):
            tensor = next(v for v in tensor.values() if isinstance(v, Tensor))
        else:
            tensor = tensor[0]
    node = tensor.grad_fn
    if node is None:
        return
    why = _unsuitable(args, result, node)
    if why is not None:
        warnings.warn(
            f"Using a non-full backward hook when {why} is deprecated. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning,
            stacklevel=4,
        )
    for hook in hooks:
        node.register_hook(lambda grad_inputs, grads, hook=hook: hook(module, grad_inputs, grads))


def _unsuitable(args, result, node):
    """Why hooks on one node do not see all that goes into and out of a call; None if they do."""
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(r, Tensor) for r in results)):
        return "forward does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(a, Tensor) for a in args):
        return "forward does not take a single Tensor or a tuple of Tensors"
    if {r.grad_fn for r in results} - {None} != {node}:
        return "outputs are generated by different autograd Nodes"
    if {a.grad_fn for a in args} - {None} != {function for function, _ in node.next_functions}:
        return "the forward contains multiple autograd Nodes"
    return None
