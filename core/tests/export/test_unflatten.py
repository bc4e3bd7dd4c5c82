"""Programs as modules with the submodules of the model: beside the model and PyTorch's."""

import io
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.export
from rushlight import nn

sys.path.insert(0, str(Path(__file__).parent))

from hierarchies import MODELS, arguments, made  # noqa: E402

pytestmark = [  # PyTorch's own
    pytest.mark.filterwarnings("ignore:.*treespec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning"),
]
# Submodules whose signatures are kept.
KEPT = [
    ("Between", ("first", "second")), ("Twice", ("sub", "sub.0")), ("Twice", ("sub.0",)),
    ("Alias", ("other", "layers.1")), ("Mutated", ("counter", "counter.inner")),
    ("MutatedTwice", ("counter",)), ("Nested", ("unused", "head.1", "layers.0")),
]  # fmt: skip


def exported(framework, name, kept=()):
    model, args = made(framework, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return framework.export.export(model, args, preserve_module_call_signature=kept)


def through_a_file(framework, program):
    file = io.BytesIO()
    framework.export.save(program, file)
    file.seek(0)
    return framework.export.load(file)


def described(framework, program, in_order=True):
    """The names of an unflattened module, and of what calls of known signature exchange."""
    module = framework.export.unflatten(program)
    calls = [
        (entry.fqn, len(entry.signature.inputs), len(entry.signature.outputs))
        for entry in program.module_call_graph
        if entry.signature is not None and entry.fqn
    ]
    tensors = list(module.state_dict())
    names = tensors if in_order else sorted(tensors)
    # lists of modules are modules with empty graphs there
    modules = [name for name, _ in module.named_modules(remove_duplicate=False)]
    parameters = [name for name, _ in module.named_parameters()]
    return modules, names, parameters if in_order else sorted(parameters), calls


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_values_buffers_and_gradients_are_the_model_s(name, archived):
    program = exported(rushlight, name)
    if archived:
        program = through_a_file(rushlight, program)
    module, (model, args) = rushlight.export.unflatten(program), made(rushlight, name)
    others = arguments(rushlight, MODELS[name])[::-1]
    for given in (args, others):
        found, wanted = module(*given), model(*given)
        rushlight.testing.assert_close(found, wanted)
        for result in (found, wanted):
            leaves = rushlight.utils._pytree.tree_leaves(result)
            sum(leaf.sum() for leaf in leaves if leaf.requires_grad).backward()
    state = module.state_dict()
    wanted = model.state_dict()
    assert [key for key in state if "@" not in key] == list(wanted)
    rushlight.testing.assert_close({key: state[key] for key in wanted}, dict(wanted))
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert gradients
    ours = dict(module.named_parameters())
    rushlight.testing.assert_close({n: ours[n].grad for n in gradients}, gradients)


@pytest.mark.parametrize("name", MODELS)
def test_names_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    found = described(rushlight, exported(rushlight, name))
    assert found == described(torch, exported(torch, name))
    assert found == described(rushlight, through_a_file(rushlight, exported(rushlight, name)))


@pytest.mark.parametrize("name", MODELS)
def test_archives_keep_the_calls_both_ways(name):
    torch = pytest.importorskip("torch")
    wanted = described(torch, exported(torch, name), False)
    file = io.BytesIO()
    torch.export.save(exported(torch, name), file)
    file.seek(0)
    theirs = rushlight.export.load(file)
    assert described(rushlight, theirs, False) == wanted
    model, args = made(rushlight, name)
    rushlight.testing.assert_close(rushlight.export.unflatten(theirs)(*args), model(*args))
    file = io.BytesIO()
    rushlight.export.save(exported(rushlight, name), file)
    file.seek(0)
    ours = torch.export.load(file)
    assert described(torch, ours, False) == wanted
    model, args = made(torch, name)
    torch.testing.assert_close(torch.export.unflatten(ours)(*args), model(*args))


@pytest.mark.parametrize("archived", [False, True])
def test_tensors_with_several_names_are_one(archived):
    program = exported(rushlight, "Alias")
    if archived:
        program = through_a_file(rushlight, program)
    state = program.state_dict
    assert state["tied.weight"] is state["layers.0.weight"] is state["layers.2.weight"]
    module = rushlight.export.unflatten(program)
    assert module.tied.weight is module.get_parameter("layers.1.weight")
    assert module.sub.get_parameter("0.bias") is module.other.get_parameter("0.bias")
    assert module.tied.bias is not module.get_parameter("layers.0.bias")
    assert module.tied.weight is not state["tied.weight"]


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize("name, kept", KEPT)
def test_kept_submodules_can_be_exchanged(name, kept, archived):
    program = exported(rushlight, name, kept)
    if archived:
        program = through_a_file(rushlight, program)
    model, args = made(rushlight, name)
    wanted = model(*args)
    rushlight.testing.assert_close(rushlight.export.unflatten(program)(*args), wanted)
    for path in kept:
        module = rushlight.export.unflatten(program)
        home, _, leaf = path.rpartition(".")
        original = made(rushlight, name)[0].get_submodule(path)
        setattr(module.get_submodule(home), leaf, original)
        rushlight.testing.assert_close(module(*args), wanted)


@pytest.mark.parametrize("name, kept", KEPT)
def test_kept_signatures_are_those_of_pytorch(name, kept):
    torch = pytest.importorskip("torch")
    wanted = described(torch, exported(torch, name, kept), False)
    found = described(rushlight, exported(rushlight, name, kept), False)
    if name == "MutatedTwice":  # PyTorch forgets a buffer of the first of two calls
        assert sorted(set(found[1]) - set(wanted[1])) == ["counter.count"]
        found = found[0], wanted[1], *found[2:]
    assert found == wanted
    assert found[3]


@pytest.mark.parametrize("name", ["Twice", "Alias", "Between", "Nested"])
def test_decomposed_programs(name):
    program = exported(rushlight, name).run_decompositions()
    model, args = made(rushlight, name)
    module = rushlight.export.unflatten(program)
    rushlight.testing.assert_close(module(*args), model(*args))
    assert module.state_dict().keys() == model.state_dict().keys()


def test_free_sizes():
    net = nn.Sequential(nn.Linear(3, 4), nn.Flatten(0))
    batch = rushlight.export.Dim("batch", max=9)
    program = rushlight.export.export(
        net, (rushlight.ones(2, 3),), dynamic_shapes=({0: batch},),
        preserve_module_call_signature=("1",),
    )  # fmt: skip
    module, x = rushlight.export.unflatten(program), rushlight.randn(5, 3)
    rushlight.testing.assert_close(module(x), net(x))
    with pytest.raises(AssertionError, match="9"):
        module(rushlight.randn(10, 3))


def test_other_structures_of_arguments_go_through_the_adapter():
    program = exported(rushlight, "Between")
    x, y = arguments(rushlight, 2)
    wanted = made(rushlight, "Between")[0](x, y)
    with pytest.raises(TypeError, match="There is no flat args adapter specified"):
        rushlight.export.unflatten(program)([x, y])

    class Adapter(rushlight.export.FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            seen.append((target_spec.num_leaves, input_spec.num_leaves, obj))
            return input_args[: target_spec.num_leaves]

    seen = []
    module = rushlight.export.unflatten(program, Adapter())
    rushlight.testing.assert_close(module([x, y], x), wanted)
    assert seen == [(2, 3, module)]
    with pytest.raises(TypeError, match=r"adapt\(\) gave 1 leaves, .* takes 2"):
        module([x])


def test_wrong_arguments():
    with pytest.raises(TypeError, match="'module' must be an ExportedProgram, not Linear"):
        rushlight.export.unflatten(nn.Linear(1, 1))
    net, x = nn.Sequential(nn.Linear(2, 2)), rushlight.ones(1, 2)
    for wrong in ("0", (0,), ("",)):
        with pytest.raises(TypeError, match="must be a tuple of names of submodules, not"):
            rushlight.export.export(net, (x,), preserve_module_call_signature=wrong)
    with pytest.raises(AttributeError, match="1"):
        rushlight.export.export(net, (x,), preserve_module_call_signature=("1",))


def test_results_that_pass_a_kept_submodule_by():
    class Leaking(nn.Module):
        def forward(self, x):
            self.seen = x * 2
            return x + 1

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.leaking = Leaking()

        def forward(self, x):
            return self.leaking(x) * self.leaking.seen

    program = rushlight.export.export(
        Model(), (rushlight.ones(2),), preserve_module_call_signature=("leaking",)
    )
    with pytest.raises(ValueError, match="computes and does not return"):
        rushlight.export.unflatten(program)


@pytest.mark.parametrize("stack", ["L__self__", "L__self__,,a;b,c", "L__self__,a..b,c", "x,.a,c"])
def test_archived_calls_that_are_none(stack):
    from rushlight.export.serialization.calls import read_metadata

    with pytest.raises(rushlight.export.serialization.FormatError, match="'nn_module_stack' has"):
        read_metadata({"nn_module_stack": stack})


def test_archived_signatures_of_nothing():
    from rushlight.export.serialization.calls import entries_as_json, read_entries

    program = exported(rushlight, "Twice", ("sub",))
    entries, nodes = entries_as_json(program.module_call_graph), {}
    with pytest.raises(rushlight.export.serialization.FormatError, match="which is no node"):
        read_entries(entries, nodes)
    nodes = {node.name: node for node in program.graph.nodes}
    assert [e.fqn for e in read_entries(entries, nodes)] == ["", "sub", "sub.0", "sub.1", "sub@1"]
    entries[1]["fqn"] = "a..b"
    with pytest.raises(rushlight.export.serialization.FormatError, match="no name of a submodule"):
        read_entries(entries, nodes)
    entries[0]["signature"] = entries[1]["fqn"] = None
    with pytest.raises(rushlight.export.serialization.FormatError, match="no name of a submodule"):
        read_entries(entries, nodes)
