"""stable-baselines3: PPO and DQN on a small world, saved and loaded."""

import tempfile

import gymnasium
import numpy as np
import torch
from common import report
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy


class Walk(gymnasium.Env):
    """Reach the right end of a line."""

    observation_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = 3, 0
        return self._seen(), {}

    def _seen(self):
        return np.array([self.place / 10, self.steps / 20], np.float32)

    def step(self, action):
        self.place += 1 if action else -1
        self.steps += 1
        over = self.place in (0, 10)
        return self._seen(), float(self.place == 10) - 0.01, over, self.steps >= 20, {}


def main():
    found = {}
    for kind, options in ((PPO, {"n_steps": 64, "batch_size": 32}), (DQN, {"learning_starts": 50})):
        model = kind(
            "MlpPolicy", Walk(), seed=0, device="cpu", policy_kwargs={"net_arch": [16]}, **options
        )
        model.learn(256)
        state = model.policy.state_dict()
        found[kind.__name__] = {name: value for name, value in sorted(state.items())[:4]}
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/m")
            again = kind.load(f"{folder}/m", device="cpu")
            seen = np.array([[0.5, 0.2]], np.float32)
            found[kind.__name__ + " acts"] = [
                int(model.predict(seen, deterministic=True)[0][0]),
                int(again.predict(seen, deterministic=True)[0][0]),
            ]
    found["reward"] = float(evaluate_policy(model, Walk(), 2, warn=False)[0])
    report(**found)


torch.set_num_threads(1)
main()
