"""pytorch-warmup, torch-ema: learning rates that warm up beside schedules, averages of weights."""

import pytorch_warmup
import torch
from common import report
from torch_ema import ExponentialMovingAverage


def warmed(make):
    torch.manual_seed(1)
    net, x = torch.nn.Linear(4, 3), torch.randn(8, 4)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    warmup, average = make(optimizer), ExponentialMovingAverage(net.parameters(), decay=0.9)
    rates, losses = [], []
    for step in range(12):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        average.update()
        rates.append(optimizer.param_groups[0]["lr"])
        losses.append(loss.detach())
        with warmup.dampening():
            schedule.step()
        if step == 5:
            state, former = warmup.state_dict(), warmup.last_step
            warmup.load_state_dict(state)
            assert warmup.last_step == former
    again = ExponentialMovingAverage(net.parameters(), decay=0.1)
    again.load_state_dict(average.state_dict())
    with average.average_parameters():
        averaged = net.weight.detach().clone()
    again.copy_to()
    return {"rates": rates, "losses": losses, "averaged": averaged, "again": net.weight}


def main():
    makers = {
        "linear": lambda o: pytorch_warmup.LinearWarmup(o, warmup_period=6),
        "exponential": lambda o: pytorch_warmup.ExponentialWarmup(o, warmup_period=6),
        "radam": pytorch_warmup.RAdamWarmup,
        "untuned": pytorch_warmup.UntunedLinearWarmup,
        "untuned exponential": pytorch_warmup.UntunedExponentialWarmup,
    }
    report(**{name: warmed(make) for name, make in makers.items()})


main()
