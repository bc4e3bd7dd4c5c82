"""`ExportedProgram.run_decompositions`: programs without writes."""

import copy
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import nn
from rushlight.export import export
from rushlight.export.verifier import writes

sys.path.insert(0, str(Path(__file__).parent))

from capture_agreement import TABLE, build, detached, inputs_for, same_values, seeded  # noqa: E402
from test_layers import _is_refused  # noqa: E402

ROWS = [pytest.param(*row, id=f"{i}-{row[0]}") for i, row in enumerate(TABLE)]


def same_run(model, program, *args):
    """Check that a program's module does what the model does, to its arguments and buffers too."""
    module, model = copy.deepcopy(program.module()), copy.deepcopy(model)
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    same_values(seeded(module, ours), seeded(model, theirs), exact=False)
    same_values(list(ours), list(theirs), exact=False)
    state = module.state_dict()
    for name, value in model.state_dict().items():
        same_values(state[name], value, exact=False)


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_layers_without_writes_do_the_same(name, args, kwargs, specs):
    if _is_refused(name, kwargs):
        return
    layer = build(rushlight, name, args, kwargs)
    inputs = detached(inputs_for(rushlight, specs))
    seeded(layer, inputs)
    program = export(layer, tuple(inputs)).run_decompositions()
    assert program.functional and program.dialect == "ATEN"
    same_run(layer, program, *inputs)


class Writing(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", rushlight.zeros(2, 3))

    def forward(self, x):
        self.kept[0] = x[0]
        self.kept.t()[1].add_(1)
        self.kept.view(-1)[2:4] = 7
        self.kept.transpose(0, 1).unsqueeze(0).permute(2, 0, 1)[1, 0, 0] = 4
        x.mul_(2)
        y = x.clone()
        y[:, 1:][:, 0] = 5
        y[rushlight.tensor([0])] = rushlight.zeros(1)
        z = rushlight.zeros(2)
        z[0] = 3
        self.kept = self.kept + z.sum()
        return y + self.kept


INPLACE = {
    "dropout": (0.5, True), "alpha_dropout": (0.5, True), "feature_alpha_dropout": (0.5, True),
    "relu": (), "relu6": (), "elu": (), "selu": (), "celu": (),
    "silu": (), "mish": (), "leaky_relu": (), "hardtanh": (), "hardswish": (), "hardsigmoid": (),
    "threshold": (0.1, 2.0), "rrelu": (),
}  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
@pytest.mark.parametrize("table", [None, {}])
def test_functions_that_write_in_place(name, table):
    class Model(nn.Module):
        def forward(self, x):
            y = x * 2
            getattr(nn.functional, name)(y[:, 1:], *INPLACE[name], inplace=True)
            return y

    model, x = Model(), rushlight.linspace(-3, 3, 24).reshape(2, 3, 4)
    program = export(model, (x,)).run_decompositions(table)
    assert program.functional
    same_run(model, program, x)


def test_writes_through_views_become_values():
    rushlight.manual_seed(0)
    x = rushlight.randn(2, 3)
    before = export(Writing(), (x.clone(),))
    assert before.dialect == "TRAINING" and any(map(writes, before.graph.nodes))
    program = before.run_decompositions()
    assert not any(map(writes, program.graph.nodes))
    signature = program.graph_signature
    assert list(signature.buffers_to_mutate.values()) == ["kept"]
    assert list(signature.user_inputs_to_mutate.values()) == ["x"]
    same_run(Writing(), program, x)
    whole = before.run_decompositions({})
    assert [str(n.target) for n in whole.graph.nodes if "scatter" in n.name][0] == (
        "aten.select_scatter.default"
    )


def test_writes_through_an_expanded_view():
    class Net(nn.Module):
        def forward(self, x):
            y = x.clone()
            y.expand(1, 2, 3).mul_(3)
            z = y.expand(-1, 3)
            y.add_(1)
            return y, z

    program = export(Net(), (rushlight.ones(2, 3),)).run_decompositions()
    assert not any(map(writes, program.graph.nodes))
    same_run(Net(), program, rushlight.arange(6.0).reshape(2, 3))


def test_a_program_without_writes_stays_one():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", rushlight.zeros(2, 3))

        def forward(self, x):
            self.total.add_(x)
            x.mul_(2)
            return self.total + x

    program = export(Net(), (rushlight.ones(2, 3),)).run_decompositions({})
    again = program.run_decompositions()
    assert str(again.graph_signature) == str(program.graph_signature)
    same_run(Net(), again, rushlight.arange(6.0).reshape(2, 3))


def test_copies_that_depend_on_strides():
    class Shuffling(nn.Module):
        def forward(self, x):
            return x.view(2, 2, 3, 4).transpose(1, 2).contiguous().view(2, 6, 4)

    class WritingThere(nn.Module):
        def forward(self, x):
            x = x + 1
            x.t().contiguous().add_(1)
            return x

    x = rushlight.randn(2, 6, 4)
    same_run(Shuffling(), export(Shuffling(), (x,)).run_decompositions(), x)
    with pytest.raises(RuntimeError, match="clone\\(\\) it before writing"):
        export(WritingThere(), (rushlight.ones(2, 3),)).run_decompositions()


def test_running_statistics_are_outputs():
    model = nn.Sequential(nn.Conv1d(3, 4, 1), nn.BatchNorm1d(4))
    x = rushlight.randn(2, 3, 5)
    program = export(model, (x,)).run_decompositions()
    assert set(program.graph_signature.buffers_to_mutate.values()) == {
        "1.running_mean", "1.running_var", "1.num_batches_tracked",
    }  # fmt: skip
    targets = [str(n.target) for n in program.graph.nodes]
    assert "aten._native_batch_norm_legit_functional.default" in targets
    assert "aten.convolution.default" in targets
    same_run(model, program, x)


def test_a_table_chooses_what_is_taken_apart():
    model, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), rushlight.randn(2, 3)
    program = export(model, (x,))

    def targets(found):
        return [str(n.target) for n in found.graph.nodes if n.op == "call_function"]

    assert targets(program.run_decompositions({})) == ["aten.linear.default", "aten.relu.default"]
    relu = rushlight.ops.aten.relu.default
    taken = program.run_decompositions({relu: lambda x: x.clamp(min=0)})
    assert targets(taken) == ["aten.linear.default", "aten.clamp.default"]
    apart = program.run_decompositions()
    assert targets(apart) == ["aten.permute.default", "aten.addmm.default", "aten.relu.default"]
    for each in (taken, apart):
        same_run(model, each, x)


