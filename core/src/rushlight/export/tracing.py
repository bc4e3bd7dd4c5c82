"""From a module to the graph of one call of it: inputs, constants, outputs."""

from __future__ import annotations

import contextlib
import inspect
import re

from rushlight.autograd.mode import no_grad
from rushlight.export.calls import Calls
from rushlight.export.choices import ASSUMED, Repeated
from rushlight.export.graph_signature import (
    GENERATOR,
    ConstantArgument,
    CustomObjArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymFloatArgument,
    TensorArgument,
)
from rushlight.fx.experimental.inner_graphs import holding
from rushlight.fx.experimental.recorder import Recorder
from rushlight.fx.graph_module import GraphModule
from rushlight.nn import global_hooks
from rushlight.nn.utils.stateless import _reparametrize_module
from rushlight.ops.random.generators import Generator
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree
from rushlight.utils._pytree.kinds import kind_of

_PREFIX = {
    InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CUSTOM_OBJ: "obj_",
    InputKind.CONSTANT_TENSOR: "c_",
}  # fmt: skip
_CONSTANTS = (int, float, bool, str, complex, type(None))


class Tracing:
    """One run of a module on tensors without values."""

    def __init__(self, module, draws=None, kept=(), fake=True):
        self.module = module
        self.recorder = Recorder(fake, constant=self._constant, draws=draws)
        self.recorder.generator = self._generator
        if draws is not None and fake and ASSUMED.get() is not None:
            draws.assumed = Repeated(ASSUMED.get())
        self.inputs: list = []  # (node, InputSpec) of what is lifted
        self.user: list = []
        self.constants: dict = {}
        self._by_identity: dict = {}
        self._state: dict = {}  # tensors of the program by the identity of the model's
        self._calls = Calls(module, kept, self._described)

    # ------------------------------------------------------------------------------------- inputs
    def lift(self, kind, name, tensor, persistent=None):
        """A placeholder for a tensor of the model, and the tensor of the program."""
        with self._before(kind):
            node, entered = self.recorder.placeholder(_label(kind, name), tensor)
        spec = InputSpec(kind, TensorArgument(node.name), name, persistent)
        self.inputs.append((node, spec))
        return entered

    def _before(self, kind):
        """Inside, inputs stand where those of a kind do: constants turn up while the model runs,
        and stand before the user's inputs all the same."""
        order = list(_PREFIX)
        later = [n for n, spec in self.inputs if order.index(spec.kind) > order.index(kind)]
        later += [node for node, _ in self.user]
        if not self.user:
            return contextlib.nullcontext()
        return self.recorder.graph.inserting_before(later[0])

    def _generator(self, generator):
        """The node of a generator that the program draws from."""
        found = self._by_identity.get(id(generator))
        if found is None:
            kind = InputKind.CUSTOM_OBJ
            count = sum(spec.kind is kind for _, spec in self.inputs)
            name = ".".join(filter(None, (self._calling(), f"lifted_custom_{count}")))
            with self._before(kind):
                label = _label(kind, name)
                node = self.recorder.node("placeholder", label, (), {}, label)
            argument = node.meta["val"] = CustomObjArgument(node.name, GENERATOR)
            self.inputs.append((node, InputSpec(kind, argument, name)))
            self.constants[name] = generator
            found = self._by_identity[id(generator)] = node, generator
        return found[0]

    def state(self):
        """Parameters and buffers of the model as tensors of the program, by all of their names."""
        found = {}
        for name, value in self.module.named_parameters(remove_duplicate=False):
            found[name] = self._tied(InputKind.PARAMETER, name, value)
        kept = self.module.state_dict().keys()
        for name, value in self.module.named_buffers(remove_duplicate=False):
            found[name] = self._tied(InputKind.BUFFER, name, value, name in kept)
            if name not in kept:
                self.constants[name] = value
        return found

    def _tied(self, kind, name, tensor, persistent=None):
        """:meth:`lift` of a tensor that may have several names: one tensor of the program, and a
        placeholder for each name, of which the last is read, as in PyTorch's programs."""
        entered = self.lift(kind, name, tensor, persistent)
        first, _ = self._state.setdefault(id(tensor), (entered, tensor))
        first._fx_node = entered._fx_node
        return first

    def _constant(self, tensor):
        """The node of a tensor that is neither the model's state nor an input."""
        found = self._by_identity.get(id(tensor))
        if found is None:
            name = self._attribute(tensor)
            if name is None:
                name = f"lifted_tensor_{sum(n.startswith('lifted_') for n in self.constants)}"
            entered = self.lift(InputKind.CONSTANT_TENSOR, name, tensor)
            self.constants[name] = tensor
            found = self._by_identity[id(tensor)] = entered, tensor
        return found[0]._fx_node

    def _calling(self):
        """The name of the module that is being called, "" of the model itself."""
        inner = list((self.recorder.scope or {}).values())[-1:]
        return inner[0][0] if inner else ""

    def _attribute(self, tensor):
        """The name of a plain attribute of the model, or of its modules."""
        for prefix, module in self.module.named_modules():
            for name, value in module.__dict__.items():
                if value is tensor:
                    return f"{prefix}.{name}" if prefix else name
        return None

    def user_input(self, name, value, device=None):
        """A placeholder for an argument, or one of its leaves."""
        if isinstance(value, Tensor):
            node, value = self.recorder.placeholder(name, value, device)
            argument = TensorArgument(node.name)
        elif isinstance(value, _CONSTANTS):
            node = self.recorder.node("placeholder", name, (), {}, name)
            node.meta["val"], argument = value, ConstantArgument(node.name, value)
        elif isinstance(value, Generator):  # what is drawn from is a constant, as in PyTorch
            node = self.recorder.node("placeholder", name, (), {}, name)
            argument = node.meta["val"] = CustomObjArgument(node.name, GENERATOR, value)
        else:
            raise ValueError(
                f"export(): Unsupported input type {type(value)} of input '{name}': expected "
                "tensors, numbers, strings, None or structures of them; register other classes "
                "with rushlight.utils._pytree.register_pytree_node"
            )
        self.user.append((node, InputSpec(InputKind.USER_INPUT, argument, None)))
        return value

    # ------------------------------------------------------------------------------------ running
    def run(self, args, kwargs, devices=None):
        """Call the module and return ``(graph module, signature, in_spec, out_spec)``. `devices`
        are those of the arguments' leaves, where these are on another one."""
        leaves, in_spec = pytree.tree_flatten((args, kwargs))
        names = leaf_names(self.module.forward, args, kwargs)
        with self.recorder.level as level, no_grad(), self._watched():
            state = self.state()
            devices = devices or [None] * len(leaves)
            given = [self.user_input(*each) for each in zip(names, leaves, devices, strict=True)]
            given_args, given_kwargs = pytree.tree_unflatten(given, in_spec)
            tied = _reparametrize_module(self.module, state)
            with tied, self._calls.apart(), self._calls.described():
                result = self.module(*given_args, **given_kwargs)
                self._write_assigned(state)
            outputs, out_spec = pytree.tree_flatten(result)
            self.recorder.node("output", "output", (tuple(self._output(o) for o in outputs),), {})
        del level
        specs = [self._output_spec(n) for n in self.recorder.graph.output_node().args[0]]
        inputs = [spec for _, spec in (*_in_order(self.inputs), *self.user)]
        signature = ExportGraphSignature(inputs, specs)
        graph_module = GraphModule(
            holding(self.recorder.modules), self.recorder.graph, "GraphModule"
        )
        return graph_module, signature, in_spec, out_spec

    @property
    def signatures(self):
        """How the submodules that are `kept` are called, by name, further calls by ``name@1``."""
        return self._calls.signatures

    def _described(self, path, tree):
        """The leaves that a submodule is called with or gives, as arguments; their structure."""
        leaves, spec = pytree.tree_flatten(tree)
        return [self._exchanged(path, leaf) for leaf in leaves], spec

    def _exchanged(self, path, value):
        if isinstance(value, Tensor):
            return TensorArgument(self.recorder.argument(value).name)
        if isinstance(value, _CONSTANTS):
            return ConstantArgument("", value)
        raise ValueError(
            f"export(): preserve_module_call_signature names '{path}', which is called with or "
            f"gives an object of type {type(value)}: expected tensors, numbers, strings, None or "
            "structures of them"
        )

    def _output(self, value):
        if isinstance(value, Tensor) or isinstance(value, _CONSTANTS):
            return value
        raise ValueError(
            f"export(): the model returns an object of type {type(value)}: expected tensors, "
            "numbers, strings, None or structures of them"
        )

    @staticmethod
    def _output_spec(value):
        if hasattr(value, "users"):
            if isinstance(value.meta.get("val"), float):
                return OutputSpec(OutputKind.USER_OUTPUT, SymFloatArgument(value.name), None)
            return OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(value.name), None)
        return OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", value), None)

    def _write_assigned(self, state):
        """A buffer that the program replaced (``self.count = self.count + 1``) is written to."""
        for name, entered in state.items():
            path, _, leaf = name.rpartition(".")
            value = self.module.get_submodule(path)._buffers.get(leaf, entered)
            if value is not entered and isinstance(value, Tensor):
                entered.copy_(value)

    @contextlib.contextmanager
    def _watched(self):
        """Nodes know the modules that are being called."""
        self.recorder.scope = self._calls.stack
        before = global_hooks.register_module_forward_pre_hook(self._calls.enter)
        after = global_hooks.register_module_forward_hook(self._calls.leave, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()


def _in_order(inputs):
    """Parameters, buffers, constants, each in the order in which the program reads them."""
    order = list(_PREFIX)
    return sorted(inputs, key=lambda pair: order.index(pair[1].kind))


def _label(kind, name):
    """What an input that stands for an attribute of the model is called."""
    return _PREFIX[kind] + re.sub(r"\W", "_", name)


def leaf_names(function, args, kwargs):
    """A name for every leaf of the arguments: the parameter's, and the way to the leaf."""
    found: list[str] = []
    for name, value in (*_positional(function, args), *kwargs.items()):
        _name_leaves(name, value, found)
    return found


def _positional(function, args):
    parameters = list(inspect.signature(function).parameters.values())
    names = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(len(args) - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return zip(names, args, strict=False)


def _name_leaves(name, value, found):
    _, kind = kind_of(value)
    if kind is None:
        found.append(name)
    elif kind.with_keys is None:
        count = pytree.tree_structure(value).num_leaves
        found += [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
    else:
        for key, item in kind.with_keys(value)[0]:
            (word,) = vars(key).values()
            _name_leaves(f"{name}_{word}", item, found)
