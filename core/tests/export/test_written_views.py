"""Writes to views become values, whatever the view: detached tensors, one of several parts,
diagonals, complex numbers as pairs."""

import io

import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight.export.verifier import writes
from rushlight.func import functionalize
from rushlight.fx.experimental.proxy_tensor import make_fx

WRITES = {
    "detached": lambda z, b: z.detach().add_(1),
    "detached part": lambda z, b: z[0].detach().mul_(3),
    "part of detached": lambda z, b: z.detach()[:, 1:].mul_(3),
    "detached twice": lambda z, b: z.detach().detach().add_(2),
    "detached before": lambda z, b: (z.detach(), z.add_(1)),
    "data": lambda z, b: z.data.add_(1),
    "buffer": lambda z, b: b.detach().add_(z),
    "chunks": lambda z, b: [part.mul_(i) for i, part in enumerate(z.chunk(2))],
    "unbound": lambda z, b: (z.unbind(1)[2].add_(1), z.unbind(0)[1].mul_(2)),
    "split": lambda z, b: (z.split([1, 2], 1)[1].mul_(5), z.split(1)[1][2:].zero_()),
    "part of an unbound one": lambda z, b: z.unbind(0)[1][1:].add_(b[0, 1:]),
    "diagonal": lambda z, b: z.diagonal().fill_(4),
    "other diagonal": lambda z, b: z.t().diagonal(-1).add_(b[0, 0]),
    "diagonal of one": lambda z, b: z[:, :1].diagonal().add_(1),
    "pairs": lambda z, b: rushlight.view_as_complex(z.view(3, 2)).mul_(1j),
}


