"""Hooks of graph modules: what passes are told of nodes made, erased and replaced; and signatures
of exported programs that follow them."""

import copy
import pickle

import pytest

import rushlight


def program(library):
    class Net(library.nn.Module):
        def forward(self, x):
            return library.relu(x) + 1

    return Net()


def changed(library):
    """What the hooks are told while a pass replaces a node."""
    module, told = library.fx.symbolic_trace(program(library)), []
    names = {
        "create": lambda node: told.append(("create", node.name)),
        "erase": lambda node: told.append(("erase", node.name)),
    }
    module._register_create_node_hook(names["create"])
    module._register_erase_node_hook(names["erase"])
    graph, relu = module.graph, next(n for n in module.graph.nodes if n.name == "relu")
    hook = lambda old, new, user: told.append((old.name, new, user.name))  # noqa: E731
    with module._set_replace_hook(hook):
        with graph.inserting_after(relu):
            new = graph.call_function(library.tanh, (relu.args[0],))
        relu.replace_all_uses_with(new)
        graph.erase_node(relu)
        new.replace_input_with(new.args[0], new.args[0])
    module._unregister_create_node_hook(names["create"])
    module._unregister_erase_node_hook(names["erase"])
    add = next(n for n in graph.nodes if n.name == "add")
    add.replace_all_uses_with(graph.call_function(library.abs, (add,)), lambda user: False)
    module.recompile()
    return told, module


def test_hooks_are_told_of_changes():
    told, module = changed(rushlight)
    assert told == [
        ("create", "tanh"), ("relu", "tanh", "add"), ("erase", "relu"), ("x", "x", "tanh"),
    ]  # fmt: skip
    assert module(rushlight.zeros(1)).tolist() == [1.0]
    with pytest.raises(AssertionError, match="must be callable"):
        module._register_create_node_hook(3)


def test_hooks_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    assert changed(torch)[0] == changed(rushlight)[0]


def test_modules_with_hooks_are_copied_and_pickled():
    module = rushlight.fx.symbolic_trace(program(rushlight))
    module._register_erase_node_hook(lambda node: None)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other(rushlight.ones(1)).tolist() == [2.0]


def replaced(library):
    """The names in a signature after a pass that replaces the result and an input."""
    exported = library.export.export(program(library), (library.ones(2),))
    graph, signature = exported.graph, exported.graph_signature
    x, add = (next(n for n in graph.nodes if n.name == name) for name in ("x", "add"))
    found = []
    for inputs in (False, True):
        with exported.graph_module._set_replace_hook(signature.get_replace_hook(inputs)):
            with graph.inserting_after(add):
                new = graph.call_function(library.ops.aten.neg.default, (add,))
            add.replace_all_uses_with(new, lambda user: user.op == "output")
            add = new
        found.append((signature.user_inputs, signature.user_outputs))
    with exported.graph_module._set_replace_hook(signature.get_replace_hook(True)):
        with graph.inserting_before(x):
            graph.placeholder("y")
        x.replace_all_uses_with(next(iter(graph.nodes)))
    return [*found, signature.user_inputs]


def test_signatures_follow_replaced_nodes():
    expected = [(("x",), ("neg_default",)), (("x",), ("neg_default_1",)), ("y",)]
    assert replaced(rushlight) == expected
    assert replaced(pytest.importorskip("torch")) == expected


def test_signatures_have_no_tokens_and_no_objects():
    signature = rushlight.export.export(program(rushlight), (rushlight.ones(2),)).graph_signature
    assert (signature.input_tokens, signature.output_tokens) == ((), ())
    assert (signature.lifted_custom_objs, signature.inputs_to_lifted_custom_objs) == ((), {})
    assert signature.assertion_dep_token is None
