"""Graphs of compiled functions as nodes and values: PyTorch 2.13's kinds, and how many values each
node takes and gives."""

import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import jit, nn

sys.path.insert(0, str(Path(__file__).parent))

from graph_programs import modules  # noqa: E402

MODULES = modules(nn, nn.functional, rushlight.Tensor)

# By name: the nodes in PyTorch, as kind/inputs/outputs, and ATen's ops of the inlined graph.
# Ours has max_pool2d, a Python function of PyTorch's, as ATen's op, and does not cast values that
# are not None.
_POOL = (
    "prim::ListConstruct/0/1 prim::ListConstruct/2/1 prim::ListConstruct/2/1 aten::max_pool2d/6/1"
)
NODES = {
    "Layers": (
        "prim::GetAttr/1/1 prim::CallMethod/2/1 aten::relu/1/1 prim::ListConstruct/2/1 "
        f"{_POOL} prim::GetAttr/1/1 "
        "prim::ListConstruct/2/1 aten::mean/4/1 prim::CallMethod/2/1",
        "conv2d relu max_pool2d mean linear",
    ),
    "Loops": (
        "prim::Loop/3/1 aten::add/3/1 aten::lt/2/1 prim::Loop/3/1 aten::add/2/1 aten::lt/2/1 "
        "aten::mul/2/1",
        "lt mul",
    ),
    "Branches": ("prim::If/1/1 aten::exp/1/1 aten::sub/3/1 aten::sigmoid/1/1", "sigmoid"),
    "Lists": (
        "prim::ListConstruct/0/1 aten::len/1/1 prim::Loop/2/0 aten::__getitem__/2/1 aten::tanh/1/1 "
        "aten::append/2/1",
        "len",
    ),
    "Parts": (
        "aten::select/3/1 aten::slice/5/1 aten::unsqueeze/2/1 aten::size/1/1 "
        "aten::__getitem__/2/1 prim::DictConstruct/2/1 prim::TupleConstruct/3/1",
        "select slice unsqueeze size __getitem__",
    ),
    "Children": (
        "prim::GetAttr/1/1 prim::GetAttr/1/1 prim::CallMethod/2/1 prim::CallMethod/3/1",
        "linear relu linear sigmoid",
    ),
    "Options": (
        "aten::__isnot__/2/1 prim::If/1/1 aten::add/3/1 aten::softmax/3/1 prim::ListConstruct/1/1 "
        "aten::sum/4/1 prim::TupleConstruct/2/1",
        "__isnot__ softmax sum",
    ),
    "Numbers": (
        "aten::gt/2/1 prim::If/1/0 prim::RaiseException/2/0 aten::floordiv/2/1 aten::len/1/1 "
        "aten::add/2/1 aten::neg/1/1 aten::mul/2/1 prim::TupleConstruct/2/1",
        "gt floordiv len add neg mul",
    ),
}
TYPES = {
    "Layers": ("x.1: Tensor", "Tensor"),
    "Loops": ("x.1: Tensor, n.1: int", "Tensor"),
    "Branches": ("x.1: Tensor, flag.1: bool", "Tensor"),
    "Lists": ("xs.1: List[Tensor]", "List[Tensor]"),
    "Parts": ("x.1: Tensor", "Tuple[Tensor, Tensor, Dict[str, int]]"),
    "Children": ("x.1: Tensor", "Tensor"),
    "Options": ("x.1: Tensor, y.1: Optional[Tensor]", "Tuple[Tensor, Tensor]"),
    "Numbers": ("a.1: int, b.1: float, names.1: Dict[str, int]", "Tuple[int, float]"),
}


def nodes_of(block):
    """The nodes of a block, and of the blocks inside, in order."""
    for node in block.nodes():
        if node.kind() != "prim::Constant":
            yield f"{node.kind()}/{node.inputsSize()}/{node.outputsSize()}"
        for inner in node.blocks():
            yield from nodes_of(inner)


