"""Changes to whole exported programs: `move_to_device_pass`."""

from __future__ import annotations

from rushlight import devices
from rushlight.devices import device
from rushlight.export.exported_program import ExportedProgram
from rushlight.fx.graph_module import GraphModule
from rushlight.fx.node import map_aggregate
from rushlight.nn.parameter import Parameter
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

__all__ = ["move_to_device_pass"]


def move_to_device_pass(
    ep: ExportedProgram, location: device | str | dict[str, str]
) -> ExportedProgram:
    """Move a program to a device: its parameters, buffers, constants and example inputs, and the
    devices that its graph names.

    Args:
        ep: the program, which is changed.
        location: the device, or a dict of devices by the names of those that the program has;
            others than the dict's keys stay.

    Returns:
        `ep`.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import rushlight
        >>> from rushlight.export.passes import move_to_device_pass
        >>> program = rushlight.export.export(rushlight.nn.Linear(3, 2), (rushlight.ones(1, 3),))
        >>> move_to_device_pass(program, {"cpu": "meta"}).state_dict["weight"].device
        device(type='meta')
    """
    moves = _Moves(location)
    for table in (ep.state_dict, ep.constants):
        table.update({name: moves.tensor(value) for name, value in table.items()})
    if ep.example_inputs is not None:
        ep.example_inputs = pytree.tree_map_only(Tensor, moves.tensor, ep.example_inputs)
    for module in ep.graph_module.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                _move_node(node, moves)
            module.recompile()
    ep.validate()
    return ep


class _Moves:
    """From devices to devices; a tensor with several names stays one."""

    def __init__(self, location):
        self.names, self.everywhere = {}, None
        if isinstance(location, dict):
            self.names = {name: devices.as_device(to) for name, to in location.items()}
        else:
            self.everywhere = devices.as_device(str(location))
        self._moved: dict[int, tuple] = {}  # tensors and what they become, by identity

    def device(self, before):
        """The device instead of another."""
        return self.everywhere or self.names.get(str(before), before)

    def tensor(self, value):
        """A tensor where it goes; other values as they are."""
        if not isinstance(value, Tensor):
            return value
        if id(value) not in self._moved:
            self._moved[id(value)] = value, _at(value, self.device(value.device))
        return self._moved[id(value)][1]


def _at(tensor, where):
    if tensor.device == where or not isinstance(tensor, Parameter):
        return tensor.to(where)
    return Parameter(tensor.detach().to(where), tensor.requires_grad)


def _move_node(node, moves):
    def moved(value):
        return moves.device(value) if isinstance(value, device) else value

    node.args, node.kwargs = map_aggregate((node.args, node.kwargs), moved)
    named = node.kwargs.get("device")
    if isinstance(named, str):
        node.kwargs = {**node.kwargs, "device": moves.device(devices.as_device(named))}
    if "device" in node.meta:
        node.meta["device"] = moves.device(node.meta["device"])
