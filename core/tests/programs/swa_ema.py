"""Averages of weights: stochastic weight averaging and an exponential average, batch norm redone."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d=20, hidden=40, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(d, hidden, bias=False)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.fc2 = nn.Linear(hidden, hidden, bias=False)
        self.bn2 = nn.BatchNorm1d(hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.leaky_relu(self.bn1(self.fc1(x)), 0.1)
        x = x + F.leaky_relu(self.bn2(self.fc2(x)), 0.1)
        return self.out(x)


@torch.inference_mode()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


torch.manual_seed(77)
centers = torch.randn(4, 20)
y = torch.randint(4, (600,))
x = centers[y] + 1.3 * torch.randn(600, 20)
noisy = torch.where(torch.rand(400) < 0.15, torch.randint(4, (400,)), y[:400])
loader = DataLoader(TensorDataset(x[:400], noisy), batch_size=40, shuffle=True)
model = Net()
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
scheduler = CosineAnnealingLR(optimizer, T_max=8)
swa_start, step = 4, 0
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2, anneal_strategy="linear")
for epoch in range(8):
    model.train()
    for bx, by in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(bx), by)
        loss.backward()
        optimizer.step()
        ema_model.update_parameters(model)
        if step < 40:
            print(f"loss {step} {loss.item():.8f}")
        step += 1
    if epoch > swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.5f}")
update_bn(loader, swa_model)
last, swa, ema = (evaluate(m, x[400:], y[400:]) for m in (model, swa_model, ema_model))
print(int(swa_model.n_averaged), int(ema_model.n_averaged), list(swa_model.state_dict())[:3])
print(f"quality last {last[0]:.2f} swa {swa[0]:.2f} ema {ema[0]:.2f} accuracy {ema[1]:.2f}")
