"""Tensors that a program fills with samples, with and without writes."""

import io

import pytest

import rushlight
from rushlight import nn
from rushlight.export import export

# Name of the method -> arguments, and the overloads of PyTorch's programs, which have them with
# these arguments: as exported, and after run_decompositions().
DRAWS = {
    "normal_": [((1.0, 2.0), "normal_.default", "normal_functional.default")],
    "uniform_": [
        ((), "uniform_.default", "uniform.default"),
        ((-1.0, 2.0), "uniform_.default", "uniform.default"),
    ],
    "bernoulli_": [((0.3,), "bernoulli_.float", "bernoulli.p")],
    "random_": [
        ((), "random_.default", "random.default"),
        ((10,), "random_.to", "random.to"),
        ((2, 10), "random_.from", "random.from"),
    ],
    "exponential_": [((2.0,), "exponential_.default", "exponential.default")],
    "geometric_": [((0.4,), "geometric_.default", "geometric.default")],
    "cauchy_": [((0.5, 2.0), "cauchy_.default", "cauchy.default")],
    "log_normal_": [((0.5, 1.5), "log_normal_.default", "log_normal.default")],
}
ROWS = [
    pytest.param(name, *row, id=f"{name}{row[0]}") for name, rows in DRAWS.items() for row in rows
]
# What is filled of a copy of the input, and the shape of that.
PARTS = {
    "whole": lambda y: y,
    "column": lambda y: y[:, 1],
    "transposed": lambda y: y.t()[1:],
    "slice": lambda y: y[1:, ::2],
}


class Filling(nn.Module):
    def __init__(self, name, args, part="whole"):
        super().__init__()
        self.name, self.given, self.part = name, args, PARTS[part]

    def forward(self, x):
        y = x.clone()
        getattr(self.part(y), self.name)(*self.given)
        return y


def calls(program):
    nodes = program.graph.find_nodes(op="call_function")
    return [(str(n.target).removeprefix("aten."), n.args[1:]) for n in nodes]


def same_run(model, module, x):
    """Check that a program draws what the model does, and leaves the generator where that does."""
    found = []
    for run in (module, model):
        rushlight.manual_seed(3)
        found.append((run(x.clone()), rushlight.rand(1)))
    rushlight.testing.assert_close(*found, rtol=0, atol=0)


@pytest.mark.parametrize(("name", "args", "writing", "by_value"), ROWS)
def test_draws_are_steps_and_give_new_tensors(name, args, writing, by_value):
    model, x = Filling(name, args), rushlight.zeros(3, 4)
    program = export(model, (x,))
    assert calls(program)[-1] == (writing, args)
    same_run(model, program.module(), x)
    parts = program.run_decompositions()
    assert parts.functional and calls(parts)[-1] == (by_value, args)
    same_run(model, parts.module(), x)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_into_views(name, part):
    model, x = Filling(name, DRAWS[name][0][0], part), rushlight.zeros(4, 5)
    program = export(model, (x,)).run_decompositions()
    assert program.functional
    same_run(model, program.module(), x)


def test_chances_of_elements():
    class Model(nn.Module):
        def forward(self, x):
            return x.clone().bernoulli_(x[0])

    model, x = Model(), rushlight.rand(3, 4)
    program = export(model, (x,))
    assert calls(program)[-1][0] == "bernoulli_.Tensor"
    parts = program.run_decompositions()
    assert calls(parts)[-1][0] == "bernoulli.Tensor"
    same_run(model, program.module(), x)
    same_run(model, parts.module(), x)


def test_arguments_and_buffers_that_are_filled():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", rushlight.zeros(4))

        def forward(self, x):
            self.kept.uniform_(1, 2)
            x.normal_()
            return self.kept + x

    model, x = Model(), rushlight.zeros(4)
    parts = export(model, (x,)).run_decompositions()
    assert list(parts.graph_signature.buffers_to_mutate.values()) == ["kept"]
    assert list(parts.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    module = parts.module()
    same_run(model, module, x)
    rushlight.testing.assert_close(module.kept, model.kept, rtol=0, atol=0)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    class Model(nn.Module):
        def forward(self, x):
            return nn.functional.gumbel_softmax(x, hard=hard)

    model, x = Model(), rushlight.randn(3, 4)
    parts = export(model, (x,)).run_decompositions()
    assert "exponential.default" in [name for name, _ in calls(parts)]
    same_run(model, parts.module(), x)


@pytest.mark.parametrize("parts", [False, True])
def test_archives(parts):
    class Model(nn.Module):
        def forward(self, x):
            return x.clone().random_(2, 10), x.clone().log_normal_(), x.clone().bernoulli_(0.3)

    program, x = export(Model(), (rushlight.zeros(2, 3),)), rushlight.zeros(2, 3)
    program = program.run_decompositions() if parts else program
    file = io.BytesIO()
    rushlight.export.save(program, file)
    file.seek(0)
    same_run(Model(), rushlight.export.load(file).module(), x)
    if parts:  # of the others PyTorch 2.13 has no code: "from" is a word of Python's
        return
    assert "aten.random_.from" in str(program.graph)


def test_overloads_of_aten():
    aten, x = rushlight.ops.aten, rushlight.zeros(2, 3)
    for overload, args in (
        (aten.uniform.default, ()),
        (aten.random.to, (5,)),
        (aten.bernoulli.p, (0.5,)),
    ):
        rushlight.manual_seed(1)
        found = overload(x, *args)
        rushlight.manual_seed(1)
        name = str(overload).split(".")[1] + "_"
        assert found is not x and found.tolist() == getattr(x.clone(), name)(*args).tolist()
    assert not x.any()
