"""torchquad: integrals of several dimensions by grids and by drawn points, with gradients."""

import torch
from common import report
from torchquad import VEGAS, Boole, MonteCarlo, Simpson, Trapezoid, set_up_backend

DOMAIN = [[0.0, 1.0], [-1.0, 1.0]]


def function(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1]) * x[:, 0]


def main():
    set_up_backend("torch", data_type="float64")
    found = {}
    for kind in (Trapezoid, Simpson, Boole):
        found[kind.__name__] = kind().integrate(function, 2, 2025, DOMAIN, backend="torch")
    for kind in (MonteCarlo, VEGAS):
        found[kind.__name__] = kind().integrate(function, 2, 5000, DOMAIN, seed=3, backend="torch")
    borders = torch.tensor(DOMAIN, requires_grad=True)
    Simpson().integrate(function, 2, 2025, borders).backward()
    found["by borders"] = borders.grad
    report(**found)


if __name__ == "__main__":
    main()
