"""Shapes of graphs without computing, and tracing with shapes, beside PyTorch's."""

import importlib
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library, name):
    return importlib.import_module(f"{library.__name__}.fx.{name}")


def propagated(library, module, *args):
    """A module whose nodes know their shapes, and its result."""
    mode = None
    if library is torch:
        from torch._subclasses.fake_tensor import FakeTensorMode

        mode = FakeTensorMode(allow_non_fake_inputs=True)
    return of(library, "passes.fake_tensor_prop").FakeTensorProp(module, mode).propagate(*args)


def facts(value):
    """What both libraries know of a value."""
    if isinstance(value, (torch.Tensor, rushlight.Tensor)):
        return tuple(value.shape), str(value.dtype).rpartition(".")[2], value.stride()
    if isinstance(value, (tuple, list)):
        return [facts(item) for item in value]
    if isinstance(value, dict):
        return {key: facts(item) for key, item in value.items()}
    return value


def noted(module):
    return {n.name: facts(n.meta["val"]) for n in module.graph.nodes if "val" in n.meta}


def inputs_of(library, shapes):
    return [
        library.zeros(2, 6, dtype=library.int64) if s == "tokens" else library.ones(*s)
        for s in shapes
    ]


@pytest.mark.parametrize("name", ["ResNet", "MobileNet", "Transformer", "Shared"])
def test_models_have_pytorchs_shapes(name):
    found = []
    for library in LIBRARIES:
        model, shapes = models(library)[name]
        if name == "Transformer":
            model = transformer_without_unpacking(library, model)
        module = library.fx.symbolic_trace(model.eval())
        result = propagated(library, module, *inputs_of(library, shapes))
        found.append((noted(module), facts(result)))
    assert found[0] == found[1] and len(found[0][0]) > 5


def transformer_without_unpacking(library, model):
    return library.nn.Sequential(model.embed, model.norm, model.ff)


def several_kinds(library):
    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", library.ones(4, dtype=library.float64))
            self.norm = library.nn.BatchNorm1d(4)
            self.plain = library.ones(4)

        def forward(self, x, scale=2):
            top, where = x.topk(2, -1)
            y = self.norm(x) * scale + self.table + self.plain
            self.table.add_(1)
            return {"top": (top, where), "size": x.size(0), "mean": y.mean().to(library.float16)}

    return library.fx.symbolic_trace(Net().train())


def test_values_that_are_no_tensors_are_noted():
    found = []
    for library in LIBRARIES:
        module = several_kinds(library)
        propagated(library, module, library.ones(3, 4), 3)
        values = noted(module)
        values.pop("output")
        found.append(values)
    assert found[0] == found[1]
    assert found[0]["size"] == 3 and found[0]["topk"][1][1] == "int64"


def test_nothing_is_computed_and_written():
    module = several_kinds(rushlight)
    before = module.table.clone()
    result = propagated(rushlight, module, rushlight.ones(3, 4))
    assert result["mean"].device.type == "meta" and result["mean"].dtype is rushlight.float16
    same_values(module.table, before)
    assert module.norm.num_batches_tracked.item() == 0
    same_values(module.norm.running_mean, rushlight.zeros(4))
    nodes = {n.name: n for n in module.graph.nodes}
    assert nodes["norm"].meta["device"] == rushlight.device("cpu")
    huge = rushlight.fx.symbolic_trace(rushlight.nn.Sequential(
        rushlight.nn.Linear(200_000, 100_000, device="meta")
    ))  # fmt: skip
    assert propagated(rushlight, huge, rushlight.empty(7, 200_000, device="meta")).shape == (
        7,
        100_000,
    )


def test_what_fake_tensors_cannot_do_is_said():
    prop = of(rushlight, "passes.fake_tensor_prop").FakeTensorProp
    module = rushlight.fx.symbolic_trace(lambda x: x.sum().item())
    with pytest.raises(RuntimeError, match="item"):
        prop(module).propagate(rushlight.ones(2))


