"""tianshou: PPO, DQN and SAC on small worlds, their collectors and buffers, saved and loaded."""

import gymnasium as gym
import numpy as np
import torch
from common import reloaded, report
from tianshou.algorithm import DQN, PPO, SAC
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.modelfree.reinforce import ProbabilisticActorPolicy
from tianshou.algorithm.modelfree.sac import SACPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, ReplayBuffer, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams, OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.continuous import ContinuousActorProbabilistic, ContinuousCritic
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic


class Line(gym.Env):
    """A point between -1 and 1 that should come to the middle, by two actions or by a push."""

    observation_space = gym.spaces.Box(-2, 2, (2,), np.float32)

    def __init__(self, pushes=False):
        self.action_space = gym.spaces.Box(-1, 1, (1,)) if pushes else gym.spaces.Discrete(2)
        self.pushes, self.count = pushes, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count += 1
        self.place, self.steps = 1 - 0.3 * (self.count % 7), 0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.place, self.steps / 10], np.float32)

    def step(self, action):
        push = float(np.asarray(action).reshape(-1)[0]) if self.pushes else 2 * int(action) - 1
        self.place, self.steps = float(np.clip(self.place + 0.3 * push, -1.5, 1.5)), self.steps + 1
        return self._seen(), 1 - abs(self.place), False, self.steps >= 10, {}


def worlds(pushes=False, count=2):
    return DummyVectorEnv([lambda: Line(pushes) for _ in range(count)])


def seeded():
    torch.manual_seed(0)
    np.random.seed(0)


def trained(algorithm, params, pushes, size=400):
    """What a short training gives: losses, weights, and what the policy does then."""
    space = Line(pushes).action_space
    space.seed(0)
    buffer = VectorReplayBuffer(size, 2)
    collector = Collector(algorithm, worlds(pushes), buffer)
    collector.reset()
    result = algorithm.run_training(params(
        max_epochs=2, epoch_num_steps=80, training_collector=collector, batch_size=16,
        collection_step_num_env_steps=40, test_collector=None, verbose=False, show_progress=False,
    ))  # fmt: skip
    seen = np.array([[0.9, 0.1], [-0.4, 0.2]], np.float32)
    out = algorithm.policy(Batch(obs=seen, info={}))
    kept, _ = buffer.sample(0)
    return {
        "steps": [result.update_step, result.train_step],
        "weights": [p.norm() for p in algorithm.policy.parameters()],
        "out": out.logits, "rewards": torch.as_tensor(kept.rew),
        "actions": torch.as_tensor(kept.act).double(),
    }  # fmt: skip


def ppo():
    seeded()
    net = Net(state_shape=(2,), hidden_sizes=[16])
    actor = DiscreteActor(preprocess_net=net, action_shape=(2,))
    critic = DiscreteCritic(preprocess_net=net)
    policy = ProbabilisticActorPolicy(
        actor=actor, dist_fn=torch.distributions.Categorical, action_scaling=False,
        action_space=Line().action_space,
    )  # fmt: skip
    return PPO(
        policy=policy, critic=critic, optim=AdamOptimizerFactory(lr=3e-3), dual_clip=2.0,
        value_clip=True, max_grad_norm=0.5, return_scaling=True,
    )  # fmt: skip


def dqn():
    seeded()
    net = Net(state_shape=(2,), action_shape=2, hidden_sizes=[16], dueling_param=({}, {}))
    policy = DiscreteQLearningPolicy(model=net, action_space=Line().action_space, eps_training=0.2)
    return DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=3e-3), n_step_return_horizon=3,
        target_update_freq=10, huber_loss_delta=1.0,
    )  # fmt: skip


def sac():
    seeded()
    options = {"state_shape": (2,), "hidden_sizes": [16]}
    actor = ContinuousActorProbabilistic(
        preprocess_net=Net(**options), action_shape=(1,), unbounded=True, conditioned_sigma=True
    )
    critics = [
        ContinuousCritic(preprocess_net=Net(action_shape=(1,), concat=True, **options))
        for _ in range(2)
    ]
    policy = SACPolicy(actor=actor, action_space=Line(True).action_space)
    rate = AdamOptimizerFactory(lr=3e-3)
    return SAC(
        policy=policy, policy_optim=rate, critic=critics[0], critic_optim=rate,
        critic2=critics[1], critic2_optim=rate, alpha=0.1,
    )  # fmt: skip


def main():
    found = {}
    found["ppo"] = trained(ppo(), OnPolicyTrainerParams, False)
    algorithm = dqn()
    found["dqn"] = trained(algorithm, OffPolicyTrainerParams, False)
    again = reloaded(algorithm, dqn)
    seen = Batch(obs=np.array([[0.5, 0.0]], np.float32), info={})
    found["kept"] = [again.policy(seen).logits, algorithm.policy(seen).logits]
    found["sac"] = trained(sac(), OffPolicyTrainerParams, True)
    buffer = ReplayBuffer(size=4)
    for i in range(6):
        buffer.add(Batch(obs=torch.full((2,), float(i)), act=i, rew=i / 2, terminated=i == 3,
                         truncated=False, obs_next=torch.full((2,), i + 1.0), info={}))  # fmt: skip
    found["buffer"] = [buffer.rew.tolist(), buffer.prev(np.arange(4)).tolist()]
    batch = Batch(a=torch.arange(4.0), b=Batch(c=np.arange(4)))
    joined = Batch.stack([batch, batch * 2])
    found["batch"] = [joined.a, batch[1:3].to_torch(dtype=torch.float32).b.c, list(joined.shape)]
    report(**found)


main()
