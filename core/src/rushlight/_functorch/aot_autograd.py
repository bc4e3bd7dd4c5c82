"""Functions whose graphs, forward and backward, a compiler of the program's own gets.

A call captures the function and its gradients as one graph of ATen ops, a partitioner divides it,
and each part goes to a compiler; what these return runs from then on, behind one node of autograd.
Graphs are made for one set of shapes, dtypes and numbers each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import rushlight
from rushlight import func, nn
from rushlight._functorch.partitioners import default_partition, viewed, written_nodes
from rushlight.autograd.function import Function
from rushlight.autograd.mode import mode
from rushlight.fx.experimental.decompositions import implicit
from rushlight.fx.experimental.proxy_tensor import Trace, make_fx
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree


def make_boxed_func(f: Callable) -> Callable:
    """`f` as a function of the list of its arguments, which compilers may return to say so.

    >>> from rushlight._functorch.aot_autograd import make_boxed_func
    >>> make_boxed_func(lambda a, b: a + b)([1, 2])
    3
    """

    def boxed(args):
        return f(*args)

    boxed.__dict__["_boxed_call"] = True
    return boxed


def make_boxed_compiler(compiler: Callable) -> Callable:
    """A compiler whose result takes the list of its arguments."""

    @functools.wraps(compiler)
    def compile_boxed(graph_module, inputs):
        return make_boxed_func(compiler(graph_module, inputs))

    return compile_boxed


_ACCEPTED = {
    "dynamic",
    "enable_log",
    "disable_functionalization",
    "_disable_torch_fn_metadata_mode",
}


def _check_options(name, options):
    unknown = sorted(options.keys() - _ACCEPTED)
    if unknown:
        raise TypeError(f"{name}(): got an unexpected keyword argument {unknown[0]!r}")


def aot_function(
    fn, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
    num_params_buffers: int = 0, keep_inference_input_mutations: bool = False,
    inference_compiler=None, **options,
) -> Callable:  # fmt: skip
    """A function that runs what compilers make of the graphs of `fn` and of its gradients.

    Args:
        fn: a function of tensors, numbers and structures of them.
        fw_compiler: called as ``fw_compiler(graph_module, example_inputs)`` with the forward part;
            returns a function of such inputs, or a boxed one (:func:`make_boxed_func`).
        bw_compiler: the same for the backward part; by default `fw_compiler`.
        partition_fn: divides the joint graph, by default
            :func:`~rushlight._functorch.partitioners.default_partition`.
        decompositions: overload -> function that is captured instead.
        inference_compiler: for calls without gradients; by default `fw_compiler`.
        num_params_buffers, keep_inference_input_mutations, and the options `dynamic`,
            `enable_log`, `disable_functionalization`: accepted; graphs are made for each set of
            shapes, and ops that write stay in them.

    Raises:
        NotImplementedError: `fn` writes to an input that needs a gradient.
        RuntimeError: `fn` reads a tensor that needs a gradient and is no argument, or a gradient of
            its gradients is asked for.

    >>> import rushlight
    >>> from rushlight._functorch.aot_autograd import aot_function
    >>> def count(graph_module, inputs):
    ...     print(len(inputs), "inputs")
    ...     return graph_module
    >>> x = rushlight.ones(2, requires_grad=True)
    >>> y = aot_function(lambda x: x.exp(), count)(x)
    1 inputs
    2 inputs
    """
    _check_options("aot_function", options)
    compilers = _compilers(fw_compiler, bw_compiler, inference_compiler)
    graphs = _Graphs(fn, compilers, partition_fn, decompositions or {})

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return graphs.call(args, kwargs)

    return call


def _compilers(forward, backward, inference):
    return forward, backward or forward, inference or forward


class _Graphs:
    """The compiled graphs of a function, by the kind of its arguments; ``state()`` gives what else
    they depend on."""

    def __init__(self, fn, compilers, partition, table, state=tuple):
        self.fn, self.options, self.state = fn, (compilers, partition, table), state
        self.made: dict = {}

    def call(self, args, kwargs):
        """The result of the graphs for a call, which are made if there are none."""
        leaves, spec = pytree.tree_flatten((args, kwargs))
        kind = mode.recording, self.state(), repr(spec), *map(_kind, leaves)
        if kind not in self.made:
            self.made[kind] = _Compiled(self.fn, leaves, spec, *self.options)
        return self.made[kind](leaves)


def _kind(leaf):
    """What of an argument a graph depends on."""
    if isinstance(leaf, Tensor):
        return tuple(leaf.shape), leaf.dtype, leaf.device.type, leaf.requires_grad
    return type(leaf), leaf


class _Compiled:
    """A function's graphs for one kind of arguments, compiled."""

    def __init__(self, fn, leaves, spec, compilers, partition, table):
        self.fn, self.spec, self.table = fn, spec, implicit() | table
        forward, backward, inference = compilers
        self.asks = [
            i for i, leaf in enumerate(leaves)
            if mode.recording and isinstance(leaf, Tensor) and leaf.requires_grad
        ]  # fmt: skip
        tensors = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        graph = self._probed(tensors)
        self.function = None
        if self.differentiable:
            module, inputs = self._joint(tensors)
            parts = partition(module, inputs, num_fwd_outputs=len(self.tensors))
            compiled = self._compile_both(parts, tensors, (forward, backward))
            self.function = _function(self, *compiled)
        else:
            self.run = inference(graph, tensors)

    def _flat(self, leaves):
        """The leaves of the function's result, whose structure is kept."""
        args, kwargs = pytree.tree_unflatten(list(leaves), self.spec)
        found, self.out_spec = pytree.tree_flatten(self.fn(*args, **kwargs))
        return found

    def _probed(self, leaves):
        """The graph of the function alone; notes its results, and which need gradients."""

        def program(*args):
            found = self._flat(args)
            self.tensors = [i for i, each in enumerate(found) if isinstance(each, Tensor)]
            self.plain = [None if isinstance(each, Tensor) else each for each in found]
            return tuple(found[i] for i in self.tensors)

        def asking(*args):
            args = [a.requires_grad_() if i in self.asks else a for i, a in enumerate(args)]
            found = self._flat(args)
            self.differentiable = [i for i in self.tensors if found[i].requires_grad]
            return tuple(found[i] for i in self.tensors)

        trace = Trace(program, self.table, fake=True)
        graph = trace.trace(leaves)
        self._refuse_writes(graph.graph)
        if mode.recording and any(held.requires_grad for _, held in trace.constants.values()):
            raise RuntimeError(
                "aot_function(): the function reads a tensor that needs a gradient and is no "
                "argument, so that its graphs would have none for it: pass it, or use aot_module()"
            )
        self.metas = [node.meta["val"] for node in graph.graph.output_node().args[0]]
        self.differentiable = []
        if self.asks:
            make_fx(asking, self.table, "fake")(*leaves)
        return graph

    def _refuse_writes(self, graph):
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        written = {viewed(node) for node in written_nodes(graph.nodes)}
        if any(inputs[i] in written for i in self.asks):
            raise NotImplementedError(
                "aot_function(): the function writes to an input that needs a gradient: write to "
                "a clone of it"
            )

    def _joint(self, leaves):
        """The module of the joint graph, and its inputs."""

        def joint(primals, tangents):
            def of_asked(*asked):
                given = list(primals)
                for i, value in zip(self.asks, asked, strict=True):
                    given[i] = value
                found = self._flat(given)
                others = [found[i] for i in self.tensors if i not in self.differentiable]
                return [found[i] for i in self.differentiable], others

            asked = [primals[i] for i in self.asks]
            found, gradients_of, others = func.vjp(of_asked, *asked, has_aux=True)
            values = dict(zip(self.differentiable, found, strict=True))
            rest = [i for i in self.tensors if i not in values]
            values.update(zip(rest, others, strict=True))
            gradients = dict(zip(self.asks, gradients_of(found and list(tangents)), strict=True))
            results = [values[i] for i in self.tensors]
            return [*results, *(gradients.get(i) for i in range(len(primals)))]

        metas = dict(zip(self.tensors, self.metas, strict=True))
        tangents = [rushlight.zeros_like(metas[i], device="cpu") for i in self.differentiable]
        return make_fx(joint, self.table, "fake")(leaves, tangents), [leaves, tangents]

    def _compile_both(self, parts, leaves, compilers):
        saved = [n for n in parts[1].graph.nodes if n.op == "placeholder"]
        examples = leaves, [node.meta.get("val") for node in saved]
        return [c(part, each) for c, part, each in zip(compilers, parts, examples, strict=True)]

    def __call__(self, leaves):
        if self.function is None:
            found = list(run_compiled(self.run, leaves))
        else:
            found = list(self.function.apply(*leaves))
        results = list(self.plain)
        for i, value in zip(self.tensors, found, strict=True):
            results[i] = value
        return pytree.tree_unflatten(results, self.out_spec)


