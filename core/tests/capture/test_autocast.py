"""Regions of autocast are part of graphs, inside of a program and around it."""

from __future__ import annotations

import warnings

import pytest
from part_checks import Noting, same

import rushlight
import rushlight.nn.functional as F
from rushlight import _dynamo, nn


def region(dtype=rushlight.bfloat16, **kwargs):
    return rushlight.autocast("cpu", dtype=dtype, **kwargs)


class Layers(nn.Module):
    """Products, norms, composites that are opened, and layers that ask whether casts are on."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        self.conv = nn.Conv1d(8, 8, 3, padding=1)

    def forward(self, x):
        y = self.encoder(F.gelu(self.norm(self.linear(x)))[None])
        y = self.conv(y.transpose(1, 2)).transpose(1, 2)
        return (
            F.softmax(y, -1) + 1, F.cosine_similarity(y, y * 2 + 1),
            F.scaled_dot_product_attention(y, y, y),
        )  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 8, batch_first=True)

    def forward(self, x):
        return self.lstm(x[None])[0]


class Inside(Layers):
    def forward(self, x):
        with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
            found = super().forward(x)
        return [each.float() @ each.float().mT for each in found[::2]]


class Decorated(Layers):
    @rushlight.autocast("cpu", dtype=rushlight.bfloat16)
    def forward(self, x):
        return super().forward(x)


class Nested(Layers):
    def forward(self, x):
        with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
            y = self.linear(x)
            with rushlight.autocast("cpu", enabled=False):
                z = F.linear(y.float(), self.linear.weight)
            if rushlight.is_autocast_enabled("cpu"):
                z = z + self.linear(y)
        return z, self.linear(x)


class Printing(Layers):
    def forward(self, x):
        with rushlight.autocast("cpu", dtype=rushlight.bfloat16):
            y = self.linear(x)
            print(end="")
            y = self.linear(y) * 2
        return y @ y.T


@pytest.fixture
def x():
    rushlight.manual_seed(0)
    return rushlight.randn(4, 8)


def agree(compiled, module, x):
    """Two calls of each, the dtypes included."""
    for _ in range(2):
        found, expected = compiled(x), module(x)
        same(found, expected)
        leaves = zip(*map(rushlight.utils._pytree.tree_leaves, (found, expected)), strict=True)
        assert all(a.dtype == b.dtype for a, b in leaves)


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("kind", [Layers, Inside, Decorated, Nested])
def test_one_graph_inside_and_outside(kind, backend, x):
    module = kind().eval().requires_grad_(False)
    compiled = rushlight.compile(module, backend=backend, fullgraph=True)
    agree(compiled, module, x)
    with region():
        agree(compiled, module, x)
    with region(rushlight.float16):
        agree(compiled, module, x)
    agree(compiled, module, x)
    with region(), region(enabled=False):
        agree(compiled, module, x)


@pytest.mark.parametrize("kind", [Recurrent, Printing])
def test_other_networks(kind, x):
    module = kind().eval().requires_grad_(False)
    compiled = rushlight.compile(module)
    for dtype in (rushlight.bfloat16, rushlight.float16):
        with region(dtype):
            agree(compiled, module, x)
        agree(compiled, module, x)


def test_casts_are_steps_and_cast_once(x):
    noting = Noting()
    w = rushlight.ones(8, 8)

    def program(x):
        with region():
            y = x @ w
        return rushlight.sin(y)

    same(rushlight.compile(program, backend=noting, fullgraph=True)(x), program(x))
    (graph,) = noting.graphs
    steps = [n for n in graph.graph.nodes if n.op == "call_function"]
    assert [n.target.__name__ for n in steps[-2:]] == ["matmul", "sin"]
    dtypes = [n.meta["val"].dtype for n in steps]
    assert dtypes == [rushlight.bfloat16] * 4


def test_a_backend_runs_without_casts(x):
    seen = []

    def backend(graph_module, examples):
        seen.append(rushlight.is_autocast_enabled("cpu"))

        def run(*args):
            seen.append((rushlight.is_autocast_enabled("cpu"), (examples[0] @ x.T).dtype))
            return graph_module(*args)

        return run

    compiled = rushlight.compile(lambda x: x @ x.T, backend=backend)
    with region():
        assert compiled(x).dtype is rushlight.bfloat16
        assert rushlight.is_autocast_enabled("cpu") and (x @ x.T).dtype is rushlight.bfloat16
    assert seen == [False, (False, rushlight.float32)]


def test_a_failing_backend_leaves_casts_on(x):
    def backend(graph_module, examples):
        raise ValueError("no")

    with region():
        with pytest.raises(_dynamo.exc.BackendCompilerFailed):
            rushlight.compile(lambda x: x @ x.T, backend=backend)(x)
        assert (x @ x.T).dtype is rushlight.bfloat16


def test_the_dtype_of_a_region_without_one_is_that_of_now(x):
    def program(x):
        with rushlight.autocast("cpu"):
            return x @ x.T

    compiled = rushlight.compile(program, fullgraph=True)
    assert compiled(x).dtype is rushlight.bfloat16
    rushlight.set_autocast_dtype("cpu", rushlight.float16)
    try:
        assert compiled(x).dtype is rushlight.float16
    finally:
        rushlight.set_autocast_dtype("cpu", rushlight.bfloat16)
    assert compiled(x).dtype is rushlight.bfloat16


def test_gradients_go_through_casts(x):
    module, twin = Nested(), Nested()
    twin.load_state_dict(module.state_dict())
    compiled = rushlight.compile(module, backend="eager", fullgraph=True)
    for run in (compiled, twin):
        sum(each.sum() for each in run(x)).float().backward()
    same(module.linear.weight.grad, twin.linear.weight.grad)


def test_regions_that_are_no_part_of_a_graph(x):
    held = region()

    def outer(x):
        with held:
            return x @ x.T

    def narrow(x):
        with rushlight.autocast("cpu", dtype=rushlight.float32):
            return x @ x.T

    def named(x):
        with region() as found:
            return x @ x.T, found._enabled

    for program, why in ((outer, "manager"), (narrow, "warns"), (named, "manager")):
        with pytest.raises(_dynamo.exc.Unsupported, match=why):
            rushlight.compile(program, fullgraph=True)(x)
    with pytest.warns(UserWarning, match="Disabling autocast"):
        assert rushlight.compile(narrow)(x).dtype is rushlight.float32
    assert rushlight.compile(outer)(x).dtype is rushlight.bfloat16


@pytest.mark.parametrize("name", ["inside", "around"])
def test_numbers_are_pytorchs(name):
    """Values that bfloat16 holds exactly, so that products are the same on every processor."""
    torch = pytest.importorskip("torch")

    def ask(library):
        x = library.arange(12.0).reshape(3, 4) - 5

        def inside(x):
            with library.autocast("cpu", dtype=library.bfloat16):
                return library.softmax(x @ x.T, -1), library.relu(x), x.mm(x.T).sum(0)

        def around(x):
            return x @ x.T, (x * x).sum(-1), library.cat([x, x.bfloat16()])

        run = library.compile({"inside": inside, "around": around}[name], backend="eager")
        if name == "inside":
            return run(x)
        with library.autocast("cpu", dtype=library.bfloat16):
            return run(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = ask(rushlight), ask(torch)
    for ours, theirs in zip(found, expected, strict=True):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        rushlight.testing.assert_close(
            ours.float(), rushlight.tensor(theirs.float().tolist()), rtol=1e-6, atol=0
        )
