"""Policy gradients on a toy world: walk along a corridor to the light before the time is up."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corridor:
    """Positions 0..10; start at 5; the light is at 10, a pit at 0."""

    def reset(self):
        self.position, self.time = 5, 0
        return self.observe()

    def observe(self):
        return torch.tensor([self.position / 10, (10 - self.position) / 10, self.time / 30])

    def step(self, action):
        self.position += 1 if action == 1 else -1
        self.time += 1
        done = self.position in (0, 10) or self.time >= 30
        reward = 1.0 if self.position == 10 else -1.0 if self.position == 0 else -0.02
        return self.observe(), reward, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(3, 32)
        self.action_head = nn.Linear(32, 2)
        self.value_head = nn.Linear(32, 1)
        self.saved, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.log_softmax(self.action_head(x), dim=-1), self.value_head(x)


def finish_episode(policy, optimizer, gamma=0.97):
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    if len(returns) > 1:
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(policy.saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, R.unsqueeze(0)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved[:]
    return loss.item()


def main():
    torch.manual_seed(543)
    env, policy = Corridor(), Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    wins = 0
    for episode in range(50):
        state, done = env.reset(), False
        while not done:
            log_probs, value = policy(state)
            action = torch.multinomial(log_probs.exp(), num_samples=1)
            policy.saved.append((log_probs.gather(0, action).squeeze(0), value))
            state, reward, done = env.step(action.item())
            policy.rewards.append(reward)
        wins += reward == 1.0
        loss = finish_episode(policy, optimizer)
        if episode < 25:
            print(f"loss {episode} {loss:.7f}")
    print("quality wins", wins)


if __name__ == "__main__":
    main()
