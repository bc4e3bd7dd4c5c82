"""torchrl: an environment, a policy, a collector, PPO's and DQN's losses, a buffer of replay."""

import torch
from common import report
from tensordict import TensorDict
from tensordict.nn import NormalParamExtractor, TensorDictModule
from torchrl.data import Bounded, Composite, LazyTensorStorage, TensorDictReplayBuffer, Unbounded
from torchrl.envs import Compose, EnvBase, RewardSum, StepCounter, TransformedEnv
from torchrl.modules import ProbabilisticActor, QValueActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss, DQNLoss, SoftUpdate
from torchrl.objectives.value import GAE


class Point(EnvBase):
    """A point that is pushed towards zero."""

    def __init__(self):
        super().__init__(batch_size=[])
        self.observation_spec = Composite(observation=Unbounded(2))
        self.action_spec = Bounded(-1.0, 1.0, (1,))
        self.reward_spec = Unbounded(1)

    def _set_seed(self, seed):
        torch.manual_seed(seed)

    def _reset(self, tensordict=None):
        done = torch.zeros(1, dtype=torch.bool)
        state = torch.tensor([1.0, 0.0])
        return TensorDict({"observation": state, "done": done, "terminated": done.clone()}, [])

    def _step(self, tensordict):
        place, speed = tensordict["observation"]
        speed = speed + 0.1 * tensordict["action"][0]
        state = torch.stack([place + 0.1 * speed, speed])
        done = (state[:1].abs() > 2).bool()
        return TensorDict(
            {"observation": state, "reward": -state[:1].square(), "done": done,
             "terminated": done.clone()}, [],
        )  # fmt: skip


def network(inputs, outputs):
    """A small network."""
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, 8), torch.nn.Tanh(), torch.nn.Linear(8, outputs)
    )


def main():
    torch.manual_seed(0)
    env = TransformedEnv(Point(), Compose(StepCounter(max_steps=12), RewardSum()))
    body = torch.nn.Sequential(network(2, 2), NormalParamExtractor())
    actor = ProbabilisticActor(
        TensorDictModule(body, ["observation"], ["loc", "scale"]), in_keys=["loc", "scale"],
        distribution_class=TanhNormal, return_log_prob=True,
    )  # fmt: skip
    critic = ValueOperator(network(2, 1), in_keys=["observation"])
    found = {}
    data = env.rollout(10, actor)
    found["rollout"] = [data["observation"], data["action"], data["next", "episode_reward"]]
    data = data.detach()
    loss = ClipPPOLoss(actor, critic, entropy_bonus=False)
    GAE(gamma=0.99, lmbda=0.95, value_network=critic, shifted=True)(data)
    found["advantage"] = data["advantage"]
    optimizer, losses = torch.optim.Adam(loss.parameters(), lr=1e-2), []
    for _ in range(3):
        optimizer.zero_grad()
        out = loss(data)
        total = out["loss_objective"] + out["loss_critic"]
        total.backward()
        optimizer.step()
        losses.append(float(total.detach()))
    found["ppo"] = losses
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(50), batch_size=6)
    buffer.extend(data.select("observation", ("next", "observation"), ("next", "reward"),
                              ("next", "done"), ("next", "terminated")))  # fmt: skip
    found["buffer"] = [len(buffer), list(buffer.sample()["observation"].shape)]
    values = QValueActor(network(2, 3), in_keys=["observation"], action_space="categorical")
    q_loss = DQNLoss(values, action_space="categorical", delay_value=True)
    target = SoftUpdate(q_loss, tau=0.1)
    batch = data.select("observation", "next").clone()
    batch["action"] = torch.arange(10) % 3
    optimizer, losses = torch.optim.Adam(q_loss.parameters(), lr=1e-2), []
    for _ in range(3):
        optimizer.zero_grad()
        value = q_loss(batch)["loss"]
        value.backward()
        optimizer.step()
        target.step()
        losses.append(float(value.detach()))
    found["dqn"] = losses
    report(**found)


main()
