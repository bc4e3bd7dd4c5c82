"""Custom differentiable functions: a static forward and backward with a context between them."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
import weakref

from rushlight.autograd import saving
from rushlight.autograd.anomaly import anomaly, note_line
from rushlight.autograd.later import later
from rushlight.autograd.mode import mode, no_grad
from rushlight.autograd.node import Node, edges_of
from rushlight.dtypes import COMPLEX, FLOAT
from rushlight.tensor import construction as make
from rushlight.tensor.construction import zeros_on
from rushlight.tensor.dispatch import stack
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor, make_tensor

_OF_NODES = ("metadata", "name", "next_functions", "register_hook", "register_prehook")


def _no_node():
    return None


@functools.cache
def _custom_view(name, number):
    """Why a view that came out of forward refuses writes, to itself and to what it views: they
    would replace the backward of the class."""
    return (
        f"Output {number} of {name} is a view and is being modified inplace. This view was created "
        "inside a custom Function (or because an input was returned as-is) and writing to it would "
        "replace the backward of the custom Function, leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."
    )


def _check_tensors(what, values, error=RuntimeError, none=False):
    for number, value in enumerate(values):
        if not (isinstance(value, Tensor) or none and value is None):
            if hasattr(
                type(value), "__torch_function__"
            ):  # it takes a tensor's part, as proxies do
                continue
            raise error(f"{what}, but argument {number} is of type {type(value).__name__}")


@functools.cache
def _signature_with_defaults(forward):
    """The signature of a forward some of whose arguments have defaults; else None."""
    found = inspect.signature(forward)
    return found if any(p.default is not p.empty for p in found.parameters.values()) else None


class FunctionCtx:
    """What a custom function's forward hands to its backward."""

    def __init__(self):
        self._saved, self._versions, self._node = (), (), _no_node
        self._dirty, self._non_differentiable, self._materialize = (), (), True
        self._to_save = ()
        self.needs_input_grad = ()

    def __getattr__(self, name):
        node = self.__dict__.get("_node", _no_node)()
        if node is not None and (name in node.__dict__ or name in _OF_NODES):
            return getattr(node, name)
        kind = type(self).__name__ if node is None else node.name()
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")

    def save_for_backward(self, *tensors):
        """Keep inputs or outputs for backward; writes to them in between are detected."""
        _check_tensors("save_for_backward can only save variables", tensors, TypeError, True)
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for `jvp`."""
        self._forward_saved = tensors

    def mark_dirty(self, *args):
        """Name the inputs that forward wrote to in place."""
        _check_tensors("mark_dirty can only accept variables", args)
        self._dirty = args

    def mark_non_differentiable(self, *args):
        """Name the outputs that have no gradient."""
        _check_tensors("mark_non_differentiable only accepts variable arguments", args)
        self._non_differentiable = args

    def mark_shared_storage(self, *pairs):
        """Nothing: tensors that share memory are known without it."""
        warnings.warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value):
        """Whether missing gradients reach backward as zeros (default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(
                f"set_materialize_grads: value must be bool, not {type(value).__name__}"
            )
        self._materialize = value

    @property
    def saved_tensors(self):
        """The tensors given to `save_for_backward`."""
        node = self._node()
        saved = self._saved if node is None else node.saved
        if saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Specify retain_graph=True."
            )
        found = []
        for item, version in zip(saved, self._versions, strict=True):
            if type(item) is saving.Packed:
                found.append(self._unpacked(item))
                continue
            if type(item) is tuple:
                alias, number = item
                if getattr(alias, "_level", None) is not None:
                    tensor = alias._rewrapped(alias._inner)
                else:
                    tensor = make_tensor(alias._array, alias._dtype)
                    tensor._storage = alias._storage
                if alias._dtype.category >= FLOAT:
                    tensor._node, tensor._index = node, number
            else:
                tensor = item
            if tensor is not None and tensor._writes != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a saved tensor of shape {list(tensor.shape)} is at version"
                    f" {tensor._writes}; expected version {version}"
                )
            found.append(tensor)
        return tuple(found)

    def _unpacked(self, item):
        """What hooks of the user held, with its history."""
        tensor = item.tensor()
        if tensor._dtype.category < FLOAT:
            return tensor
        return saving.at(tensor, *((self._node(), item.number) if item.output else item.number))

    def _freeze(self, outputs, node):
        """Turn what was saved into references that make no cycle with the node, which holds them:
        they go when the backward pass is done with it."""
        saved, versions = [], []
        for tensor in self._to_save:
            if node is not None and tensor is not None and tensor.is_inference():
                saving.refuse_inference()
            number = next((i for i, o in enumerate(outputs) if o is tensor), None)
            if tensor is not None and number is not None:
                storage_of(tensor)
                wrapped = getattr(tensor, "_level", None) is not None
                alias = tensor._rewrapped(tensor._inner) if wrapped else tensor.detach()
                saved.append((alias, number))
            else:
                saved.append(tensor)
            versions.append(0 if tensor is None else tensor._writes)
        if saving.active.count and node is not None:
            saved = [saving.packed_for_function(item) for item in saved]
        self._versions, self._to_save = tuple(versions), ()
        if node is None:
            self._saved = tuple(saved)
        else:
            node.saved, self._saved, self._node = saved, None, weakref.ref(node)


