"""spikingjelly: neurons that spike, over steps one by one and all at once, trained and reset."""

import torch
from common import report
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate
from torch import nn


def network(kind, **options):
    torch.manual_seed(0)
    return nn.Sequential(
        layer.Conv2d(1, 4, 3, padding=1), layer.BatchNorm2d(4), kind(**options),
        layer.MaxPool2d(2), layer.Flatten(), layer.Linear(64, 10, bias=False), kind(**options),
    )  # fmt: skip


def trained(net, pictures, targets):
    """The losses of three steps over four time steps."""
    optimizer, found = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), []
    for _ in range(3):
        optimizer.zero_grad()
        rate = net(pictures.unsqueeze(0).repeat(4, 1, 1, 1, 1)).mean(0)
        loss = nn.functional.mse_loss(rate, targets)
        loss.backward()
        optimizer.step()
        functional.reset_net(net)
        found.append(float(loss))
    return [found, rate]


def main():
    torch.manual_seed(1)
    pictures, targets = torch.rand(6, 1, 8, 8), nn.functional.one_hot(torch.arange(6), 10).float()
    found = {}
    for kind in (neuron.IFNode, neuron.LIFNode, neuron.ParametricLIFNode):
        net = network(kind, surrogate_function=surrogate.ATan(), v_threshold=0.3)
        functional.set_step_mode(net, "m")
        found[kind.__name__] = trained(net, pictures, targets)
    net = network(neuron.LIFNode, surrogate_function=surrogate.Sigmoid(), v_threshold=0.2).eval()
    with torch.no_grad():
        found["step by step"] = sum(net(pictures) for _ in range(4))
        functional.reset_net(net)
        functional.set_step_mode(net, "m")
        found["at once"] = net(pictures.expand(4, 6, 1, 8, 8)).sum(0)
    torch.manual_seed(2)
    found["encoded"] = encoding.PoissonEncoder()(pictures)
    report(**found)


if __name__ == "__main__":
    main()
