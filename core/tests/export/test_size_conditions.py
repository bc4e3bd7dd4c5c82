"""`cond` by comparisons of sizes, and of numbers that the program reads, beside PyTorch's."""

import io
import operator
import warnings

import numpy as np
import pytest

import rushlight
from rushlight.export import Dim, export, load, save

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def programs(library):
    """Modules with a choice: ``name -> (module, dynamic shapes, shapes of inputs)``."""
    nn, cond, sizes = library.nn, library.cond, library.export.Dim

    class Above(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            x = library.relu(self.layer(x))
            return cond(x.shape[0] > 4, lambda t: t.sin() + 1, lambda t: t.cos() * 2, (x,))

    class Remainder(nn.Module):
        def forward(self, x, y):
            z = library.cat([x, y])
            chosen = cond(z.shape[0] % 3 == 0, lambda t: t.sin(), lambda t: t[:2].sum() + t, (z,))
            return chosen, z.shape[0]

    class Two(nn.Module):
        def forward(self, x, y):
            return cond(
                x.size(0) - 1 >= y.size(0),
                lambda a, b: a.sum() + b.sum(),
                lambda a, b: a.sum() * b.sum(),
                (x, y),
            ) + library.zeros(x.shape[0])

    class Nested(nn.Module):
        def forward(self, x):
            def inner(t):
                return cond(t.shape[0] == 6, lambda u: u * 3, lambda u: u.exp(), (t,))

            return cond(x.shape[0] * 2 <= 12, inner, lambda t: t - t.shape[0], (x,))

    class Count(nn.Module):
        def forward(self, x):
            count = (x > 0).sum().item()
            return cond(count > 3, lambda t: t + 1, lambda t: t - 1, (x,))

    class Total(nn.Module):
        def forward(self, x):
            return cond(x.sum().item() > 0.5, lambda t: t + 1, lambda t: t - 1, (x,))

    one, two = ({0: sizes("b")},), ({0: sizes("b")}, {0: sizes("c")})
    return {
        "Above": (Above(), one, [(6, 3)], [(3, 3)], [(5, 3)], [(4, 3)]),
        "Auto": (Above(), ({0: sizes.AUTO},), [(3, 3)], [(6, 3)], [(5, 3)]),
        "Beyond": (Above(), ({0: sizes("b", min=6)},), [(8, 3)], [(6, 3)], [(50, 3)]),
        "Remainder": (Remainder(), two, [(6, 3), (3, 3)], [(2, 3), (2, 3)], [(7, 3), (2, 3)]),
        "Two": (Two(), two, [(6, 3), (3, 3)], [(3, 3), (3, 3)], [(4, 3), (3, 3)], [(2, 3), (9, 3)]),
        "Nested": (Nested(), one, [(5, 3)], [(6, 3)], [(7, 3)], [(3, 3)]),
        "Count": (Count(), one, [(6, 3)], [(1, 3)], [(2, 3)]),
        "Total": (Total(), one, [(6, 3)], [(1, 3)], [(2, 3)]),
    }


NAMES = ["Above", "Auto", "Beyond", "Remainder", "Two", "Nested", "Count", "Total"]


def values(library, shapes):
    """Tensors of both signs, the same in both libraries."""
    return tuple(
        ((library.arange(a * b, dtype=library.float32) * 7 + k) % 11 - 4).reshape(a, b) / 8
        for k, (a, b) in enumerate(shapes)
    )


def made(library, name):
    """A module, its program, and inputs to compare."""
    module, dynamic, *shapes = programs(library)[name]
    if name in ("Above", "Auto", "Beyond"):
        with library.no_grad():
            module.layer.weight.copy_(values(library, [(3, 3)])[0])
            module.layer.bias.copy_(values(library, [(1, 3)])[0][0])
    inputs = [values(library, each) for each in shapes]
    with warnings.catch_warnings(), library.no_grad():
        warnings.simplefilter("ignore")
        program = library.export.export(module.eval(), inputs[0], dynamic_shapes=dynamic)
    return module, program, inputs


def arrays(result):
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def same(found, expected):
    for one, other in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def agree(run, module, inputs):
    library = torch if isinstance(inputs[0][0], torch.Tensor) else rushlight
    with library.no_grad():
        for given in inputs:
            same(run(*given), module(*given))


def calls(program):
    """What the graph calls, and of comparisons and choices the names of what they read."""
    return sorted(
        str(node.target)
        for node in program.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    )


@pytest.mark.parametrize("name", NAMES)
def test_both_branches_are_in_the_program(name):
    module, program, inputs = made(rushlight, name)
    agree(program.module(), module, inputs)
    choice = next(n for n in program.graph.nodes if "cond" in str(n.target))
    assert choice.args[0].target in (operator.gt, operator.ge, operator.le, operator.eq)
    assert type(choice.args[0].meta["val"]).__name__ == "SymBool"
    agree(program.run_decompositions().module(), module, inputs)


@pytest.mark.parametrize("name", NAMES)
def test_archives_are_read_by_pytorch(name):
    _, program, inputs = made(rushlight, name)
    for each in (program, program.run_decompositions()):
        file = io.BytesIO()
        save(each, file)
        read = torch.export.load(io.BytesIO(file.getvalue()))
        for given in inputs:
            theirs = tuple(torch.from_numpy(t.numpy()) for t in given)
            with torch.no_grad(), rushlight.no_grad():
                same(read.module()(*theirs), program.module()(*given))
        again = load(io.BytesIO(file.getvalue()))
        agree(again.module(), program.module(), inputs)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "Two"])