@pytest.mark.parametrize("name", NODES)
def test_nodes_are_pytorchs(name):
    module = jit.script(MODULES[name]())
    nodes, ops = NODES[name]
    assert list(nodes_of(module.graph)) == nodes.split()
    inlined = [n.kind() for n in module.inlined_graph.nodes() if n.kind().startswith("aten::")]
    assert inlined == [f"aten::{op}" for op in ops.split()]
    own, *inputs = module.graph.inputs()
    (output,) = module.graph.outputs()
    assert own.debugName() == "self"
    typed = ", ".join(f"{v.debugName()}: {v.type()}" for v in inputs)
    assert (typed, str(output.type())) == TYPES[name]


def test_nodes_and_values():
    graph = jit.script(MODULES["Layers"]()).graph
    get = graph.findNode("prim::GetAttr")
    assert get.attributeNames() == ["name"] and get.s("name") == "conv"
    assert get.kindOf("name") == "s"
    assert get.schema() == "(no schema)" and get.hasAttribute("name") and not get.hasAttribute("x")
    mean = graph.findNode("aten::mean")
    assert mean.schema().startswith("aten::mean.dim(Tensor self, int[1]? dim")
    values = [value.toIValue() for value in mean.inputs()]
    assert values == [None, None, False, None]
    dims = mean.inputsAt(1).node()
    assert [value.node().i("value") for value in dims.inputs()] == [2, 3]
    assert mean.output().uses()[0].user.s("name") == "forward"
    assert mean.output().uses()[0].offset == 1 and mean.output().node() is mean
    assert mean.sourceRange() and [n.kind() for n in graph.findAllNodes("aten::relu")] == [
        "aten::relu"
    ]
    assert graph.findNode("aten::exp") is None
    with pytest.raises(RuntimeError, match="4 inputs"):
        mean.input()
    with pytest.raises(RuntimeError, match="no attribute 'value'"):
        mean.i("value")
    with pytest.raises(RuntimeError, match="is 'conv'"):
        get.f("name")


def test_nodes_in_blocks_are_found():
    graph = jit.script(MODULES["Branches"]()).graph
    assert graph.findNode("aten::exp") and graph.findNode("aten::exp", False) is None
    branch = graph.findNode("prim::If")
    assert branch.findNode("aten::sub").kind() == "aten::sub"
    yes, no = branch.blocks()
    assert [len(list(b.outputs())) for b in (yes, no)] == [1, 1]
    assert branch.output().debugName().startswith("y.")


def test_copies_are_apart_and_names_unique():
    graph = jit.script(MODULES["Loops"]()).graph
    other = graph.copy()
    assert str(other) == str(graph)
    next(other.nodes()).output().setDebugName("mine")
    assert "%mine" in str(other) and "%mine" not in str(graph)
    names = [v.debugName() for n in graph.nodes() for v in n.outputs()]
    assert len(names) == len(set(names))


def test_text():
    class Small(nn.Module):
        def forward(self, x: rushlight.Tensor):
            y = x + 1
            return y.relu()

    text = str(jit.script(Small()).graph)
    assert text.partition("\n")[2] == (
        "      %x.1 : Tensor):\n"
        "  %3 : int = prim::Constant[value=1]()\n"
        "  %y.1 : Tensor = aten::add(%x.1, %3, %3)\n"
        "  %5 : Tensor = aten::relu(%y.1)\n"
        "  return (%5)\n"
    )


def test_source_with_its_constants():
    class Shifted(nn.Module):
        def forward(self, x):
            return x + rushlight.tensor([1.0, 2.0])

    traced = jit.trace(Shifted(), rushlight.ones(2))
    code, constants = traced.code_with_constants
    assert code == traced.code and "CONSTANTS.c0" in code
    rushlight.testing.assert_close(constants.c0, rushlight.tensor([1.0, 2.0]))
    assert not hasattr(constants, "c1")


def test_layers_of_traced_modules_are_counted():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    traced = jit.trace(layers, rushlight.ones(1, 1, 8, 8))
    ops = [n for n in traced.inlined_graph.nodes() if n.kind().startswith("aten::")]
    assert [n.kind() for n in ops] == ["aten::conv2d", "aten::relu", "aten::adaptive_avg_pool2d"]
    stride = ops[0].inputsAt(3).node()
    assert stride.kind() == "prim::ListConstruct"
    assert [v.toIValue() for v in stride.inputs()] == [2, 2]
