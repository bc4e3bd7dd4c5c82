"""Actor-critic on a small corridor: Categorical actions, saved log-probabilities, smooth L1."""

from collections import namedtuple
from itertools import count

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
eps = torch.finfo(torch.float32).eps


class Corridor:
    """Walk to the right end; each step costs."""

    def reset(self):
        self.at, self.t = 2, 0
        return self.observe()

    def observe(self):
        return [float(self.at == i) for i in range(6)]

    def step(self, action):
        self.at = max(0, min(5, self.at + (1 if action == 1 else -1)))
        self.t += 1
        done = self.at == 5 or self.t == 20
        return self.observe(), 5.0 if self.at == 5 else -0.2, done, {}


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(6, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


torch.manual_seed(543)
env = Corridor()
model = Policy()
optimizer = optim.Adam(model.parameters(), lr=1e-2)


def select_action(state):
    probs, state_value = model(torch.tensor(state).float())
    m = Categorical(probs)
    action = m.sample()
    model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
    return action.item()


def finish_episode():
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.97 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    scaled = (returns - returns.mean()) / (returns.std() + eps) if len(returns) > 1 else returns
    for (log_prob, value), R in zip(model.saved_actions, scaled):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]
    return loss.item()


lengths, first_loss = [], None
for i_episode in count(1):
    state = env.reset()
    for t in range(1, 100):
        state, reward, done, _ = env.step(select_action(state))
        model.rewards.append(reward)
        if done:
            break
    loss = finish_episode()
    first_loss = loss if first_loss is None else first_loss
    lengths.append(t)
    if i_episode >= 80:
        break
entropy = Categorical(logits=torch.tensor([[0.1, 0.2], [1.0, -1.0]])).entropy()
print("first = %.6g" % (sum(lengths[:10]) / 10))
print("last = %.6g" % (sum(lengths[-10:]) / 10))
print("loss = %.6g" % first_loss)
print("entropy = %.6g" % entropy.sum().item())