class _FunctionOp:
    """The op of a custom function's nodes, as the engine calls it."""

    of_user = True

    def __init__(self, kind):
        self.kind = kind
        self.node_name = getattr(kind, "_node_name", None) or kind.__name__ + "Backward"

    def backward(self, node, grads, create):
        """Call the user's backward and fit its results to the inputs."""
        context, positions, metadata = node.values
        values = grads if node.outputs > 1 and grads is not None else [grads] * node.outputs
        if context._materialize:
            values = [
                make_tensor(zeros_on(device, shape, dtype), kind, device)
                if g is None and kind is not None
                else g
                for g, (shape, dtype, kind, device) in zip(values, metadata, strict=True)
            ]
        found = self._formula()(context, *values)
        found = found if isinstance(found, tuple) else (found,)
        count = len(context.needs_input_grad)
        if len(found) > count and any(g is not None for g in found[count:]) or len(found) < count:
            raise RuntimeError(
                f"function {self.node_name} returned an incorrect number of gradients (expected "
                f"{count}, got {len(found)})"
            )
        for p, grad in enumerate(found[:count]):
            if grad is not None and p not in positions:
                raise RuntimeError(
                    f"function {self.node_name} returned a gradient different than None at position"
                    f" {p + 1}, but the corresponding forward input was not a Variable"
                )
        return [self._fit(found[p], node.shapes[i], p) for i, p in enumerate(positions)]

    def _formula(self):
        kind = self.kind
        if kind.vjp is Function.vjp:
            return kind.backward
        if kind.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        return kind.vjp

    def _fit(self, grad, expected, position):
        if grad is None:
            return None
        shape, dtype = expected
        if not isinstance(grad, Tensor):
            raise RuntimeError(
                f"function {self.node_name} returned a gradient at index {position} that is not a "
                f"tensor: {type(grad).__name__}"
            )
        if grad._array.shape != shape:
            try:
                grad = grad.sum_to_size(shape)
            except RuntimeError:
                raise RuntimeError(
                    f"Function {self.node_name} returned an invalid gradient at index {position} - "
                    f"got {list(grad.shape)} but expected shape compatible with {list(shape)}"
                ) from None
        if grad._dtype is dtype:
            return grad
        if grad._dtype.category == COMPLEX != dtype.category:
            raise RuntimeError(
                f"Function {self.node_name} returned a complex gradient at index {position}, but "
                f"the input is of dtype {dtype}"
            )
        return grad.to(dtype)


class FunctionMeta(type):
    """The kind of :class:`Function`: gives every one the op of its nodes."""

    def __init__(cls, name, bases, attributes, **options):
        super().__init__(name, bases, attributes)
        cls._op = _FunctionOp(cls)