def test_the_targets_are_pytorchs():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401
    from capture_agreement import targets

    def model(library):
        class Net(library.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = library.nn.Conv2d(3, 4, 3)
                self.norm = library.nn.BatchNorm2d(4)
                self.head = library.nn.Linear(4, 2)

            def forward(self, x):
                x = library.nn.functional.relu(self.norm(self.conv(x)))
                return self.head(x.mean((2, 3)))

        return Net()

    ours = export(model(rushlight), (rushlight.ones(2, 3, 5, 5),)).run_decompositions()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = torch.export.export(model(torch), (torch.ones(2, 3, 5, 5),)).run_decompositions()
    assert sorted(ours.graph_signature.buffers_to_mutate.values()) == sorted(
        theirs.graph_signature.buffers_to_mutate.values()
    )
    silent = {"<built-in function getitem>"}
    names = [[t for t in targets(p.graph) if t not in silent] for p in (ours, theirs)]
    assert sorted(names[0]) == sorted(names[1])


def written(library):
    """A program that replaces buffers by values of the same and of another form."""

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("same", library.zeros(3))
            self.register_buffer("part", library.zeros(2, 3))
            self.register_buffer("taken", library.ones(3))

        def forward(self, x):
            self.same.copy_(x * 2)
            self.part[0].copy_(x * 3)
            self.taken = self.taken * 4
            x.add_(1)
            return x + self.same

    return library.export.export(Net(), (library.ones(3),))


@pytest.mark.parametrize("table, parts, part", [
    (None, ["arange.start_step", "view.default", "eq.Scalar", "unsqueeze.default",
            "expand.default", "where.self"], "where"),
    ({}, ["select_scatter.default"], "select_scatter"),
])  # fmt: skip
def test_a_copy_is_the_value_that_is_copied(table, parts, part):
    made = written(rushlight).run_decompositions(table)
    calls = [str(n.target) for n in made.graph.nodes if n.op == "call_function"]
    assert calls == [
        "aten.mul.Tensor", "aten.mul.Tensor", *(f"aten.{name}" for name in parts),
        "aten.mul.Tensor", "aten.add.Tensor", "aten.add.Tensor",
    ]  # fmt: skip
    assert made.graph_signature.buffers_to_mutate == {
        "mul": "same", part: "part", "mul_2": "taken",
    }  # fmt: skip
    module, x = made.module(), rushlight.tensor([1.0, 2.0, 3.0])
    assert module(x).tolist() == [4.0, 7.0, 10.0] and x.tolist() == [2.0, 3.0, 4.0]
    buffers = {name: value.tolist() for name, value in module.named_buffers()}
    assert buffers == {
        "same": [2.0, 4.0, 6.0], "part": [[3.0, 6.0, 9.0], [0.0] * 3], "taken": [4.0] * 3,
    }  # fmt: skip


def test_copies_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    found = []
    for library in (rushlight, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = written(library).run_decompositions()
        nodes = {node.name: str(node.target) for node in made.graph.nodes}
        mutated = made.graph_signature.buffers_to_mutate
        found.append({buffer: nodes[name] for name, buffer in mutated.items() if buffer != "part"})
    assert found[0] == found[1] == {"same": "aten.mul.Tensor", "taken": "aten.mul.Tensor"}


def test_a_copy_of_another_form_stays():
    from capture_agreement import targets

    class Net(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", rushlight.zeros(2, 3, dtype=rushlight.int64))

        def forward(self, x):
            self.rows.copy_(x)
            return self.rows + 1

    made = export(Net(), (rushlight.ones(3),)).run_decompositions()
    assert "aten.copy.default" in targets(made.graph)
    module = made.module()
    assert module(rushlight.tensor([1.5, 2.0, 3.0])).tolist() == [[2, 3, 4]] * 2
    assert module.rows.tolist() == [[1, 2, 3]] * 2
