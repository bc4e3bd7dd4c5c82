"""ncps: liquid networks with wirings (LTC and CfC), trained on a wave, with times between steps."""

import torch
from common import reloaded, report, train
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP, FullyConnected


def fit(make, x, y):
    """Losses of a model over times of its own, its state, and what it gives once loaded."""
    torch.manual_seed(0)
    model, times = make(), torch.rand(1, 16)
    losses = train(model, x, lambda m, b: (m(b, timespans=times)[0] - y).square().mean(), rate=1e-2)
    again = reloaded(model.eval(), make).eval()
    return {"losses": losses, "state": model(x)[1], "again": again(x)[0]}


def main():
    x = torch.stack([torch.sin(torch.linspace(0, 6, 16)), torch.cos(torch.linspace(0, 6, 16))], -1)[
        None
    ]
    y = torch.sin(torch.linspace(0, 12, 16))[None, :, None]
    found = {}
    makes = {
        "ltc": lambda: LTC(2, AutoNCP(8, 1, seed=3)),
        "ltc full": lambda: LTC(2, FullyConnected(6, 1), mixed_memory=True),
        "cfc": lambda: CfC(2, AutoNCP(10, 1, seed=3)),
        "cfc units": lambda: CfC(2, 6, proj_size=1, mode="no_gate", backbone_units=8),
        "cfc pure": lambda: CfC(2, 6, proj_size=1, mode="pure", activation="gelu"),
    }
    for name, make in makes.items():
        found[name] = fit(make, x, y)
    report(**found)


main()
