"""Shapes, dtypes and devices of a graph's values, found without computing."""

from __future__ import annotations

from rushlight._subclasses.fake_tensor import is_fake
from rushlight.autograd.mode import no_grad
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.interpreter import Interpreter
from rushlight.fx.node import Node, map_aggregate
from rushlight.nn.utils.stateless import _reparametrize_module
from rushlight.tensor.construction import without_values
from rushlight.tensor.tensor import Tensor


class FakeTensorProp(Interpreter):
    """Runs a module on shapes alone, and writes to ``node.meta["val"]`` what every node gives.

    Tensors are noted as tensors without values (device meta), numbers as they are, other values as
    None; ``node.meta["device"]`` says where a tensor would be. Nothing is computed, and parameters
    and buffers stay as they are, so that the module may be of any size. Its parameters may be on
    device meta as well.

    Args:
        module: the traced module.
        mode: a :class:`~rushlight._subclasses.FakeTensorMode`, whose tensors are then noted, with
            their devices and shared memory; by default None.

    Raises:
        GuardOnDataDependentSymNode: a node asks for the value of a tensor, as ``item()`` does.

    Without a mode the tensors share no memory, also where those of the program do.

    >>> import rushlight
    >>> from rushlight.fx.passes.fake_tensor_prop import FakeTensorProp
    >>> module = rushlight.fx.symbolic_trace(lambda x: (x @ x.T).sum(0))
    >>> FakeTensorProp(module).propagate(rushlight.ones(2, 3))
    tensor(..., device='meta', size=(2,))
    >>> [tuple(node.meta["val"].shape) for node in module.graph.nodes]
    [(2, 3), (3, 2), (2, 2), (2,), (2,)]
    """

    def __init__(self, module: GraphModule, mode=None):
        super().__init__(module)
        self._mode = mode
        self._recorder = Recorder(True, constant=self._constant, stacks=False)
        self._entered: dict[int, tuple] = {}

    def run_node(self, n: Node):
        """The value of a node, which it notes."""
        result = super().run_node(n)
        noted = map_aggregate(result, _noted)
        if noted is not None:
            n.meta["val"] = noted
        devices = map_aggregate(result, lambda v: v.device if isinstance(v, Tensor) else None)
        if isinstance(result, Tensor):
            n.meta["device"] = devices
        return result

    def propagate(self, *args):
        """Run the module with arguments of these shapes, and return a result without values."""
        if self._mode is not None:
            given = map_aggregate(args, lambda v: self._enter(v) if isinstance(v, Tensor) else v)
            return self.propagate_dont_convert_inputs(*given)
        with self._recorder.level, no_grad():
            given = map_aggregate(args, lambda v: self._enter(v) if isinstance(v, Tensor) else v)
            with _reparametrize_module(self.module, self._state(), tie_weights=True):
                result = super().run(*given)
            return map_aggregate(result, lambda v: _noted(v) if isinstance(v, Tensor) else v)

    def propagate_dont_convert_inputs(self, *args):
        """The same as :meth:`propagate`, with tensors of the mode as they are."""
        if self._mode is None:
            return self.propagate(*args)
        with self._mode, _reparametrize_module(self.module, self._state(), tie_weights=True):
            return super().run(*args)

    def _state(self):
        """The tensors that stand for parameters and buffers."""
        return {
            name: self._enter(value)
            for collection in (self.module.named_parameters(), self.module.named_buffers())
            for name, value in collection
        }

    def fetch_attr(self, target: str):
        """The value at a path of the module; a tensor without values for a tensor."""
        found = super().fetch_attr(target)
        if isinstance(found, Tensor) and getattr(found, "_level", None) is None:
            return self._enter(found)
        return found

    def _enter(self, tensor):
        """The tensor without values that stands for one, the same every time."""
        if self._mode is not None:
            return self._mode.from_tensor(tensor)
        if id(tensor) not in self._entered:
            node = self._recorder.graph.placeholder("value")
            self._entered[id(tensor)] = self._recorder.entering(node, tensor), tensor
        return self._entered[id(tensor)][0]

    def _constant(self, tensor):
        return self._enter(tensor)._fx_node


def _noted(value):
    """What is kept of a value."""
    if is_fake(value):
        return value
    if isinstance(value, Tensor):
        inner = getattr(value, "_inner", value)
        return without_values(inner)
    return value if isinstance(value, (int, float, bool)) else None


__all__ = ["FakeTensorProp"]
