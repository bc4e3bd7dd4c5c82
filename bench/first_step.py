"""A training script of an MLP up to its first step, for bench/run.py.

python bench/first_step.py LIBRARY

Prints the system's monotonic clock, in seconds, when the step has been taken.
"""

import importlib
import sys
import time

torch = importlib.import_module(sys.argv[1])
nn = importlib.import_module(f"{sys.argv[1]}.nn")
optim = importlib.import_module(f"{sys.argv[1]}.optim")

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
)
optimizer = optim.Adam(model.parameters(), lr=1e-3)
images, labels = torch.randn(64, 784), torch.randint(0, 10, (64,))
optimizer.zero_grad()
loss = nn.functional.cross_entropy(model(images), labels)
loss.backward()
optimizer.step()
loss.item()
print(time.monotonic())
