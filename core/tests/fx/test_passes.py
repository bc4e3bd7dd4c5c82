"""Shapes, parts, drawings, orders and fused layers of graphs."""

import importlib
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import fx, nn
from rushlight.fx.passes import operator_support, tools_common
from rushlight.fx.passes.graph_drawer import FxGraphDrawer
from rushlight.fx.passes.shape_prop import ShapeProp, TensorMetadata

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402

for _pass in ("operator_support", "shape_prop", "split_module"):
    importlib.import_module(f"torch.fx.passes.{_pass}")


def shapes(library):
    model = models(library)["ResNet"][0].eval()
    module = library.fx.symbolic_trace(model)
    library.fx.passes.shape_prop.ShapeProp(module).propagate(library.ones(2, 3, 16, 16))
    metas = [node.meta.get("tensor_meta") for node in module.graph.nodes]
    return [
        meta and (tuple(meta.shape), str(meta.dtype)[-7:], tuple(meta.stride), meta.requires_grad)
        for meta in metas
    ]


def test_shapes_are_pytorchs():
    assert shapes(rushlight) == shapes(torch)


def test_shapes_of_structures():
    module = fx.symbolic_trace(lambda x: (x, [x.sum(), 3]))
    ShapeProp(module).propagate(rushlight.ones(2, 3))
    meta = module.graph.output_node().meta
    assert isinstance(meta["tensor_meta"][0], TensorMetadata) and meta["type"] is tuple
    assert meta["tensor_meta"][1][0].shape == () and meta["tensor_meta"][1][1] == 3
    with pytest.raises(NotImplementedError, match="meta"):
        ShapeProp(module, fake_mode=object())


def parts(library, order):
    """A model in parts, by the place of its nodes."""
    model = models(library)["MobileNet"][0]
    module = library.fx.symbolic_trace(model)
    index = {node.name: i for i, node in enumerate(module.graph.nodes)}
    moved = {}
    split = library.fx.passes.split_module.split_module(
        module, model, lambda node: index[node.name] // 6, moved, keep_original_order=order
    )
    return split, moved, model


@pytest.mark.parametrize("order", [False, True])
def test_parts_are_pytorchs(order):
    (ours, moved, model), (theirs, wanted, _) = parts(rushlight, order), parts(torch, order)
    same_graphs(theirs.graph, ours.graph)
    names = [n for n, _ in ours.named_children()]
    assert names == [n for n, _ in theirs.named_children()] and len(names) > 3
    for name in names:
        same_graphs(getattr(theirs, name).graph, getattr(ours, name).graph)
    assert moved == wanted
    x = rushlight.randn(2, 3, 8, 8)
    model.eval()
    same_values(ours.eval()(x), model(x), 1e-5)


