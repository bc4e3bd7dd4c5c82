"""Tensors that programs make of sizes by `tensor`, in programs whose sizes may differ."""

import io

import numpy as np
import pytest

import rushlight
from rushlight.export import Dim, export, load, save

torch = pytest.importorskip("torch")


def programs(library):
    tensor = library.tensor
    return {
        "whole": lambda x: x + tensor(x.shape[0]),
        "float": lambda x: x + tensor(x.shape[0] * 0.1),
        "double": lambda x: x + tensor(x.shape[0] / 3, dtype=library.float64),
        "list": lambda x: x.sum(0)[:2] + tensor([x.shape[0], x.shape[1]]),
        "mixed": lambda x: x.sum(0)[:2] * tensor([x.shape[0] / 2, 2]),
        "nested": lambda x: tensor([[x.shape[0], 1], [2, x.shape[0] - 1]]) * 2,
        "like": lambda x: x.sum() + x.new_tensor([1, x.shape[0]]),
        "as": lambda x: x / library.as_tensor(x.shape[0]),
        "beside": lambda x: x * tensor(3.5) + tensor([1.0, 2.0, float(x.shape[0])]),
    }


NAMES = list(programs(rushlight))


def made(library, name):
    class Model(library.nn.Module):
        def forward(self, x):
            return programs(library)[name](x)

    shapes = ({0: library.export.Dim("n")},)
    return Model(), library.export.export(Model(), (values(library, 6),), dynamic_shapes=shapes)


def values(library, rows):
    return library.arange(3.0 * rows).reshape(rows, 3) / 7


def same(found, expected):
    assert str(found.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_tensor_is_computed(name):
    model, program = made(rushlight, name)
    expected = programs(torch)[name]  # several of which PyTorch's export refuses
    file = io.BytesIO()
    save(program, file)
    again = load(io.BytesIO(file.getvalue())).module()
    theirs = torch.export.load(io.BytesIO(file.getvalue())).module()
    whole = program.run_decompositions().module()
    for rows in (6, 3, 12, 33):
        x, y = values(rushlight, rows), values(torch, rows)
        right = model(x)
        same(right, expected(y))
        for run in (program.module(), again, whole):
            same(run(x), right)
        same(theirs(y), right)


def test_constants_stay_constants():
    _, program = made(rushlight, "list")
    assert not program.constants

    class Fixed(rushlight.nn.Module):
        def forward(self, x):
            return x + rushlight.tensor([1.0, 2.0, 3.0])

    shapes = ({0: Dim("n")},)
    fixed = export(Fixed(), (rushlight.ones(4, 3),), dynamic_shapes=shapes)
    assert [t.tolist() for t in fixed.constants.values()] == [[1.0, 2.0, 3.0]]


def test_histograms_of_any_number_of_elements():
    class Counting(rushlight.nn.Module):
        def forward(self, x):
            edges = rushlight.tensor([0.0, 0.3, 0.5, 1.0])
            return *x.histogram(4, range=(0.0, 1.0)), *x.histogram(edges, weight=x)

    program = export(Counting(), (rushlight.rand(5),), dynamic_shapes=({0: Dim("n")},))
    assert sum("histogram" in str(n.target) for n in program.graph.nodes) == 2
    file = io.BytesIO()
    save(program, file)
    theirs = torch.export.load(io.BytesIO(file.getvalue())).module()
    for count in (5, 8, 40):
        x = rushlight.arange(float(count)) / count
        runs = program.module()(x), load(io.BytesIO(file.getvalue())).module()(x)
        for found in (*runs, theirs(torch.from_numpy(x.numpy()))):
            for one, other in zip(found, Counting()(x), strict=True):
                same(one, other)
    with pytest.raises(RuntimeError, match="bins must be > 0"):
        rushlight.empty(3, device="meta").histogram(0)


@pytest.mark.parametrize("name", NAMES)
def test_onnx_computes_them(name):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, program = made(rushlight, name)
    file = io.BytesIO()
    rushlight.onnx.export(program, f=file)
    session = runtime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    for rows in (6, 3, 40):
        x = values(rushlight, rows)
        feed = {session.get_inputs()[0].name: x.numpy()} if session.get_inputs() else {}
        np.testing.assert_allclose(session.run(None, feed)[0], model(x).numpy(), rtol=1e-6)
