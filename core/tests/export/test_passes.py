"""`export.passes.move_to_device_pass`."""

import warnings

import pytest

import rushlight
from rushlight.export import export
from rushlight.export.passes import move_to_device_pass
from rushlight.nn import Parameter


def model(library):
    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = library.nn.Linear(3, 3)
            self.tied = self.layer
            self.register_buffer("offset", library.ones(3))
            self.constant = library.ones(3)

        def forward(self, x):
            x = self.layer(x) + self.offset + self.constant
            return x + library.zeros(3) + library.arange(3)

    net = Net()
    net.layer.bias.requires_grad_(False)
    return net


def facts(program):
    """What a program has of devices, as text."""
    nodes = [n for n in program.graph.nodes if "device" in n.kwargs]
    tensors = [*program.state_dict.items(), *program.constants.items()]
    return (
        {name: str(value.device) for name, value in tensors},
        [(str(n.target), str(n.kwargs["device"])) for n in nodes],
        str(program.example_inputs[0][0].device),
        [bool(value.requires_grad) for value in program.state_dict.values()],
    )


@pytest.mark.parametrize("location", ["meta", {"cpu": "meta"}, {"cuda": "meta"}, "cpu", "device"])
def test_devices_are_those_of_pytorch(location):
    torch = pytest.importorskip("torch")
    import torch.export.passes as their_passes

    def moved(library, move):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = library.export.export(model(library), (library.ones(2, 3),))
        where = library.device("meta") if location == "device" else location
        assert move(program, where) is program
        return facts(program)

    ours = moved(rushlight, move_to_device_pass)
    assert ours == moved(torch, their_passes.move_to_device_pass)
    assert len(ours[1]) == 2


def test_the_program_computes_there():
    program = move_to_device_pass(export(model(rushlight), (rushlight.ones(2, 3),)), "meta")
    found = program.module()(rushlight.ones(2, 3, device="meta"))
    assert found.device.type == "meta" and found.shape == (2, 3)
    weight = program.state_dict["layer.weight"]
    assert isinstance(weight, Parameter) and program.state_dict["tied.weight"] is weight
    assert {n.meta["device"].type for n in program.graph.nodes if "device" in n.meta} == {"meta"}


def test_what_stays_is_the_same_program():
    net = model(rushlight)
    program = export(net, (rushlight.ones(2, 3),))
    before = dict(program.state_dict)
    move_to_device_pass(program, {"cuda:0": "cpu", "meta": "cpu"})
    assert all(program.state_dict[name] is value for name, value in before.items())
    x = rushlight.randn(4, 3)[:2]
    assert program.module()(x).tolist() == net(x).tolist()


def test_graphs_of_choices_move_too():
    class Choosing(rushlight.nn.Module):
        def forward(self, x):
            return rushlight.cond(x.sum() > 0, lambda x: x + rushlight.ones(3), lambda x: x, (x,))

    program = move_to_device_pass(export(Choosing(), (rushlight.ones(3),)), "meta")
    devices = [
        n.kwargs["device"].type
        for _, module in program.graph_module.named_modules()
        for n in module.graph.nodes
        if "device" in n.kwargs
    ]
    assert devices == ["meta"]


@pytest.mark.parametrize("location", ["disk", {"cpu": "disk"}, 3])
def test_devices_that_do_not_exist(location):
    program = export(model(rushlight), (rushlight.ones(2, 3),))
    with pytest.raises(RuntimeError, match="device"):
        move_to_device_pass(program, location)
    assert program.state_dict["offset"].device.type == "cpu"
