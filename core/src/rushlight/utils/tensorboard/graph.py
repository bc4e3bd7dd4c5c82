"""Graphs of models: the ops of one run, in the scopes of the modules that called them."""

from __future__ import annotations

from collections import Counter

from rushlight.autograd.mode import no_grad
from rushlight.nn import global_hooks
from rushlight.tensor.dispatch import Interpreter
from rushlight.tensor.tensor import Tensor
from rushlight.utils.tensorboard.records import block, integer


class _Graph(Interpreter):
    """Takes down every op: its scope, inputs and the shape of its result."""

    def __init__(self, model):
        self.names = {m: n.replace(".", "/") for n, m in model.named_modules()}
        self.root = type(model).__name__
        self.scopes: list[str] = []
        self.made: dict = {}  # id of a tensor -> (node, tensor); the tensor keeps its id
        self.used: Counter = Counter()
        self.nodes: list = []
        for name, parameter in (*model.named_parameters(), *model.named_buffers()):
            path = f"{self.root}/{name.replace('.', '/')}"
            self.add(path, "Parameter", (), parameter)

    def add(self, name, kind, inputs, *outputs):
        """A node."""
        self.used[name] += 1
        if self.used[name] > 1:
            name = f"{name}_{self.used[name] - 1}"
        shapes = [tuple(t.shape) for t in outputs if isinstance(t, Tensor)]
        self.nodes.append((name, kind, inputs, shapes))
        for tensor in outputs:
            if isinstance(tensor, Tensor):
                self.made[id(tensor)] = name, tensor

    def enter(self, module, args):
        """A module is called."""
        name = self.names.get(module, type(module).__name__)
        self.scopes.append(f"{self.root}/{name}" if name else self.root)

    def leave(self, module, args, result):
        """A module is done."""
        self.scopes.pop()

    def process(self, function, types, args, kwargs):
        """Run one op and take it down."""
        result = function(*args, **kwargs)
        inputs = []
        for value in (*args, *kwargs.values()):
            for item in value if type(value) in (list, tuple) else (value,):
                if isinstance(item, Tensor) and id(item) in self.made:
                    inputs.append(self.made[id(item)][0])
        scope = self.scopes[-1] if self.scopes else self.root
        outputs = result if isinstance(result, tuple | list) else (result,)
        self.add(f"{scope}/{function.__name__}", f"aten::{function.__name__}", inputs, *outputs)
        return result


def _node(name, kind, inputs, shapes):
    body = block(1, name) + block(2, kind) + b"".join(block(3, i) for i in inputs)
    if shapes:
        listed = b"".join(
            block(7, b"".join(block(2, integer(1, size)) for size in shape)) for shape in shapes
        )
        body += block(5, block(1, "_output_shapes") + block(2, block(1, listed)))
    return block(1, body)


def graph_of(model, inputs) -> bytes:
    """A model's graph as bytes of TensorFlow's `GraphDef`; the model is run once."""
    if inputs is None:
        raise ValueError("add_graph: the model must be run: give 'input_to_model'")
    args = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    graph = _Graph(model)
    for number, value in enumerate(args):
        graph.add(f"input/{number}", "IO Node", (), value)
    hooks = (
        global_hooks.register_module_forward_pre_hook(graph.enter),
        global_hooks.register_module_forward_hook(graph.leave),
    )
    training = model.training
    try:
        with no_grad(), graph:
            model.eval()
            result = model(*args)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    outputs = result if isinstance(result, tuple | list) else (result,)
    for number, value in enumerate(v for v in outputs if isinstance(v, Tensor)):
        found = graph.made.get(id(value))
        graph.add(f"output/{number}", "IO Node", [found[0]] if found else [])
    return b"".join(_node(*node) for node in graph.nodes) + block(4, integer(1, 22))
