"""The calls of a traced module are PyTorch's: kinds, shapes, constants and scopes."""

import pytest

import rushlight

torch = pytest.importorskip("torch")


def convolutions(module):
    nn = module.nn
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
        nn.MaxPool2d(2), nn.ConvTranspose2d(4, 6, 2, bias=False), nn.SiLU(),
        nn.Upsample(scale_factor=2), nn.Conv2d(6, 2, 3, padding="same"), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Dropout(), nn.Linear(2, 5),
    ).eval(), (module.rand(2, 3, 16, 16),)  # fmt: skip


def sequences(module):
    nn = module.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(11, 8)
            self.norm = nn.LayerNorm(8)
            self.project = nn.Linear(8, 24)
            self.conv = nn.Conv1d(8, 8, 3, groups=2)

        def forward(self, ids, scale=1.0):
            x = self.norm(self.words(ids))
            q, k, v = self.project(x).chunk(3, -1)
            weights = (q @ k.transpose(-2, -1) * scale).softmax(-1)
            mixed = module.einsum("bij,bjd->bid", weights, v)
            top, places = mixed.topk(2)
            return self.conv(mixed.transpose(1, 2)), {"top": top, "places": places}

    return Block(), (module.arange(12).reshape(2, 6) % 11,)


def weights_of_its_own(module):
    scale = module.ones(3)
    return (lambda x, y: module.cat([x * scale, y], 0).sum(1, keepdim=True)), (
        module.rand(2, 3), module.rand(4, 3),
    )  # fmt: skip


def told(graph):
    """What PyTorch's graph and ours say of each call of ATen's."""
    found = []
    for node in graph.nodes():
        if not node.kind().startswith("aten::"):
            continue
        inputs = [_value(each) for each in node.inputs()]
        outputs = [_value(each) for each in node.outputs()]
        found.append((node.kind(), inputs, outputs, node.scopeName()))
    return found


def _value(value):
    if value.isCompleteTensor():
        kind = value.type()
        return kind.kind(), list(kind.sizes()), kind.scalarType()
    if value.node().kind() == "prim::ListConstruct":
        return [_value(each) for each in value.node().inputs()]
    if value.node().kind() == "prim::Constant":
        held = value.toIValue()
        return type(held).__name__, held
    return "values"


PROGRAMS = (convolutions, sequences, weights_of_its_own)


@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_are_pytorchs(program):
    graphs = []
    for module in (torch, rushlight):
        model, inputs = program(module)
        graphs.append(module.jit._get_trace_graph(model, inputs)[0])
    wanted, found = map(told, graphs)
    assert [each[0] for each in found] == [each[0] for each in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        count = -1 if theirs[0].endswith("_norm") else None  # whether cuDNN is there
        assert ours[1][:count] == theirs[1][:count], ours[0]
        # PyTorch's list of unknown length is unpacked by another node.
        assert ours[2] == theirs[2] or theirs[0] == "aten::chunk", ours[0]
    counts = [len([v for v in graph.inputs() if v.isCompleteTensor()]) for graph in graphs]
    assert counts[1] <= counts[0]  # PyTorch lists buffers that no call reads


def scoped(module):
    """A trace whose hooks push the names of modules, as programs that count operations do."""
    model, inputs = convolutions(module)

    def push(name):
        def hook(_, args):
            module._C._get_tracing_state().push_scope(name)

        return hook

    def pop(_, args, output):
        module._C._get_tracing_state().pop_scope()

    for name, part in model.named_modules():
        part.register_forward_pre_hook(push(name))
        part.register_forward_hook(pop)
    return module.jit._get_trace_graph(model, inputs)[0]


def test_scopes_are_pytorchs():
    wanted = [(kind, scope) for kind, _, _, scope in told(scoped(torch))]
    found = [(kind, scope) for kind, _, _, scope in told(scoped(rushlight))]
    assert found == wanted
    assert found[0] == ("aten::_convolution", "/0")


def test_results_and_inputs():
    layer, x = rushlight.nn.Linear(3, 2), rushlight.rand(4, 3)
    graph, result, inputs = rushlight.jit._get_trace_graph(layer, x, return_inputs=True)
    assert type(result) is rushlight.Tensor and rushlight.equal(result, layer(x))
    assert inputs == (x,)
    assert [v.type().sizes() for v in graph.outputs()] == [[4, 2]]
    assert [v.type().sizes() for v in graph.inputs()] == [[4, 3], [2, 3], [2]]
    assert str(graph).splitlines()[-2:] == [
        "  %3 : Float(4, 2) = aten::linear(%0, %1, %2)", "  return (%3)",
    ]  # fmt: skip
    scaled = rushlight.jit._get_trace_graph(lambda x, by: x * by, (x,), {"by": x})[1]
    assert rushlight.equal(scaled, x * x)
    assert rushlight._C._get_tracing_state() is None


def test_values_know_where_they_are_read():
    def program(lib):
        def forward(self, x):
            return (self.layer(x) * 2 + self.layer(x)).relu()

        model = type("Twice", (lib.nn.Module,), {"forward": forward})()
        model.layer = lib.nn.Linear(3, 2)
        graph = lib.jit._get_trace_graph(model, lib.rand(4, 3))[0]
        users = [[use.user.kind() for use in v.uses()] for v in graph.inputs()]
        users += [
            [u.user.kind() for u in n.output().uses()] for n in graph.findAllNodes("aten::mul")
        ]
        constants = graph.findAllNodes("prim::Constant")
        copied = [node.kind() for node in graph.copy().nodes()]
        return (
            users, [node.kindOf("value") for node in constants], constants[0].t("value").item(),
            graph.findNode("aten::relu").inputsSize(), graph.findNode("aten::tanh"),
            copied == [node.kind() for node in graph.nodes()],
            [v.isCompleteTensor() for v in graph.inputs()],
        )  # fmt: skip

    assert program(rushlight) == program(torch)


def test_scripted_parts_are_refused():
    inner = rushlight.jit.script(_doubled)
    with pytest.raises(NotImplementedError, match="_doubled is scripted"):
        rushlight.jit._get_trace_graph(lambda x: inner(x) + 1, rushlight.ones(2))
    assert rushlight._C._get_tracing_state() is None


def _doubled(x):
    return x * 2


def test_scopes_of_traces_go_and_come():
    class Named(rushlight.nn.Module):
        def forward(self, x):
            state = rushlight._C._get_tracing_state()
            if state is not None:
                state.push_scope("part")
                state.pop_scope()
                with pytest.raises(RuntimeError, match="no scope was pushed"):
                    state.pop_scope()
                seen.append(state)
            return x + 1

    seen = []
    assert rushlight.jit.trace(Named(), rushlight.ones(2))(rushlight.ones(2)).tolist() == [2, 2]
    assert seen


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_functions_see_that_they_are_traced():
    pytorch = pytest.importorskip("torch")
    for home in (rushlight, pytorch):
        seen = []

        def asking(x, home=home, seen=seen):
            seen.append((home._C._is_tracing(), home.jit.is_tracing()))
            return x + 1

        asking(home.ones(1))
        home.jit.trace(asking, home.ones(1), check_trace=False)
        asking(home.ones(1))
        assert seen == [(False, False), (True, True), (False, False)]
