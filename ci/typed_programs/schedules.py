"""Learning rates that change."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import rushlight as torch
from rushlight import nn, optim
from rushlight.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)

model = nn.Linear(2, 2)
optimizer = optim.SGD(
    [{"params": [model.weight], "weight_decay": 0.1}, {"params": [model.bias]}],
    lr=0.1,
    momentum=0.9,
    nesterov=True,
)
schedulers: list[LRScheduler] = [
    StepLR(optimizer, step_size=3, gamma=0.5),
    LambdaLR(optimizer, lr_lambda=lambda epoch: 0.9**epoch),
    CosineAnnealingLR(optimizer, T_max=10),
    OneCycleLR(optimizer, max_lr=0.1, total_steps=10),
]
both = SequentialLR(optimizer, schedulers[:2], milestones=[5])
plateau = ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=2)
for scheduler in schedulers:
    optimizer.step()
    scheduler.step()
    reveal_type(scheduler.get_last_lr())  # note: "list[float | Tensor]"
plateau.step(0.5)
reveal_type(plateau.best)  # note: "float"
reveal_type(schedulers[0].last_epoch)  # note: "int"
reveal_type(schedulers[0].state_dict())  # note: "dict[str, Any]"
reveal_type(optimizer.state_dict())  # note: "dict[str, Any]"
reveal_type(optimizer.state)  # note: "defaultdict[Tensor, Any]"
reveal_type(optimizer.param_groups[0])  # note: "dict[str, Any]"
saved = {"optimizer": optimizer.state_dict(), "scheduler": both.state_dict()}
both.load_state_dict(saved["scheduler"])


def closure() -> float:
    optimizer.zero_grad()
    loss = model(torch.ones(2)).sum()
    loss.backward()
    return float(loss)


lbfgs = optim.LBFGS(model.parameters(), lr=1.0, line_search_fn="strong_wolfe")
lbfgs.step(closure)
reveal_type(optimizer.step(closure))  # note: "Any"
optim.Adam(model.named_parameters(), lr=1e-3, betas=(0.9, 0.95), fused=False)
averaged = optim.swa_utils.AveragedModel(model)
averaged.update_parameters(model)
reveal_type(averaged.module)  # note: "Module"


class Slow(optim.Optimizer):
    """A step against the gradient."""

    def __init__(self, params: optim.optimizer.ParamsT, lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):  # type: ignore
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(p.grad, alpha=-group["lr"])


class Halving(LRScheduler):
    """Half the rate each epoch."""

    def get_lr(self) -> list[float | torch.Tensor]:
        return [base * 0.5**self.last_epoch for base in self.base_lrs]


reveal_type(Halving(Slow(model.parameters())).base_lrs)  # note: "list[float | Tensor]"
