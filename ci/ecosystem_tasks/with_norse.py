"""norse: neurons that spike, with refraction and recurrence, encoders, a small network trained."""

import norse.torch as norse
import torch
from common import reloaded, report
from norse.torch.module.exp_filter import ExpFilter
from torch import nn


class Network(nn.Module):
    """A convolution, spikes, and a readout that integrates them."""

    def __init__(self):
        super().__init__()
        self.spiking = norse.SequentialState(
            nn.Conv2d(1, 4, 3), norse.LIFCell(norse.LIFParameters(v_th=torch.tensor(0.3))),
            nn.MaxPool2d(2), nn.Flatten(), norse.LILinearCell(36, 5),
        )  # fmt: skip

    def forward(self, steps):
        state, most = None, None
        for step in steps:
            out, state = self.spiking(step, state)
            most = out if most is None else torch.maximum(most, out)
        return most


def trained(net, steps, labels):
    optimizer, losses = torch.optim.Adam(net.parameters(), 1e-2), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(steps), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [losses, [p.grad for p in net.parameters()]]


def cells(found):
    """Every kind of cell over ten steps, with the gradient of its input."""
    kinds = [
        norse.LIFCell(), norse.LIFRecurrentCell(4, 6), norse.LIFRefracCell(),
        norse.LIFRefracRecurrentCell(4, 6), norse.LIFAdExCell(), norse.LIFExCell(),
        norse.LSNNCell(), norse.LSNNRecurrentCell(4, 6), norse.LICell(), norse.LIFBoxCell(),
        norse.IAFCell(), norse.IzhikevichCell(norse.tonic_spiking),
        norse.LIFMCRecurrentCell(4, 6),
    ]  # fmt: skip
    for number, cell in enumerate(kinds):
        x = (torch.rand(10, 3, 4) * 4).requires_grad_()
        state, total = None, 0
        for step in x:
            out, state = cell(step, state)
            total = total + out
        tensors = [part for part in state if isinstance(part, torch.Tensor)]
        (total.sum() + sum(part.sum() for part in tensors)).backward()
        found[f"{number} {type(cell).__name__}"] = [total, list(state)[:3], x.grad]
    whole = norse.LIFRecurrent(4, 6)
    out, state = whole(torch.rand(8, 3, 4) * 4)
    found["over time"] = [out, state.v, state.i]


def encoders(found):
    x = torch.rand(3, 4)
    found["constant"] = norse.ConstantCurrentLIFEncoder(8)(2 * x)
    found["poisson"] = norse.PoissonEncoder(8)(x)
    found["signed"] = norse.SignedPoissonEncoder(8)(x - 0.5)
    found["population"] = norse.PopulationEncoder(5)(x)
    found["latency"] = norse.SpikeLatencyLIFEncoder(8)(3 * x)
    found["filtered"] = ExpFilter(4, 4, bias=False)(torch.rand(6, 3, 4))


def main():
    torch.manual_seed(0)
    found = {}
    cells(found)
    encoders(found)
    net, steps = Network(), torch.rand(6, 5, 1, 8, 8) * 3
    found["trained"] = trained(net, steps, torch.arange(5))
    found["kept"] = reloaded(net, Network)(steps)
    threshold = torch.linspace(-1, 1, 7, requires_grad=True)
    for method in ("super", "heavi_erfc", "triangle", "tanh", "circ"):
        torch.manual_seed(3)
        spikes = norse.functional.threshold.threshold(threshold, method, 10.0)
        (grad,) = torch.autograd.grad(spikes.sum(), threshold)
        found[method] = [spikes, grad]
    report(**found)


main()
