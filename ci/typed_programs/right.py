"""A program without mistakes: mypy --strict has nothing to say, and the types are these."""
# ruff: noqa: F821, B007 - reveal_type is mypy's

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.utils.data import DataLoader, TensorDataset

m = nn.BatchNorm1d(3)
reveal_type(m.track_running_stats)  # note: bool
reveal_type(m.parameters())  # note: typing.Iterator[rushlight.tensor.tensor.Parameter]
reveal_type(m.to("cpu"))  # note: rushlight.nn.normalization.BatchNorm1d
values, indices = torch.ones(3).max(0)
reveal_type(torch.ones(3).max(0).values)  # note: rushlight.tensor.tensor.Tensor
reveal_type(torch.ones(3).max())  # note: rushlight.tensor.tensor.Tensor
with torch.no_grad():
    y = torch.ones(2, 3).view(-1, 6).permute(1, 0).reshape([2, 3])


@torch.no_grad()
def f(x: torch.Tensor) -> torch.Tensor:
    return x


for batch in DataLoader(TensorDataset(torch.ones(2)), batch_size=1):
    pass
z = torch.where(y > 0, y, 0)
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
opt.zero_grad()
opt.step()
s = torch.optim.lr_scheduler.StepLR(opt, 3)
s.step()
torch.save({"a": 1}, "x")
w = torch.load("x")
F.interpolate(y[None], size=(2, 2), mode="bilinear")
F.conv2d(y, y, None, stride=(1, 2))
torch.manual_seed(0)
torch.randn(2, 3, generator=torch.Generator(), device="cpu")
torch.randint(0, 3, (2,))
q, r = torch.linalg.qr(y)
torch.arange(3), torch.arange(0, 3), torch.linspace(0, 1, 5)
x = torch.tensor([1.0], requires_grad=True)
x.sum().backward()
if x.grad is not None:
    print(x.grad.norm().item())
for p in m.parameters():
    p.data.zero_()
nn.Sequential(nn.Linear(2, 3), nn.ReLU())(y)
F.batch_norm(y, None, None, w, bias=y, training=True)
torch.arange(0, 1, 0.25), torch.linspace(0, 1.5, 4)
F.layer_norm(y, (2,), None, None)
