"""A physics-informed network: u'' + 2 d u' + w^2 u = 0, with u(0) = 1 and u'(0) = 0."""

import torch
from torch import autograd, nn

torch.manual_seed(123)
torch.set_default_dtype(torch.float64)
d, w = 1.5, 8.0


class FCN(nn.Module):
    def __init__(self, n_hidden, n_layers):
        super().__init__()
        activation = nn.Tanh
        self.fcs = nn.Sequential(nn.Linear(1, n_hidden), activation())
        self.fch = nn.Sequential(
            *[
                nn.Sequential(nn.Linear(n_hidden, n_hidden), activation())
                for _ in range(n_layers - 1)
            ]
        )
        self.fce = nn.Linear(n_hidden, 1)

    def forward(self, x):
        return self.fce(self.fch(self.fcs(x)))


def exact(t):
    w1 = (w**2 - d**2) ** 0.5
    return torch.exp(-d * t) * (torch.cos(w1 * t) + d / w1 * torch.sin(w1 * t))


pinn = FCN(24, 3)
start = torch.tensor(0.0).view(-1, 1).requires_grad_(True)
inside = torch.linspace(0, 1, 40).view(-1, 1).requires_grad_(True)
optimiser = torch.optim.LBFGS(pinn.parameters(), lr=0.5, max_iter=8, history_size=20)
losses = []


def closure():
    optimiser.zero_grad()
    u = pinn(start)
    loss1 = (torch.squeeze(u) - 1) ** 2
    dudt = autograd.grad(u, start, torch.ones_like(u), create_graph=True)[0]
    loss2 = (torch.squeeze(dudt) - 0) ** 2
    u = pinn(inside)
    dudt = autograd.grad(u, inside, torch.ones_like(u), create_graph=True)[0]
    d2udt2 = autograd.grad(dudt, inside, torch.ones_like(dudt), create_graph=True)[0]
    loss3 = torch.mean((d2udt2 + 2 * d * dudt + w**2 * u) ** 2)
    loss = loss1 + 1e-1 * loss2 + 1e-4 * loss3
    loss.backward()
    losses.append(loss.item())
    return loss


for i in range(12):
    optimiser.step(closure)
for i, loss in enumerate(losses[:40]):
    print(f"loss {i} {loss:.10f}")
with torch.no_grad():
    t = torch.linspace(0, 1, 50).view(-1, 1)
    print(f"quality error {(pinn(t) - exact(t)).abs().mean().item():.3f}")