# ------------------------------------------------------------------------------ tracing with shapes
def language_model(library):
    nn = library.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.ln = nn.Embedding(10, 8), nn.LayerNorm(8)
            self.lin = nn.Linear(8, 4, device="meta")
            self.w = nn.Parameter(library.ones(4, device="meta"))
            self.register_buffer("b", library.ones(4, device="meta"))

        def forward(self, ids, twice=False):
            x = self.ln(self.emb(ids))
            batch, length = x.shape[:2]
            position = library.arange(length, device=ids.device)
            x = library.relu(x + position.view(1, length, 1).to(x.dtype))
            if x.dim() == 3:
                x = x.view(batch * length, -1)
            x = nn.Dropout(0.1)(self.lin(x) * self.w + self.b)
            zeros = library.zeros(x.shape[0], x.size(-1), device=ids.device, dtype=x.dtype)
            x = library.where(x > 0, x, zeros)
            if x.dtype == library.float32 and not twice:
                x = x.abs()
            for i in range(x.shape[-1] // 2):
                x = x + i
            return x.chunk(2, -1)[0], zeros

    return Net()


def traced_with_shapes(library, root, concrete=None, **shapes):
    tracer = of(library, "experimental.meta_tracer")
    metas = {name: library.ones(*s, dtype=d, device="meta") for name, (s, d) in shapes.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = tracer.symbolic_trace(root, metas, concrete)
    return module, [str(each.message) for each in caught]


def test_control_flow_by_shapes_becomes_pytorchs_graph():
    found = []
    for library in LIBRARIES:
        module, said = traced_with_shapes(
            library, language_model(library), {"twice": False}, ids=((2, 5), library.int64)
        )
        found.append(module)
        assert all("eq" in text or "assert" in text for text in said)
    same_graphs(found[1].graph, found[0].graph)
    assert isinstance(found[0].dropout_0, rushlight.nn.Dropout)


def test_graphs_with_shapes_compute_what_the_program_does():
    class Net(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm = rushlight.nn.Linear(6, 4), rushlight.nn.BatchNorm1d(4)

        def forward(self, x):
            if x.shape[-1] != 6:
                raise ValueError("six columns")
            x = self.norm(self.layer(x))
            return [x[:, i] * i for i in range(x.size(1))], x.size(0) * x.ndim

    net = Net().eval()
    module, said = traced_with_shapes(rushlight, net, x=((3, 6), rushlight.float32))
    assert not said
    x = rushlight.rand(3, 6)
    same_values(module(x)[0], net(x)[0])
    assert module(x)[1] == 6
    with pytest.raises(ValueError, match="six columns"):
        traced_with_shapes(rushlight, net, x=((3, 5), rushlight.float32))


def test_a_dimension_of_zero_is_a_number():
    """PyTorch's proxy answers ``size(0)`` with all sizes."""
    module, _ = traced_with_shapes(
        rushlight, lambda x: x.view(x.size(0), -1), x=((2, 3, 4), rushlight.float32)
    )
    assert [n.args[1:] for n in module.graph.nodes if n.name == "view"] == [(2, -1)]


def test_what_has_no_shape_is_a_warning_and_overrides_help():
    def own(x):
        return rushlight.tensor(float(x.sum()))

    tracer = of(rushlight, "experimental.meta_tracer")

    class Opaque(rushlight.nn.Module):
        def forward(self, x):
            return own(x)

    class Net(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.opaque = Opaque()

        def forward(self, x):
            return self.opaque(x).reshape(1) + 1

    class Shallow(tracer.MetaTracer):
        def is_leaf_module(self, m, module_qualified_name):
            return isinstance(m, Opaque)

    metas = {"x": rushlight.ones(2, device="meta")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Shallow().trace(Net(), metas)
    said = [str(each.message) for each in caught]
    assert said[0].startswith("Could not compute metadata for call_module target opaque")
    assert len(said) == 3  # what reads it has none either
    tracer.manual_meta_overrides[Opaque] = lambda module, x: x.sum()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            graph = Shallow().trace(Net(), metas)
    finally:
        del tracer.manual_meta_overrides[Opaque]
    assert graph._tracer_extras["meta_args"] is metas


class Outside:
    """Holds a layer that is no submodule of what is traced."""

    def __init__(self, library):
        self.layers = [library.nn.Linear(2, 2)]


def test_modules_with_state_are_not_adopted():
    for library in LIBRARIES:
        outside = Outside(library)

        def program(x, outside=outside):
            return outside.layers[0](x)

        tracer = of(library, "experimental.meta_tracer").MetaTracer()
        with pytest.raises(NameError, match="not installed"):
            tracer.trace(lambda x: program(x), {"x": library.ones(2, device="meta")})  # noqa: B023
    with pytest.raises(AssertionError, match="Expected dict for meta_args"):
        of(rushlight, "experimental.meta_tracer").MetaTracer().trace(facts, [])
