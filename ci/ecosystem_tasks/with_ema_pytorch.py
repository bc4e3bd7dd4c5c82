"""ema-pytorch: an average of a network's weights, its copies, and a post-hoc average."""

import tempfile

import torch
from common import reloaded, report
from ema_pytorch import EMA, PostHocEMA


def network():
    """A small network with buffers."""
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    )


def averaged(net):
    """An average that begins at the second step."""
    return EMA(net, beta=0.9, update_after_step=1, update_every=1, power=3 / 4)


def main():
    torch.manual_seed(0)
    net, x, found = network(), torch.randn(16, 4), {}
    average = averaged(net)
    with tempfile.TemporaryDirectory() as folder:
        history = PostHocEMA(
            net, sigma_rels=(0.05, 0.3), update_every=1, checkpoint_every_num_steps=2,
            checkpoint_folder=folder,
        )  # fmt: skip
        optimizer, decays = torch.optim.SGD(net.parameters(), lr=0.1), []
        for _ in range(6):
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
            average.update()
            history.update()
            decays.append(float(average.get_current_decay()))
        found["decays"] = decays
        found["average"] = average(x)
        found["again"] = reloaded(average, lambda: averaged(network()))(x)
        found["history"] = history.synthesize_ema_model(sigma_rel=0.15)(x)
    average.copy_params_from_ema_to_model()
    found["copied"] = dict(net.named_parameters())
    report(**found)


main()
