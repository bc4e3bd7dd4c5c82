"""The wheel of rushlight, installed alone: a version, a gradient, a step of training."""

import sys

import rushlight as rl
from rushlight import nn

expected = sys.argv[1]
if rl.__version__ != expected:
    raise SystemExit(f"version {rl.__version__}, expected {expected}")
x = rl.tensor(3.0, requires_grad=True)
y = x**2 + 2 * x + 1
y.backward()
if x.grad.item() != 8.0:
    raise SystemExit(f"gradient {x.grad.item()}, expected 8.0")
rl.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = rl.optim.SGD(model.parameters(), lr=0.1)
inputs, targets = rl.randn(16, 4), rl.zeros(16, 1)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
if not losses[-1] < losses[0]:
    raise SystemExit(f"the loss did not fall: {losses}")