class Net(rushlight.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.write = WRITES[name]
        self.register_buffer("b", rushlight.ones(2, 3))

    def forward(self, x):
        z = x.clone()
        found = self.write(z, self.b)
        return z + 0, z, *(found if isinstance(found, tuple | list) else (found,))


@pytest.mark.parametrize("name", WRITES)
def test_programs_without_writes_do_the_same(name):
    x, net = rushlight.arange(6.0).reshape(2, 3) + 0.5, Net(name)
    program = export(net, (x,))
    decomposed = program.run_decompositions()
    assert not any(map(writes, decomposed.graph.nodes))
    found = []
    for module in (net, program.module(), decomposed.module()):
        module.b.copy_(rushlight.ones(2, 3))
        found.append([each.tolist() for _ in range(2) for each in (*module(x.clone()), module.b)])
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_an_input_that_is_written_to_by_a_detached_tensor():
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            x.detach()[0].zero_()
            return x * 2

    program = export(Writing(), (rushlight.ones(2, 3),)).run_decompositions()
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    x = rushlight.ones(2, 3)
    assert program.module()(x).tolist() == [[0.0] * 3, [2.0] * 3]
    assert x.tolist() == [[0.0] * 3, [1.0] * 3]


# Windows on the memory, and along a dimension, of a tensor of shape (3, 4).
WINDOWS = {
    "strided": lambda z: z.as_strided((2, 2), (4, 1), 1).add_(10),
    "strided without an offset": lambda z: z.as_strided((2, 3), (6, 2)).mul_(3),
    "every other one": lambda z: z.as_strided((6,), (2,), 1).fill_(7),
    "part of strided": lambda z: z.as_strided((3, 3), (4, 1))[1:, 2].zero_(),
    "strided twice": lambda z: (z.as_strided((2,), (1,)).add_(1), z.as_strided((2,), (5,)).mul_(4)),
    "unfolded": lambda z: z.unfold(1, 2, 2).add_(5),
    "unfolded rows": lambda z: z.unfold(0, 1, 1).mul_(2),
    "unfolded with a rest": lambda z: z.unfold(1, 3, 3).mul_(z[0, 0] + 2),
    "unfolded with gaps": lambda z: z.unfold(0, 1, 2).fill_(9),
    "unfolded with wide gaps": lambda z: z.unfold(1, 1, 3).copy_(z[:, 1:3, None] * 7),
    "part of unfolded": lambda z: z.unfold(1, 2, 2)[1:, :, 0].zero_(),
    "one window": lambda z: z.unfold(1, 4, 1).add_(1),
    "unfolded of strided": lambda z: z.as_strided((2, 4), (4, 1), 4).unfold(1, 2, 2).neg_(),
}


class Windowed(rushlight.nn.Module):
    def __init__(self, write):
        super().__init__()
        self.write = write

    def forward(self, x):
        z = x.clone()
        self.write(z)
        return z


def table(library=rushlight):
    return library.arange(12.0).reshape(3, 4) + 0.5


@pytest.mark.parametrize("name", WINDOWS)
def test_writes_to_windows(name):
    net, x = Windowed(WINDOWS[name]), table()
    wanted = net(x).tolist()
    assert wanted != x.tolist()
    program = export(net, (x,))
    decomposed = program.run_decompositions()
    assert not any(map(writes, decomposed.graph.nodes))
    traced = make_fx(functionalize(net))(x)
    for each in (program.module(), decomposed.module(), traced):
        assert each(x).tolist() == wanted


def test_an_input_that_is_written_to_by_a_window():
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            x.as_strided((2,), (5,)).fill_(7)
            return x * 2

    program = export(Writing(), (table(),)).run_decompositions()
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == ["x"]
    x = table()
    program.module()(x)
    assert x[0, 0] == x[1, 1] == 7
    assert x.flatten().tolist().count(7.0) == 2


@pytest.mark.parametrize("write, message", [
    (lambda z: z.unfold(1, 2, 1).add_(1), r"unfold\(\) gives elements several times"),
    (lambda z: z.unfold(1, 2, 1)[:, :1].mul_(2), r"unfold\(\) gives elements several times"),
    (lambda z: z.as_strided((2, 2), (1, 1)).zero_(), r"as_strided\(\) gives elements sev"),
    (lambda z: z.t().as_strided((2, 2), (2, 1)).zero_(), r"as_strided\(\) gives of a view"),
])  # fmt: skip
def test_windows_that_share_memory_are_refused(write, message):
    """As in PyTorch, whose error is a RuntimeError too."""
    program = export(Windowed(write), (table(),))
    with pytest.raises(RuntimeError, match=message):
        program.run_decompositions()


def test_windows_in_archives_and_elsewhere():
    buffer, x = io.BytesIO(), table()
    net = Windowed(WINDOWS["strided"])
    program = export(net, (x,)).run_decompositions()
    save(program, buffer)
    assert load(buffer).module()(x).tolist() == net(x).tolist()
    runtime = pytest.importorskip("onnxruntime")
    for name in ("strided", "every other one", "unfolded", "unfolded with a rest"):
        net, buffer = Windowed(WINDOWS[name]), io.BytesIO()
        rushlight.onnx.export(net, (x,), buffer)
        session = runtime.InferenceSession(buffer.getvalue())
        (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        assert found.tolist() == net(x).tolist(), name


NODES = {
    "detached part": "clone.default detach.default mul.Tensor select.int select_scatter.default",
    "diagonal": "clone.default diagonal.default diagonal_scatter.default fill.Scalar",
    "strided": "add.Tensor as_strided.default as_strided_scatter.default clone.default",
}


@pytest.mark.parametrize("name", NODES)
def test_the_nodes_are_pytorchs(name):
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            z = x.clone()
            WINDOWS[name](z) if name in WINDOWS else WRITES[name](z, None)
            return z

    program = export(Writing(), (rushlight.ones(3, 4),)).run_decompositions({})
    nodes = program.graph.find_nodes(op="call_function")
    assert sorted(str(n.target) for n in nodes) == [f"aten.{each}" for each in NODES[name].split()]
