"""`scatter_` and `isin` in every form of programs, beside PyTorch."""

import io

import numpy as np
import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight.fx.experimental.proxy_tensor import make_fx

torch = pytest.importorskip("torch")
PROGRAMS = {
    "value": lambda lib, x, i: lib.zeros_like(x).scatter_(1, i, 1.5),
    "named": lambda lib, x, i: x.clone().scatter_(dim=1, index=i, value=2),
    "source": lambda lib, x, i: (x * 2).scatter_(0, i % 3, x),
    "view": lambda lib, x, i: (y := x.clone(), y[:, 1:].scatter_(1, i % 3, 5.0))[0] + y,
    "added": lambda lib, x, i: x.clone().scatter_(1, i, x, reduce="add"),
    "multiplied": lambda lib, x, i: x.clone().scatter_(1, i, 3.0, reduce="multiply"),
    "isin": lambda lib, x, i: lib.isin(i, lib.tensor([1, 3])),
    "not in": lambda lib, x, i: x * lib.isin(i, lib.tensor([1, 3]), invert=True),
}


def arguments(library):
    x = library.arange(12.0).reshape(3, 4) / 7
    return x, library.tensor([[0, 2, 1, 3], [3, 1, 0, 2], [1, 0, 3, 2]])


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")  # PyTorch's own
@pytest.mark.parametrize("name", PROGRAMS)
def test_beside_pytorch(name):
    class Model(rushlight.nn.Module):
        def forward(self, x, i):
            return PROGRAMS[name](rushlight, x, i)

    x, i = arguments(rushlight)
    expected = PROGRAMS[name](torch, *arguments(torch)).numpy()
    program = export(Model(), (x, i))
    file = io.BytesIO()
    save(program, file)
    whole = program.run_decompositions()
    assert not any(str(node.target).endswith("_.default") for node in whole.graph.nodes)
    runs = [
        program.module(), whole.module(), load(io.BytesIO(file.getvalue())).module(),
        make_fx(Model())(x, i), make_fx(Model(), tracing_mode="symbolic")(x, i),
        rushlight.jit.trace(Model(), (x, i)),
    ]  # fmt: skip
    for run in runs:
        np.testing.assert_allclose(run(x, i).numpy(), expected, rtol=1e-6)
    theirs = torch.export.load(io.BytesIO(file.getvalue())).module()
    np.testing.assert_allclose(theirs(*arguments(torch)).numpy(), expected, rtol=1e-6)
    if name not in ("added", "multiplied"):
        pytest.importorskip("onnxruntime")
        (found,) = rushlight.onnx.export(program)(x, i)
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
