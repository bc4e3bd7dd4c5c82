"""Passes over graphs of the kinds that programs have, for any library: `library`, its `fx`."""

import copy
import importlib
import operator
import pickle


def part(library, name):
    """A submodule of a library."""
    return importlib.import_module(f"{library.__name__}.{name}")


def network(library):
    """Convolutions, statistics, a sum, a head; weights that are the same in any library."""
    nn, functional = library.nn, library.nn.functional

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.act = nn.ReLU()
            self.conv2, self.bn2 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
            self.head = nn.Linear(4, 2)
            for i, value in enumerate(self.state_dict().values()):
                if value.is_floating_point():
                    steps = library.arange(value.numel()) * 7 + i
                    value.copy_((steps % 11 + 1).reshape(value.shape) / 20.0 - 0.02 * i)

        def forward(self, x):
            x = self.act(self.bn(self.conv(x)))
            y = self.bn2(self.conv2(x))
            x = functional.relu(x + y)
            return self.head(x.mean((2, 3)))

    return Network().eval()


def example(library):
    """An input of the network."""
    return (library.arange(150) % 17).reshape(2, 3, 5, 5) / 9.0


def traced(library):
    """The network's graph."""
    return part(library, "fx").symbolic_trace(network(library))


def folded_statistics(library):
    module = part(library, "fx.experimental.optimization").fuse(network(library))
    return module(example(library)), module.code


def folded_by_hand(library):
    module, nn = traced(library), library.nn
    fuse = part(library, "nn.utils.fusion").fuse_conv_bn_eval
    for node in list(module.graph.nodes):
        if node.op != "call_module":
            continue
        norm = module.get_submodule(node.target)
        if isinstance(norm, nn.BatchNorm2d):
            before = node.args[0]
            setattr(module, before.target, fuse(module.get_submodule(before.target), norm))
            node.replace_all_uses_with(before)
            module.graph.erase_node(node)
    module.graph.lint()
    module.recompile()
    module.delete_all_unused_submodules()
    return module(example(library)), module.code, [name for name, _ in module.named_children()]


def rounded_values(library):
    """Values are rounded behind each layer that has weights, as before a quantization."""

    class Rounded(library.nn.Module):
        def forward(self, x):
            return library.round(x / 0.05).clamp(-128, 127) * 0.05

    module = traced(library)
    layers = (library.nn.Conv2d, library.nn.Linear)
    found = [n for n in module.graph.nodes if n.op == "call_module"]
    found = [n for n in found if isinstance(module.get_submodule(n.target), layers)]
    for i, node in enumerate(found):
        module.add_submodule(f"rounded.{i}", Rounded())
        with module.graph.inserting_after(node):
            made = module.graph.call_module(f"rounded.{i}", (node,))
        node.replace_all_uses_with(made, delete_user_cb=lambda user, made=made: user is not made)
    module.graph.lint()
    module.recompile()
    return module(example(library)), module.code


def other_layers(library):
    module, functional = traced(library), library.nn.functional
    for node in list(module.graph.nodes):
        if node.op == "call_module" and node.target == "act":
            module.add_submodule("gelu", library.nn.GELU())
            node.target = "gelu"
        if node.target is functional.relu:
            with module.graph.inserting_before(node):
                made = module.graph.call_function(functional.silu, node.args)
            node.replace_all_uses_with(made)
            module.graph.erase_node(node)
    module.delete_submodule("act")
    module.recompile()
    return module(example(library)), module.code


def interpreted(library):
    fx, functional, shapes = part(library, "fx"), library.nn.functional, []

    class Doubling(fx.Interpreter):
        def run_node(self, n):
            found = super().run_node(n)
            shapes.append((n.name, tuple(found.shape)))
            return found

        def call_function(self, target, args, kwargs):
            target = functional.relu6 if target is functional.relu else target
            return super().call_function(target, args, {})

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) * 2

    return Doubling(traced(library)).run(example(library)), shapes


def transformed(library):
    fx, functional = part(library, "fx"), library.nn.functional

    class Other(fx.Transformer):
        def call_function(self, target, args, kwargs):
            change = {functional.relu: library.sigmoid, operator.add: library.mul}
            kwargs = {} if target in change else kwargs
            return super().call_function(change.get(target, target), args, kwargs)

        def call_module(self, target, args, kwargs):
            if target == "act":
                return super().call_method("tanh", args, kwargs)
            return super().call_module(target, args, kwargs)

    module = Other(traced(library)).transform()
    return module(example(library)), module.code


def replaced_layers(library):
    """A pattern of layers: those of the same names alone match."""
    nn, fx = library.nn, part(library, "fx")

    class Pattern(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv2, self.bn2 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)

        def forward(self, x):
            return self.bn2(self.conv2(x))

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv2 = nn.Conv2d(4, 4, 1)

        def forward(self, x):
            return self.conv2(x) * 3

    module = traced(library)
    pattern, replacement = fx.symbolic_trace(Pattern()), fx.symbolic_trace(Replacement())
    matches = fx.replace_pattern(module, pattern, replacement)
    return len(matches), module.code


def divided(library):
    split_module = part(library, "fx.passes.split_module").split_module
    module, count = traced(library), iter(range(100))
    found = split_module(module, module, lambda node: next(count) // 4)
    parts = [(name, child.code) for name, child in found.named_children()]
    return found(example(library)), found.code, parts


def pickled(library):
    module = traced(library)
    read, other = pickle.loads(pickle.dumps(module)), copy.deepcopy(module)
    for node in other.graph.nodes:
        if node.target is library.nn.functional.relu:
            node.target = library.nn.functional.relu6
    other.recompile()
    x = example(library)
    return read(x), read.code, other(x), module(x)


PASSES = (folded_statistics, folded_by_hand, rounded_values, other_layers, interpreted,
          transformed, replaced_layers, divided, pickled)  # fmt: skip
