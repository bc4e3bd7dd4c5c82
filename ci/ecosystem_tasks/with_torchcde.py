"""torchcde: splines through irregular series, a neural controlled equation, their derivatives."""

import torch
import torchcde
from common import reloaded, report, train


class Field(torch.nn.Module):
    """The field of a controlled equation."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 12), torch.nn.Tanh())

    def forward(self, t, z):
        return self.net(z).view(*z.shape[:-1], 4, 3)


class Classifier(torch.nn.Module):
    """A neural controlled equation with a linear layer before and after it."""

    def __init__(self):
        super().__init__()
        self.first, self.field, self.last = (
            torch.nn.Linear(3, 4),
            Field(),
            torch.nn.Linear(4, 1),
        )

    def forward(self, coefficients):
        path = torchcde.CubicSpline(coefficients)
        start = self.first(path.evaluate(path.interval[0]))
        ends = torchcde.cdeint(X=path, z0=start, func=self.field, t=path.interval, method="rk4")
        return self.last(ends[:, 1]).squeeze(-1)


def main():
    torch.manual_seed(0)
    x = torch.randn(6, 8, 3)
    x[1, 2:4, 1] = float("nan")
    x[3, 5, 2] = float("nan")
    found = {
        "linear": torchcde.linear_interpolation_coeffs(x),
        "rectilinear": torchcde.linear_interpolation_coeffs(x, rectilinear=0),
        "hermite": torchcde.hermite_cubic_coefficients_with_backward_differences(x),
    }
    natural = torchcde.natural_cubic_coeffs(x)
    found["natural"] = natural
    found["derivative"] = torchcde.CubicSpline(natural).derivative(torch.tensor(2.3))
    model, labels = Classifier(), torch.randint(0, 2, (6,)).float()
    found["losses"] = train(
        model,
        natural,
        lambda m, b: torch.nn.functional.binary_cross_entropy_with_logits(m(b), labels),
        rate=1e-2,
    )
    found["again"] = reloaded(model, Classifier)(natural)
    report(**found)


main()