def run_compiled(function, args):
    """The results of what a compiler returned."""
    if getattr(function, "_boxed_call", False):
        return function(list(args))
    return function(*args)


def _backward_function(backward_part):
    """The node of the backward part, which has no gradients of its own."""

    class CompiledBackward(Function):
        @staticmethod
        def forward(ctx, *values):
            return tuple(run_compiled(backward_part, values))

        @staticmethod
        def backward(ctx, *gradients):
            raise RuntimeError(
                "aot_function(): the backward graph has no gradients: double backward is not "
                "supported; call the function itself where they are needed"
            )

    return CompiledBackward


def _function(compiled, forward_part, backward_part):
    """The node of autograd whose forward and backward are compiled."""
    count = len(compiled.tensors)
    fixed = [i for i, n in enumerate(compiled.tensors) if n not in compiled.differentiable]

    compiled_backward = _backward_function(backward_part)

    class CompiledFunction(Function):
        @staticmethod
        def forward(ctx, *leaves):
            found = list(run_compiled(forward_part, leaves))
            results, ctx.values = found[:count], found[count:]
            held = [value for value in ctx.values if isinstance(value, Tensor)]
            ctx.save_for_backward(*held)
            ctx.values = [None if isinstance(value, Tensor) else value for value in ctx.values]
            ctx.mark_non_differentiable(*(results[i] for i in fixed))
            return tuple(results)

        @staticmethod
        def backward(ctx, *gradients):
            held = iter(ctx.saved_tensors)
            saved = [next(held) if value is None else value for value in ctx.values]
            tangents = [g for i, g in enumerate(gradients) if i not in fixed]
            return compiled_backward.apply(*saved, *tangents)

    return CompiledFunction


