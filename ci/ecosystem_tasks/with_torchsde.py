"""torchsde: solvers of Ito and Stratonovich equations, the adjoint method, a latent process."""

import torch
import torchsde
from common import report, train


class Process(torch.nn.Module):
    """A small process whose drift is learned."""

    noise_type = "diagonal"

    def __init__(self, sde_type):
        super().__init__()
        self.sde_type = sde_type
        self.drift = torch.nn.Sequential(
            torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
        )
        self.spread = torch.nn.Linear(3, 3)

    def f(self, t, y):
        return self.drift(y)

    def g(self, t, y):
        return torch.sigmoid(self.spread(y))

    def h(self, t, y):
        return -y


def noise(times, width=3):
    """A path of Brownian motion of its own seed."""
    return torchsde.BrownianInterval(
        times[0], times[-1], size=(4, width), entropy=7, levy_area_approximation="space-time"
    )


def main():
    torch.manual_seed(0)
    start, times, found = torch.randn(4, 3), torch.linspace(0, 1, 5), {}
    for sde_type, methods in {
        "ito": ("euler", "milstein", "srk"),
        "stratonovich": ("euler_heun", "midpoint", "heun", "reversible_heun"),
    }.items():
        sde = Process(sde_type)
        for method in methods:
            found[method] = torchsde.sdeint(
                sde, start, times, bm=noise(times), method=method, dt=0.1
            )[-1]
    sde = Process("stratonovich")
    found["adjoint"] = train(
        sde,
        start,
        lambda m, y: (
            torchsde.sdeint_adjoint(m, y, times, bm=noise(times), method="midpoint", dt=0.1)[-1]
            .square()
            .mean()
        ),
        rate=1e-2,
    )
    sde = Process("ito")
    ys, logqp = torchsde.sdeint(sde, start, times, dt=0.1, bm=noise(times, 4), logqp=True)
    found["latent"] = [ys, logqp]
    report(**found)


main()
