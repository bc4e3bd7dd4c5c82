"""Proximal policy optimisation balances a pendulum: Gaussian policy, GAE, clipped ratios."""

import math

import torch
import torch.nn as nn
from torch.distributions import Normal


class Pendulum:
    """angle 0 is up, where it starts, and from where it falls if nothing is done"""

    max_torque, dt = 4.0, 0.05

    def reset(self, angle, speed):
        self.th, self.om, self.t = angle, speed, 0
        return self.obs()

    def obs(self):
        return [math.cos(self.th), math.sin(self.th), self.om / 4]

    def step(self, torque):
        torque = max(-self.max_torque, min(self.max_torque, torque))
        angle = (self.th + math.pi) % (2 * math.pi) - math.pi
        cost = angle**2 + 0.1 * self.om**2 + 0.001 * torque**2
        self.om += (5 * math.sin(self.th) + 3 * torque) * self.dt
        self.om = max(-8.0, min(8.0, self.om))
        self.th += self.om * self.dt
        self.t += 1
        return self.obs(), -cost / 8, self.t >= 60


def layer_init(layer, std=math.sqrt(2), bias=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias)
    return layer


class ActorCritic(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(3, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, 1), std=1.0),
        )  # fmt: skip
        self.mean = nn.Sequential(
            layer_init(nn.Linear(3, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, hidden)), nn.Tanh(),
            layer_init(nn.Linear(hidden, 1), std=0.1),
        )  # fmt: skip
        self.log_std = nn.Parameter(torch.zeros(1, 1))

    def value(self, x):
        return self.critic(x).squeeze(-1)

    def act(self, x, action=None):
        mean = self.mean(x)
        dist = Normal(mean, self.log_std.expand_as(mean).exp())
        if action is None:
            action = dist.sample()
        return action, dist.log_prob(action).sum(-1), dist.entropy().sum(-1), self.value(x)


def gae(rewards, values, dones, last, gamma=0.95, lam=0.9):
    advantages, running = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        following = last if t == len(rewards) - 1 else values[t + 1]
        alive = 1.0 - dones[t]
        delta = rewards[t] + gamma * following * alive - values[t]
        running = delta + gamma * lam * alive * running
        advantages[t] = running
    return advantages, advantages + values


torch.manual_seed(14)
agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
envs = [Pendulum() for _ in range(8)]
start = torch.Generator().manual_seed(1)


def fresh(env):
    angle, speed = ((torch.rand(2, generator=start) * 2 - 1) * torch.tensor([0.5, 0.5])).tolist()
    return env.reset(angle, speed)


T, count = 60, 0
obs = torch.tensor([fresh(env) for env in envs])
returns = []
for update in range(24):
    for group in optimizer.param_groups:
        group["lr"] = 3e-3 * (1 - update / 24)
    O, A = torch.zeros(T, 8, 3), torch.zeros(T, 8, 1)
    L, R, D, V = (torch.zeros(T, 8) for _ in range(4))
    for t in range(T):
        O[t] = obs
        with torch.no_grad():
            A[t], L[t], _, V[t] = agent.act(obs)
        for k, (env, a) in enumerate(zip(envs, A[t])):
            state, R[t, k], done = env.step(2 * a.item())
            D[t, k] = float(done)
            obs[k] = torch.tensor(fresh(env) if done else state)
    with torch.no_grad():
        adv, target = gae(R, V, D, agent.value(obs))
    returns.append(R.sum(0).mean().item())
    o, a, l, adv, target = (x.flatten(0, 1) for x in (O, A, L, adv, target))
    for epoch in range(5):
        for idx in torch.randperm(len(o)).split(120):
            _, new, entropy, value = agent.act(o[idx], a[idx])
            ratio = (new - l[idx]).exp()
            A_ = adv[idx]
            A_ = (A_ - A_.mean()) / (A_.std() + 1e-8)
            policy_loss = torch.max(-A_ * ratio, -A_ * ratio.clamp(0.8, 1.2)).mean()
            value_loss = 0.5 * ((value - target[idx]) ** 2).mean()
            loss = policy_loss + 0.5 * value_loss - 0.003 * entropy.mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            if count < 24:
                print(f"loss {count} {loss.item():.7f}")
            count += 1
print("returns " + " ".join(f"{r:.1f}" for r in returns[:4]))
print(f"quality first {returns[0]:.2f} solved {returns[-1] > -1}")