class _AOTModule(nn.Module):
    """A module whose calls run compiled graphs."""

    def __init__(self, module, compilers, partition, table):
        super().__init__()
        self.orig_module = module

        def program(weights, args, kwargs):
            return func.functional_call(module, weights, args, kwargs)

        def modes():
            return tuple(part.training for part in module.modules())

        self._graphs = _Graphs(program, compilers, partition, table, modes)

    def forward(self, *args, **kwargs):
        """The result of the graphs of the module's `forward`."""
        return self._graphs.call((_weights(self.orig_module), args, kwargs), {})


def _weights(module):
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def aot_module(
    mod: nn.Module, fw_compiler, bw_compiler=None, partition_fn=default_partition,
    decompositions=None, num_params_buffers: int = 0, keep_inference_input_mutations: bool = False,
    inference_compiler=None, **options,
) -> nn.Module:  # fmt: skip
    """A module that runs what compilers make of the graphs of `mod`, whose parameters and buffers
    are inputs of the graphs; arguments as for :func:`aot_function`. Graphs are made anew where
    modules change between training and eval mode.

    >>> import rushlight
    >>> from rushlight._functorch.aot_autograd import aot_module
    >>> made = aot_module(rushlight.nn.Linear(2, 3), fw_compiler=lambda graph, inputs: graph)
    >>> made(rushlight.ones(1, 2)).shape
    rushlight.Size([1, 3])
    """
    _check_options("aot_module", options)
    compilers = _compilers(fw_compiler, bw_compiler, inference_compiler)
    return _AOTModule(mod, compilers, partition_fn, decompositions or {})


def aot_module_simplified(
    mod, args, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
    keep_inference_input_mutations: bool = False, inference_compiler=None, **kwargs,
) -> Callable:  # fmt: skip
    """:func:`aot_module` for the graph module that a backend of :func:`rushlight.compile` gets: a
    function of its inputs. `args`, the example inputs, are not needed; further options are those
    of PyTorch's own compiler, and change nothing."""
    return aot_module(
        mod, fw_compiler, bw_compiler, partition_fn, decompositions,
        inference_compiler=inference_compiler,
    ).forward  # fmt: skip


__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "make_boxed_compiler",
    "make_boxed_func",
    "run_compiled",
]
