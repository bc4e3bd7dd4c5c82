"""Reinforcement learning: an arm of two joints learns to reach for a target.

    rushlight examples run reach_with_an_arm

The arm is simulated here, 64 at a time: torques turn two joints with inertia and friction, and a
reward tells how far the hand is from the target. The policy learns by proximal policy optimisation
(Schulman et al. 2017). The baseline is a controller that turns the joints along the gradient of the
distance, with gains searched for. A minute; leaves runs/reach_with_an_arm/paths.png.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn

OUT = Path("runs/reach_with_an_arm")
ARMS, STEPS, DT = 64, 60, 0.05


class Arms:
    """Links of length 1; angles, speeds ``[N, 2]`` and targets ``[N, 2]`` within reach."""

    def __init__(self, count: int):
        self.angle = (torch.rand(count, 2) * 2 - 1) * torch.pi
        self.speed = torch.zeros(count, 2)
        radius, turn = 0.5 + 1.3 * torch.rand(count), 2 * torch.pi * torch.rand(count)
        self.target = torch.stack([radius * turn.cos(), radius * turn.sin()], 1)

    def hand(self) -> torch.Tensor:
        first, second = self.angle[:, 0], self.angle.sum(1)
        return torch.stack([first.cos() + second.cos(), first.sin() + second.sin()], 1)

    def seen(self) -> torch.Tensor:
        """What the policy sees, ``[N, 10]``."""
        away = self.target - self.hand()
        return torch.cat([self.angle.cos(), self.angle.sin(), self.speed / 4, self.target, away], 1)

    def step(self, torque: torch.Tensor) -> torch.Tensor:
        torque = torque.clamp(-1, 1)
        self.speed = (self.speed + DT * (8 * torque - 1.0 * self.speed)).clamp(-8, 8)
        self.angle = self.angle + DT * self.speed
        away = (self.target - self.hand()).norm(dim=1)
        return -away - 0.02 * torque.square().sum(1) + (away < 0.1).float()


class Policy(nn.Module):
    """Mean torques, and the value of a state."""

    def __init__(self, width: int = 64):
        super().__init__()
        self.act, self.judge = (
            nn.Sequential(nn.Linear(10, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                          nn.Linear(width, size)) for size in (2, 1)
        )  # fmt: skip
        self.spread = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, seen):
        normal = torch.distributions.Normal(self.act(seen), self.spread.exp())
        return normal, self.judge(seen).squeeze(-1)


@torch.no_grad()
def play(policy: Policy, discount: float = 0.97, decay: float = 0.95):
    """What was seen and done, log odds, advantages and returns of one episode of all arms."""
    arms, rows = Arms(ARMS), []
    for _ in range(STEPS):
        seen = arms.seen()
        normal, value = policy(seen)
        torque = normal.sample()
        rows.append((seen, torque, normal.log_prob(torque).sum(1), value, arms.step(torque)))
    seen, torque, odds, value, reward = (torch.stack(each) for each in zip(*rows, strict=True))
    following = torch.cat([value[1:], policy(arms.seen())[1][None]])
    wrong, advantage, total = reward + discount * following - value, [], torch.zeros(ARMS)
    for each in wrong.flip(0):
        total = each + discount * decay * total
        advantage.append(total)
    gain = torch.stack(advantage[::-1])
    return [each.flatten(0, 1) for each in (seen, torque, odds, gain, gain + value)], reward.mean()


def train(policy: Policy, rounds: int, rate: float) -> None:
    optimizer = torch.optim.Adam(policy.parameters(), rate)
    for number in range(rounds):
        data, reward = play(policy)
        for _ in range(5):
            for rows in torch.randperm(ARMS * STEPS).split(640):
                seen, torque, odds, gain, wanted = (each[rows] for each in data)
                normal, value = policy(seen)
                ratio = (normal.log_prob(torque).sum(1) - odds).exp()
                gain = (gain - gain.mean()) / (gain.std() + 1e-6)
                goal = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
                loss = 0.5 * (value - wanted).square().mean() - goal
                loss = loss - 0.002 * normal.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()
        if number % 250 == 0:
            print(f"round {number:3d}   reward {reward:.2f} a step", flush=True)


@torch.no_grad()
def judged(torque_of) -> tuple[float, torch.Tensor, torch.Tensor]:
    """The mean reward of a way to act, the hands' paths, and the targets."""
    torch.manual_seed(5)
    arms, rewards, path = Arms(256), [], []
    for _ in range(STEPS):
        path.append(arms.hand())
        rewards.append(arms.step(torque_of(arms)))
    return torch.stack(rewards).mean().item(), torch.stack(path), arms.target


def controller(gain: float, brake: float):
    """The baseline: torques down the slope of the distance, less by speed."""

    def act(arms: Arms) -> torch.Tensor:
        with torch.enable_grad():
            probe = Arms(0)
            probe.angle = arms.angle.clone().requires_grad_()
            distance = (arms.target - probe.hand()).norm(dim=1).sum()
        (slope,) = torch.autograd.grad(distance, probe.angle)
        return -gain * slope - brake * arms.speed

    return act


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    policy = Policy()
    train(policy, 1500, 1e-3)
    score, path, target = judged(lambda arms: policy.act(arms.seen()))
    before = max(judged(controller(g, b))[0] for g in (0.3, 1.0, 3.0) for b in (0.1, 0.3, 1.0))
    figure, axes = plt.subplots(1, 5, figsize=(10, 2.3))
    for axis, i in zip(axes, range(5), strict=True):
        axis.plot(*path[:, i].T.numpy())
        axis.plot(*target[i].numpy(), "x", color="orange")
        axis.set(xlim=(-2.1, 2.1), ylim=(-2.1, 2.1), xticks=[], yticks=[], aspect="equal")
    figure.tight_layout()
    figure.savefig(OUT / "paths.png", dpi=120)
    print(f"reward {score:.2f} a step; controller {before:.2f}")
    assert score > 0.1 > before


if __name__ == "__main__":
    main()