def test_calls_are_pytorchs_and_its_archives_are_read(name):
    """Of "Two" PyTorch makes a program that it cannot run."""
    _, program, inputs = made(rushlight, name)
    _, expected, theirs = made(torch, name)
    ours, wanted = calls(program), calls(expected)
    assert ours == wanted
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(expected, file)
    read = load(io.BytesIO(file.getvalue()))
    for given, others in zip(inputs, theirs, strict=True):
        with torch.no_grad(), rushlight.no_grad():
            same(read.module()(*given), expected.module()(*others))


class Choosing(rushlight.nn.Module):
    """Compares a size that is free, and one that is not, without operands."""

    def forward(self, x):
        rows, columns = x.shape
        chosen = rushlight.cond(rows > columns, lambda: x * 2, lambda: x / 2)
        always = rushlight.cond(columns > 2, lambda t: t + columns, lambda t: t - 1, (chosen,))
        return always.reshape(rows * columns).expand(2, rows * columns), rows


def test_closures_and_fixed_sizes():
    model = Choosing()
    x = rushlight.arange(18.0).reshape(6, 3)
    program = export(model, (x,), dynamic_shapes=({0: Dim("b")},))
    choices = [n for n in program.graph.nodes if "cond" in str(n.target)]
    assert len(choices) == 2 and choices[1].args[0] is True
    agree(program.module(), model, [(x,), (x[:2],), (x[:3],)])
    file = io.BytesIO()
    save(program, file)
    for library, read in ((rushlight, load), (torch, torch.export.load)):
        again = read(io.BytesIO(file.getvalue())).module()
        given = library.arange(6.0).reshape(2, 3)
        same(again(given), model(x[:2]))
    assert not any("cond" in str(n.target) for n in export(model, (x,)).graph.nodes)


def test_branches_by_if_are_errors_still():
    class Branching(rushlight.nn.Module):
        def forward(self, x):
            x = rushlight.cond(x.shape[0] > 4, lambda t: t + 1, lambda t: t - 1, (x,))
            return x.sin() if x.shape[0] > 5 else x.cos()

    with pytest.raises(
        rushlight.export.dynamic.capturing.ConstraintViolationError, match="another"
    ):
        export(Branching(), (rushlight.ones(6, 3),), dynamic_shapes=({0: Dim("b")},))


def test_symbolic_graphs_have_choices():
    from rushlight.fx.experimental.proxy_tensor import make_fx

    def program(x):
        return rushlight.cond(x.shape[0] > 4, lambda t: t.sin(), lambda t: t.cos(), (x,))

    graph = make_fx(program, tracing_mode="symbolic")(rushlight.ones(6, 3))
    for rows in (3, 4, 5):
        x = rushlight.rand(rows, 3)
        assert graph(x).tolist() == program(x).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_onnx_chooses_when_it_runs(name):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    runtime.set_default_logger_severity(4)
    module, program, inputs = made(rushlight, name)
    file = io.BytesIO()
    with rushlight.no_grad():
        rushlight.onnx.export(program, f=file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    for given in inputs:
        feed = {i.name: t.numpy() for i, t in zip(session.get_inputs(), given, strict=True)}
        with rushlight.no_grad():
            same(tuple(session.run(None, feed)), module(*given))
