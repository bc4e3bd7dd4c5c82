"""torchdiffeq: solvers of fixed and of adapting steps, the adjoint method, events."""

import torch
from common import report, train
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(torch.nn.Module):
    """A small field."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y) - y


def main():
    torch.manual_seed(0)
    field, start, times = Field(), torch.randn(3, 2), torch.linspace(0, 1, 6)
    found = {
        method: odeint(field, start, times, method=method)[-1]
        for method in ("euler", "midpoint", "rk4", "dopri5", "bosh3", "explicit_adams", "fehlberg2")
    }
    found["adjoint"] = train(
        field, start, lambda m, y: odeint_adjoint(m, y, times)[-1].square().mean(), rate=1e-2
    )
    when, _ = odeint_event(
        lambda t, y: (y[1], torch.full_like(y[1], -9.8)),
        (torch.tensor([10.0]), torch.tensor([0.0])),
        torch.tensor(0.0),
        event_fn=lambda t, y: y[0].reshape(()),
        method="dopri5",
    )
    found["event"] = when
    report(**found)


main()
