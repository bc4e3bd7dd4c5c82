"""Nodes of captured programs know the strides that their values will have."""

import pytest

import rushlight
from rushlight import nn
from rushlight.fx import Interpreter
from rushlight.fx.experimental.proxy_tensor import make_fx


class _Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.head = nn.Conv2d(4, 4, 3, padding=1), nn.Linear(4, 2)

    def forward(self, x):
        y = nn.functional.max_pool2d(self.norm(self.first(x)).relu(), 2)
        y = y + self.second(y)
        y = rushlight.cat([y, y], 1)[:, ::2]
        return self.head(nn.functional.adaptive_avg_pool2d(y, 1).flatten(1))


class _Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.split, self.join = nn.Linear(8, 24), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        parts = self.split(self.norm(x)).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
        out = nn.functional.scaled_dot_product_attention(*parts.unbind(0))
        weights = (parts[0] @ parts[1].transpose(-1, -2)).softmax(-1)
        return x + self.join(out.transpose(1, 2).reshape(x.shape)), weights


def _cnn():
    model = _Cnn().eval().to(memory_format=rushlight.channels_last)
    return model, rushlight.randn(2, 3, 8, 8).contiguous(memory_format=rushlight.channels_last)


def _attention():
    return _Attention().eval(), rushlight.randn(5, 2, 8).transpose(0, 1)


CASES = {"cnn": _cnn, "attention": _attention}


class _Strides(Interpreter):
    """Runs a graph, and notes of which nodes the strides are others than were foretold."""

    def __init__(self, module):
        super().__init__(module)
        self.wrong, self.compared = [], 0

    def run_node(self, n):
        found = super().run_node(n)
        if n.op != "output" and isinstance(found, rushlight.Tensor):
            self.compared += 1
            self._compare(n, found)
        return found

    def _compare(self, node, found):
        value, known = node.meta["val"], node.meta["tensor_meta"]
        long = [d for d, n in enumerate(found.shape) if n > 1]
        told = [(value.stride(d), known.stride[d]) for d in long], value.storage_offset()
        expected = [(found.stride(d),) * 2 for d in long], found.storage_offset()
        if told != expected or value.shape != found.shape:
            self.wrong.append((node.name, told, expected))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["export", "make_fx", "make_fx of shapes", "decomposed"])
def test_strides_are_those_of_the_values(name, way):
    model, x = CASES[name]()
    if way.startswith("make_fx"):
        mode = "real" if way == "make_fx" else "symbolic"
        module = make_fx(model, tracing_mode=mode)(x)
        run = _Strides(module)
        run.run(x)
    else:
        program = rushlight.export.export(model, (x,))
        program = program.run_decompositions() if way == "decomposed" else program
        run = _Strides(program.graph_module)
        state = {**program.state_dict, **program.constants}
        inputs = program.graph_signature.inputs_to_parameters
        inputs = {**inputs, **program.graph_signature.inputs_to_buffers}
        names = [n.name for n in program.graph.nodes if n.op == "placeholder"]
        run.run(*[state[inputs[n]] if n in inputs else x for n in names])
    assert not run.wrong
    assert run.compared > 10


def test_a_program_asks_whether_its_tensors_are_contiguous():
    def model(x):
        return x.relu() * (2 if x.t().is_contiguous() else 3)

    class _Model(nn.Module):
        forward = staticmethod(model)

    for x in (rushlight.ones(3, 4), rushlight.ones(4, 3).t()):
        program = rushlight.export.export(_Model(), (x,))
        assert program.module()(x).tolist() == model(x).tolist()
        assert make_fx(model, tracing_mode="symbolic")(x)(x).tolist() == model(x).tolist()


@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_windows_on_a_storage(mode):
    def windows(x):
        return x.as_strided((2, 2), (1, 2)) + x.t().as_strided((2, 2), (3, 1), 1)

    x = rushlight.arange(12.0).reshape(3, 4)
    module = make_fx(windows, tracing_mode=mode)(x)
    (first, second) = module.graph.find_nodes(
        op="call_function", target=rushlight.ops.aten.as_strided.default
    )
    assert (first.args[1:], second.args[1:]) == (([2, 2], [1, 2]), ([2, 2], [3, 1], 1))
    assert module(x + 1).tolist() == windows(x + 1).tolist()