def attributes_in_parts(library):
    class Held(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = library.nn.Parameter(library.ones(2))

        def forward(self, x, y=None):
            a = x * self.weight
            return a + self.weight, x.chunk(2), self.weight

    module = library.fx.symbolic_trace(Held())
    split_module = library.fx.passes.split_module.split_module
    return split_module(module, module, lambda node: {"mul": "b", "add": "a"}.get(node.name, "c"))


def test_attributes_are_read_in_each_part():
    ours, theirs = attributes_in_parts(rushlight), attributes_in_parts(torch)
    same_graphs(theirs.graph, ours.graph)
    x = rushlight.tensor([1.0, 2.0])
    same_values(ours(x)[0], x + 1)


def test_parts_that_need_each_other_are_refused():
    module = fx.symbolic_trace(lambda x: ((x + 1) * 2) - 3)
    split_module = rushlight.fx.passes.split_module.split_module
    with pytest.raises(RuntimeError, match="cycle"):
        split_module(module, module, lambda node: int(node.name == "mul"))


def test_drawings_are_text_without_pydot():
    model = models(rushlight)["Encoder"][0]
    module = fx.symbolic_trace(model)
    drawer = FxGraphDrawer(module, "model")
    text = drawer.get_dot_text()
    assert text.startswith('digraph "model" {') and text.count("->") == sum(
        len(n.all_input_nodes) for n in module.graph.nodes
    )
    assert '"layer" -> "lstm"' in text and "op_code=call_module" in text
    try:
        import pydot  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(NotImplementedError, match="get_dot_text"):
            drawer.get_dot_graph()
    else:
        assert drawer.get_dot_graph().get_nodes()


def test_drawings_of_inner_graphs_and_skipped_attributes():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(rushlight.ones(1))
            self.inner = fx.symbolic_trace(nn.ReLU())

        def forward(self, x):
            return self.inner(x) * self.weight

    class Keeping(fx.Tracer):
        def is_leaf_module(self, m, name):
            return True

    model = Outer()
    module = fx.GraphModule(model, Keeping().trace(model))
    drawer = FxGraphDrawer(module, "outer", ignore_getattr=True)
    assert "weight" not in drawer.get_dot_text() and "inner" in drawer.get_dot_text()
    assert drawer.get_dot_text("inner").startswith('digraph "outer_inner"')


def test_nodes_are_brought_into_order():
    module = fx.symbolic_trace(lambda x: rushlight.relu(x) + 1)
    nodes = {n.name: n for n in module.graph.nodes}
    nodes["x"].prepend(nodes["add"])
    with pytest.raises(RuntimeError):
        module.graph.lint()
    tools_common.legalize_graph(module)
    module.graph.lint()
    assert [n.name for n in module.graph.nodes] == ["x", "relu", "add", "output"]
    relu = next(n for n in module.graph.nodes if n.name == "relu")
    relu.args = (next(n for n in module.graph.nodes if n.name == "add"),)
    with pytest.raises(RuntimeError, match="cycles"):
        tools_common.legalize_graph(module)


def supported(library):
    support = library.fx.passes.operator_support
    module = library.fx.symbolic_trace(models(library)["MobileNet"][0])
    library.fx.passes.shape_prop.ShapeProp(module).propagate(library.ones(1, 3, 8, 8))
    modules = dict(module.named_modules())
    named = support.create_op_support(lambda modules, node: "conv" in node.name)
    functions = support.create_op_support(lambda modules, node: node.op == "call_function")
    kinds = [
        named, support.chain(named, functions), support.any_chain(named, functions),
        support.OpSupports.decline_if_input_dtype(library.float32),
        support.OpSupports.decline_if_node_in_names({"add", "mul"}),
    ]  # fmt: skip
    return [[s.is_node_supported(modules, n) for n in module.graph.nodes] for s in kinds]


def test_support_is_pytorchs():
    assert supported(rushlight) == supported(torch)


def test_support_by_table():
    module = fx.symbolic_trace(lambda x: rushlight.relu(x).neg())
    ShapeProp(module).propagate(rushlight.ones(2))
    relu, neg = (n for n in module.graph.nodes if n.op.startswith("call"))
    assert tools_common.get_node_target({}, relu) == "rushlight.relu"
    assert tools_common.get_node_target({}, neg) == "neg"
    assert tools_common.is_node_output_tensor(relu)
    for dtype, wanted in ((rushlight.float32, True), (rushlight.int64, False)):
        table = operator_support.OperatorSupport({"rushlight.relu": (((dtype,),), {})})
        assert table.is_node_supported({}, relu) is wanted
        assert not table.is_node_supported({}, neg)


def test_batch_norm_is_folded_into_convolutions():
    from rushlight.fx.experimental.optimization import fuse, remove_dropout

    model = models(rushlight)["ResNet"][0]
    model(rushlight.randn(4, 3, 16, 16))  # statistics
    model.eval()
    fused = fuse(model)
    kinds = [type(m).__name__ for m in fused.modules()]
    assert "BatchNorm2d" not in kinds and "Conv2d" in kinds
    x = rushlight.randn(2, 3, 16, 16)
    same_values(fused(x), model(x), 1e-4)
    assert any(isinstance(m, nn.BatchNorm2d) for m in model.modules())
    without = remove_dropout(models(rushlight)["MobileNet"][0].eval())
    assert not any(isinstance(m, nn.Dropout) for m in without.modules())
