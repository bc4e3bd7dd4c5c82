"""`run_decompositions` on common networks: the calls of PyTorch's core ATen graphs, and values."""

import io

import pytest

import rushlight

# of PyTorch's own classes, when it copies programs
pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


def layers(library):
    """Networks by name, in evaluation, with the shapes of their inputs."""
    nn = library.nn
    conv = nn.Conv2d(3, 4, 3, padding=1)
    return {
        "perceptron": (
            nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2)), (2, 4),
        ),
        "rows": (nn.Linear(4, 3, bias=False), (2, 4)),
        "classes": (nn.Sequential(nn.Linear(4, 3), nn.LogSoftmax(-1)), (2, 4)),
        "probabilities": (nn.Softmax(1), (2, 4)),
        "pictures": (
            nn.Sequential(conv, nn.BatchNorm2d(4), nn.ReLU6(), nn.MaxPool2d(2, 1, ceil_mode=True)),
            (2, 3, 6, 6),
        ),
        "pooled": (nn.AdaptiveAvgPool2d(1), (2, 3, 5, 4)),
        "layer norm": (nn.LayerNorm(4), (2, 3, 4)),
        "group norm": (nn.GroupNorm(2, 4), (2, 4, 3)),
        "signals": (nn.Sequential(nn.Conv1d(3, 4, 3, stride=2), nn.SiLU()), (2, 3, 9)),
        "transposed": (nn.ConvTranspose2d(3, 4, 3, 2, 1, 1, bias=False), (2, 3, 4, 5)),
        "transposed signals": (nn.ConvTranspose1d(4, 2, 3, groups=2), (1, 4, 5)),
        "same": (nn.Conv2d(3, 2, 3, padding="same", dilation=2), (1, 3, 5, 5)),
        "valid": (nn.Conv1d(3, 2, 3, padding="valid"), (1, 3, 5)),
    }  # fmt: skip


FUNCTIONS = {
    "transposes": lambda library, x: (x.t(), x.transpose(0, -1), x.permute(1, 0)),
    "products": lambda library, x: (x @ x.t(), library.matmul(x, x.t())),
    "batches": lambda library, x: library.bmm(x[None], x.t()[None]),
    "sums": lambda library, x: (x.sum(), x.sum(1), x.mean(), x.mean(0, keepdim=True)),
    "squeezed": lambda library, x: (x[None].squeeze(0), x[:, :1].squeeze(-1), x[None].squeeze()),
    "split": lambda library, x: (*x.split(2, 1), *x.split([1, 1], 0)),
    "narrowed": lambda library, x: x.narrow(1, 1, 2),
    "made": lambda library, x: (
        library.zeros(2) + library.ones(2), library.zeros_like(x) + library.ones_like(x),
    ),
    "converted": lambda library, x: (x.double(), x.to(library.int64), x.float() + 1),
    "elementwise": lambda library, x: (x.square(), x.clamp_min(0.5), x.relu()),
    "stacked": lambda library, x: tuple(library.stack([x, x + 1], dim) for dim in (0, 1, 2, -1)),
    "padded": lambda library, x: library.nn.functional.pad(x, (1, 2), value=3.0),
    "ranges": lambda library, x: (library.arange(3), library.arange(1, 4)),
}  # fmt: skip


def model_of(library, name):
    if name in FUNCTIONS:

        class Model(library.nn.Module):
            def forward(self, x):
                return FUNCTIONS[name](library, x)

        return Model(), (2, 4)
    library.manual_seed(0)
    model, shape = layers(library)[name]
    return model.eval(), shape


NAMES = [*layers(rushlight), *FUNCTIONS]


def calls(program):
    return sorted(str(n.target) for n in program.graph.nodes if n.op == "call_function")


def values(result):
    found = result if isinstance(result, tuple) else (result,)
    return [each.tolist() for each in found]


@pytest.fixture(scope="module")
def torch():
    found = pytest.importorskip("torch")
    __import__("torch.export")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_calls_are_pytorchs(torch, name):
    found = []
    for library in (rushlight, torch):
        model, shape = model_of(library, name)
        program = library.export.export(model, (library.ones(shape),)).run_decompositions()
        # copies that dropout makes in evaluation, and checks of what is known
        without = ("aten.clone.default", "aten._assert_tensor_metadata.default")
        found.append([call for call in calls(program) if call not in without])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", NAMES)
def test_values_are_the_models(name):
    model, shape = model_of(rushlight, name)
    x = rushlight.randn(shape)
    program = rushlight.export.export(model, (x,)).run_decompositions()
    found = program.module()(x)
    rushlight.testing.assert_close(found, model(x))
    for ours, theirs in zip(*map(leaves, (found, model(x))), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def test_other_sizes():
    class Model(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm = rushlight.nn.Linear(4, 6), rushlight.nn.LayerNorm(6)

        def forward(self, x, y):
            x = self.norm(self.linear(x))
            low, high = x.split(3, -1)
            return (low @ high.transpose(1, 2)).softmax(-1) @ y.narrow(1, 0, x.shape[1])

    batch, rows = rushlight.export.Dim("batch", min=2), rushlight.export.Dim("rows", min=2)
    model, args = Model(), (rushlight.randn(3, 5, 4), rushlight.randn(3, 5, 2))
    sizes = {0: batch, 1: rows}
    program = rushlight.export.export(model, args, dynamic_shapes=(sizes, sizes))
    parts = program.run_decompositions()
    assert "aten.bmm.default" in calls(parts) and "aten.matmul.default" not in calls(parts)
    for shape in ((3, 5), (2, 9), (4, 2)):
        args = rushlight.randn(*shape, 4), rushlight.randn(*shape, 2)
        rushlight.testing.assert_close(parts.module()(*args), model(*args))


@pytest.mark.parametrize(("left", "right"), [
    ((2, 3, 4, 5), (5, 2)), ((2, 1, 4, 5), (3, 5, 2)), ((4, 5), (3, 5, 2)), ((5,), (5, 2)),
])  # fmt: skip
def test_products_of_more_dimensions(left, right):
    class Model(rushlight.nn.Module):
        def forward(self, x, y):
            return x @ y

    args = rushlight.randn(left), rushlight.randn(right)
    parts = rushlight.export.export(Model(), args).run_decompositions()
    assert ("aten.matmul.default" in calls(parts)) == (len(left) == 1)
    rushlight.testing.assert_close(parts.module()(*args), Model()(*args))


@pytest.mark.parametrize("name", ["perceptron", "pictures", "group norm", "converted", "split"])
def test_archives_of_parts(torch, name):
    model, shape = model_of(rushlight, name)
    x = rushlight.randn(shape)
    program = rushlight.export.export(model, (x,)).run_decompositions()
    file = io.BytesIO()
    rushlight.export.save(program, file)
    for library in (rushlight, torch):
        file.seek(0)
        found = library.export.load(file).module()(library.tensor(x.tolist()))
        for ours, theirs in zip(values(found), values(model(x)), strict=True):
            rushlight.testing.assert_close(rushlight.tensor(ours), rushlight.tensor(theirs))


def test_forms_are_functions():
    table = rushlight.export.default_decompositions()
    aten, x = rushlight.ops.aten, rushlight.randn(2, 3)
    assert table[aten.t.default](x).tolist() == x.t().tolist()
    found = table[aten.zeros.default]([2])
    assert found.tolist() == [0.0, 0.0] and found.dtype is rushlight.float32
    assert table[aten.to.dtype](x, rushlight.float32) is NotImplemented
