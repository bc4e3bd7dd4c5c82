"""Writes to views become values, whatever the view: detached tensors, one of several parts,
diagonals, complex numbers as pairs."""

import pytest

import rushlight
from rushlight.export import export
from rushlight.export.verifier import writes

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


def test_windows_are_refused():
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            z = x.clone()
            z.unfold(1, 2, 1).add_(1)
            return z

    with pytest.raises(NotImplementedError, match="what unfold.. gives has no form by values"):
        export(Writing(), (rushlight.ones(2, 3),)).run_decompositions()


NODES = {
    "detached part": "clone.default detach.default mul.Tensor select.int select_scatter.default",
    "diagonal": "clone.default diagonal.default diagonal_scatter.default fill.Scalar",
}


@pytest.mark.parametrize("name", NODES)
def test_the_nodes_are_pytorchs(name):
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            z = x.clone()
            WRITES[name](z, None)
            return z

    program = export(Writing(), (rushlight.ones(2, 3),)).run_decompositions({})
    nodes = program.graph.find_nodes(op="call_function")
    assert sorted(str(n.target) for n in nodes) == [f"aten.{each}" for each in NODES[name].split()]
