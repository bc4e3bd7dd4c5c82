"""Sharpness-aware minimisation over a base optimizer, and a warm-up written as a scheduler."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import _LRScheduler


class SAM(Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        assert rho >= 0.0, f"Invalid rho, should be non-negative: {rho}"
        defaults = dict(rho=rho, adaptive=adaptive, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                e_w = (torch.pow(p, 2) if group["adaptive"] else 1.0) * p.grad * scale.to(p)
                p.add_(e_w)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        assert closure is not None, "SAM needs a closure"
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        closure()
        self.second_step()

    def _grad_norm(self):
        return torch.norm(
            torch.stack(
                [
                    ((torch.abs(p) if group["adaptive"] else 1.0) * p.grad).norm(p=2)
                    for group in self.param_groups
                    for p in group["params"]
                    if p.grad is not None
                ]
            ),
            p=2,
        )

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self.base_optimizer.param_groups = self.param_groups


class WarmUp(_LRScheduler):
    def __init__(self, optimizer, total_iters, last_epoch=-1):
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        done = min(1.0, (self.last_epoch + 1) / self.total_iters)
        return [base * done for base in self.base_lrs]


torch.manual_seed(71)
angle = torch.rand(360) * 6.2831853
label = torch.arange(360) % 2
points = torch.stack([angle.cos(), angle.sin()], 1) * (1 + label.unsqueeze(1))
points = points + 0.2 * torch.randn(360, 2)
wrong = label[:240].clone()
wrong[torch.randperm(240)[:24]] ^= 1
model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, adaptive=True, lr=0.1, momentum=0.9)
scheduler = WarmUp(optimizer.base_optimizer, 10)
step = 0
for epoch in range(8):
    for idx in torch.randperm(240).chunk(4):
        x, y = points[idx], wrong[idx].float()

        def closure():
            value = F.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
            value.backward()
            return value

        loss = closure()
        optimizer.step(closure)
        optimizer.zero_grad()
        scheduler.step()
        print(f"loss {step} {loss.item():.8f}")
        step += 1
print(optimizer.__class__.__name__, sorted(optimizer.state_dict()["param_groups"][0])[:3])
accuracy = ((model(points[240:]).squeeze(1) > 0).long() == label[240:]).float().mean().item()
print(f"quality accuracy {accuracy:.2f} lr {scheduler.get_last_lr()[0]}")