class Function(metaclass=FunctionMeta):
    """Base of custom differentiable operations; call them by ``Name.apply(...)``.

    Either ``forward(ctx, *args)``, or ``forward(*args)`` with ``setup_context(ctx, inputs,
    output)``; and ``backward(ctx, *grad_outputs)``, one result per forward argument.

    >>> class Double(rushlight.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = rushlight.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        """Refuse: functions are called by ``apply`` of their class."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: call it by Name.apply(...)."
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs; to be overridden."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Compute the gradients of the inputs; to be overridden."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, *args):
        """The batched call: ``(output, out_dims)``; to be overridden for `vmap`, or replaced by
        ``generate_vmap_rule = True``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method "
            "or set generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """The tangents of the outputs for those of the inputs; to be overridden for forward
        mode."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    vjp = backward

    @classmethod
    def apply(cls, *args, _context=None, **kwargs):
        """Run forward and record the call. Keywords go to forward alone: there are no gradients of
        them."""
        apart = hasattr(cls, "setup_context")
        if apart and (signature := _signature_with_defaults(cls.forward)) is not None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if stack.levels and not kwargs:
            for value in args:
                if getattr(value, "_level", None) is not None:
                    return later("custom_functions").apply(cls, args)
        context = FunctionCtx() if _context is None else _context
        tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, Tensor)]
        context.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        recording = mode.recording and any(context.needs_input_grad)
        with no_grad():
            if apart:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(context, args, result)
            else:
                result = cls.forward(context, *args, **kwargs)
        many = isinstance(result, tuple)
        outputs = list(result) if many else [result]
        for item in context._to_save:
            if item is not None and not isinstance(item, Tensor):
                return result  # of proxies, which have no history
        if not recording:
            context._freeze(outputs, None)
            return result
        outputs = cls._attach(context, args, tensors, outputs)
        return tuple(outputs) if many else outputs[0]

    @classmethod
    def _attach(cls, context, args, tensors, outputs):
        edges, numbers = edges_of([t for _, t in tensors])
        node = Node(cls._op, edges, numbers, len(outputs))
        fixed = [any(o is item for item in context._non_differentiable) for o in outputs]
        if context._dirty:
            cls._check_dirty(context, args, outputs)
        outputs = [cls._own(o, args, context) for o in outputs]
        metadata = [
            (o._array.shape, o._array.dtype, o._dtype, o._device)
            if isinstance(o, Tensor)
            else (None,) * 4
            for o in outputs
        ]
        node.values = context, [i for i, _ in tensors], metadata
        node.shapes = [(t._array.shape, t._dtype) for _, t in tensors]
        for number, out in enumerate(outputs):
            if not isinstance(out, Tensor) or out._dtype.category < FLOAT:
                continue
            if fixed[number]:
                continue
            if any(out is item for item in context._dirty):
                writes = later("inplace")
                writes.check_writable(out, True)
                writes.take_history(out, node, number)
            else:
                out._node, out._index = node, number
                if out._base is not None:
                    out._writable = _custom_view(cls.__name__, number)
        context._freeze(outputs, node)
        if anomaly.enabled:
            note_line(node)
        return outputs

    @staticmethod
    def _own(out, args, context):
        """An input returned as an output: itself if it was written to, else another view of it."""
        if any(out is item for item in context._dirty):
            storage_of(out).version += 1
            return out
        if isinstance(out, Tensor) and any(out is a for a in args):
            fresh = out.detach()
            make.link(fresh, out, None)
            return fresh
        return out

    @staticmethod
    def _check_dirty(context, args, outputs):
        for item in context._dirty:
            if not any(item is a for a in args):
                warnings.warn(
                    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors "
                    "that have been mutated should be passed to ctx.mark_dirty().",
                    stacklevel=5,
                )
            elif not any(item is o for o in outputs):
                raise RuntimeError(
                    "Some elements marked as dirty during the forward method were not returned as "
                    "output. The inputs that are modified inplace must all be outputs of the "
                    "Function."
                )
            elif item._base is not None and len(outputs) > 1 and mode.recording:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, "
                    "your Function cannot return more than one Tensor. Make sure the input is not "
                    "a view, for example by clone(), or split the Function in two."
                )


class InplaceFunction(Function):
    """A :class:`Function` whose objects say whether they write `inplace`; programs derive their own
    from it, which work as those derived from Function."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class _NodeKind(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Node) and getattr(instance.op, "of_user", False)


class BackwardCFunction(metaclass=_NodeKind):
    """The kind of the nodes of custom functions: ``isinstance(x.grad_fn, BackwardCFunction)``."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "BackwardCFunction is for isinstance() only: nodes are made by Function.apply"
        )


def once_differentiable(fn):
    """Mark a backward that cannot itself be differentiated; differentiating its results is an
    error."""

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with no_grad():
            found = fn(ctx, *args)
        tensors = [a for a in args if isinstance(a, Tensor)]
        if not mode.recording or not any(a.requires_grad for a in tensors):
            return found
        edges, numbers = edges_of(tensors)
        results = [
            g.detach() if isinstance(g, Tensor) else g
            for g in (found if isinstance(found, tuple) else (found,))
        ]
        for result in results:
            if result is not None and result._dtype.category >= FLOAT:
                result._node = Node(_Once, edges, numbers)
                result._node.saved = ()
        return tuple(results) if isinstance(found, tuple) else results[0]

    return wrapper


class _Once:
    """The op of what a function that is differentiable once gave back."""

    of_user = False
    node_name = "Error"

    @staticmethod
    def backward(node, grads, create):
        """Refuse."""
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def __getattr__(name):
    """Names that PyTorch has here and that refuse their use."""
    refusals = importlib.import_module("rushlight.refusals")
    return refusals.some_of(__name__, "NestedIOFunction custom_function_call")(name)
