"""TorchScript, export and compile."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import Tensor, nn


@torch.jit.script
def clipped(x: Tensor, limit: float) -> Tensor:
    return x.clamp(-limit, limit)


class Gate(nn.Module):
    """A gate."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return -x

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.forward(self.forward(x))


scripted = torch.jit.script(Gate())
reveal_type(scripted)  # note: "RecursiveScriptModule"
traced = torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))
reveal_type(traced)  # note: "Any"
torch.jit.save(scripted, "gate.pt")
loaded = torch.jit.load("gate.pt", map_location="cpu")
reveal_type(loaded)  # note: "ScriptModule"
program = torch.export.export(nn.Linear(2, 2), (torch.ones(1, 2),))
reveal_type(program)  # note: "ExportedProgram"
reveal_type(program.module())  # note: "GraphModule"
reveal_type(program.graph)  # note: "Graph"
compiled = torch.compile(nn.Linear(2, 2))
reveal_type(compiled)  # note: "Linear"


@torch.compile
def doubled(x: Tensor) -> Tensor:
    return x * 2


@torch.compile(fullgraph=True, dynamic=False)
def halved(x: Tensor) -> Tensor:
    return x / 2


reveal_type(doubled)  # note: "def (x: Tensor) -> Tensor"
reveal_type(halved)  # note: "def (x: Tensor) -> Tensor"
graph = torch.fx.symbolic_trace(nn.Linear(2, 2))
reveal_type(graph)  # note: "GraphModule"
for node in graph.graph.nodes:
    print(node.op, node.target)
