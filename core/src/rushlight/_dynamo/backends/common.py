"""Backends of `compile` that get the graphs of a program and of its gradients, in ATen's ops."""

from __future__ import annotations

from collections.abc import Callable

from rushlight._functorch.aot_autograd import aot_module_simplified

__all__ = ["aot_autograd"]


def aot_autograd(**kwargs) -> Callable:
    """A backend of :func:`rushlight.compile` whose compilers get two graphs of ATen ops, forward
    and backward.

    Args: `fw_compiler`, `bw_compiler`, `partition_fn`, `decompositions` and `inference_compiler`
    as for :func:`rushlight._functorch.aot_autograd.aot_function`.

    >>> import rushlight
    >>> from rushlight._dynamo.backends.common import aot_autograd
    >>> def show(graph_module, inputs):
    ...     nodes = graph_module.graph.nodes
    ...     print([str(node.target) for node in nodes if node.op == "call_function"])
    ...     return graph_module
    >>> module = rushlight.compile(rushlight.nn.ReLU(), backend=aot_autograd(fw_compiler=show))
    >>> module(rushlight.ones(2))
    ['aten.relu.default']
    tensor([1., 1.])
    """

    def backend(graph_module, example_inputs, **options):
        return aot_module_simplified(graph_module, example_inputs, **kwargs)

    return backend
