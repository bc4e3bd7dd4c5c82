"""Deep Q-learning on a grid with a trap: replay memory, target network, epsilon greedy."""

import copy
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward", "done"))
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


class Grid:
    def reset(self):
        self.at, self.t = (0, 0), 0
        return self.state()

    def state(self):
        return torch.tensor(self.at, dtype=torch.float32) / 3

    def step(self, action):
        dy, dx = MOVES[action]
        self.at = (min(3, max(0, self.at[0] + dy)), min(3, max(0, self.at[1] + dx)))
        self.t += 1
        reward = 1.0 if self.at == (3, 3) else -1.0 if self.at == (1, 1) else -0.05
        return self.state(), reward, self.at in ((3, 3), (1, 1)) or self.t > 25


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.value, self.advantage = nn.Linear(32, 1), nn.Linear(32, 4)

    def forward(self, x):
        h = self.layers(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(dim=-1, keepdim=True)


random.seed(3)
torch.manual_seed(3)
policy = DQN()
target = copy.deepcopy(policy).requires_grad_(False).eval()
optimizer = optim.AdamW(policy.parameters(), lr=2e-3, amsgrad=True)
memory, env, steps = deque(maxlen=1000), Grid(), 0
for episode in range(25):
    state, done = env.reset(), False
    while not done:
        if random.random() < max(0.1, 1 - steps / 150):
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = policy(state.unsqueeze(0)).max(1).indices.item()
        next_state, reward, done = env.step(action)
        memory.append(Transition(state, action, next_state, reward, done))
        state = next_state
        if len(memory) < 32 or steps > 150:
            continue
        batch = Transition(*zip(*random.sample(memory, 32)))
        actions = torch.tensor(batch.action).unsqueeze(1)
        q = policy(torch.stack(batch.state)).gather(1, actions).squeeze(1)
        with torch.no_grad():
            best = policy(torch.stack(batch.next_state)).argmax(1, keepdim=True)
            future = target(torch.stack(batch.next_state)).gather(1, best).squeeze(1)
        expected = torch.tensor(batch.reward) + 0.95 * future * (~torch.tensor(batch.done))
        loss = nn.SmoothL1Loss()(q, expected)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 1.0)
        optimizer.step()
        weights = policy.state_dict()
        for key, old in target.state_dict().items():
            old.copy_(old * 0.95 + weights[key] * 0.05)
        if steps < 50:
            print(f"loss {steps} {loss.item():.7f}")
        steps += 1
print(f"quality value {policy(torch.zeros(1, 2)).max().item():.3f}")
