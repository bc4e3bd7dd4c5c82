"""Learn the vector field of a spiral by integrating it with Runge-Kutta steps."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)
torch.manual_seed(41)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def rk4(f, y, t0, t1):
    h = t1 - t0
    k1 = f(t0, y)
    k2 = f(t0 + h / 2, y + h * k1 / 2)
    k3 = f(t0 + h / 2, y + h * k2 / 2)
    k4 = f(t1, y + h * k3)
    return y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(f, y0, t):
    ys = [y0]
    for a, b in zip(t[:-1], t[1:]):
        ys.append(rk4(f, ys[-1], a, b))
    return torch.stack(ys)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


t = torch.linspace(0.0, 1.0, 6)
starts = 2 * torch.rand(96, 2) - 1
with torch.no_grad():
    truth = odeint(lambda t, y: (y**3) @ true_A, starts, t)
loader = DataLoader(TensorDataset(starts, truth.transpose(0, 1)), batch_size=16, shuffle=True)
func = ODEFunc()
optimizer = torch.optim.Rprop(func.parameters(), lr=1e-3)
step = 0
for epoch in range(5):
    for y0, y in loader:
        loss = torch.mean(torch.abs(odeint(func, y0, t).permute(1, 0, 2) - y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.10f}")
        step += 1
print(f"quality loss {loss.item():.4f}")
