"""`normal` in captured programs: the overloads of PyTorch's, and the samples of the model."""

import io

import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight.fx.experimental.proxy_tensor import make_fx

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")

# Of each form the call and PyTorch's overload, with its arguments behind the mean.
FORMS = {
    "mean": (lambda library, x: library.normal(x), "Tensor_float", ()),
    "mean and number": (lambda library, x: library.normal(x, 2), "Tensor_float", (2.0,)),
    "number and deviation": (lambda library, x: library.normal(1, x), "float_Tensor", ("x",)),
    "tensors": (lambda library, x: library.normal(x, x), "Tensor_Tensor", ("x",)),
    "rows": (lambda library, x: library.normal(x, x[:, 0]), "Tensor_Tensor", ("select",)),
    "size": (
        lambda library, x: x + library.normal(1.0, 2.0, (3, 3)), "float_float", (2.0, [3, 3]),
    ),
    "dtype": (
        lambda library, x: library.normal(0, 1, size=(2, 5), dtype=library.float64) + x.sum(),
        "float_float", (1.0, [2, 5]),
    ),
}  # fmt: skip


def model(library, name):
    class Net(library.nn.Module):
        def forward(self, x):
            return FORMS[name][0](library, x)

    return Net()


def draws(graph):
    found = [n for n in graph.nodes if str(n.target).startswith("aten.normal.")]
    return [(str(n.target), tuple(_plain(a) for a in n.args[1:])) for n in found]


def _plain(value):
    return list(value) if isinstance(value, list | tuple) else getattr(value, "name", value)


def sampled(function, *args):
    """What a function draws, twice, and what the generator gives afterwards."""
    rushlight.manual_seed(3)
    return [*(function(*args).tolist() for _ in range(2)), rushlight.rand(2).tolist()]


@pytest.mark.parametrize("name", FORMS)
def test_samples_are_those_of_the_model(name):
    x = rushlight.rand(3, 3) + 0.5
    net, wanted = model(rushlight, name), [(f"aten.normal.{FORMS[name][1]}", FORMS[name][2])]
    program, buffer = export(net, (x,)), io.BytesIO()
    assert draws(program.graph) == wanted
    save(program, buffer)
    decomposed = program.run_decompositions()
    for each in (program, decomposed, load(buffer)):
        assert sampled(each.module(), x) == sampled(net, x)
    assert [target for target, _ in draws(decomposed.graph)] == [wanted[0][0]]
    for mode in ("real", "fake", "symbolic"):
        assert sampled(make_fx(net, tracing_mode=mode)(x), x) == sampled(net, x)
    assert sampled(rushlight.compile(net), x) == sampled(net, x)


@pytest.mark.parametrize("name", FORMS)
def test_nodes_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    theirs = torch.export.export(model(torch, name), (torch.rand(3, 3) + 0.5,))
    ours = export(model(rushlight, name), (rushlight.rand(3, 3) + 0.5,))
    assert draws(ours.graph) == draws(theirs.graph)


def test_overloads_by_hand():
    normal, x = rushlight.ops.aten.normal, rushlight.rand(3, 3)
    rushlight.manual_seed(5)
    found = [normal.Tensor_float(x), normal.float_float(1.0, 2.0, [2])]
    rushlight.manual_seed(5)
    wanted = [rushlight.normal(x), rushlight.normal(1.0, 2.0, (2,))]
    assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    with pytest.raises(RuntimeError, match="std >= 0.0"):
        make_fx(lambda x: rushlight.normal(x, -1.0))(x)
