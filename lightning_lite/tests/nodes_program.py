"""A program that trains on several machines: `nodes_program.py strategy devices nodes file`.

Every process writes what it is, and the weights, to `file` with its rank behind it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from strategy_program import BATCH, L, Model, data

from lightning_lite.strategies import FSDPStrategy
from rushlight.distributed.fsdp import ShardingStrategy
from rushlight.nn import Linear


class Watched(Model):
    """Notes the first number of every batch."""

    def __init__(self):
        super().__init__()
        self.seen: list[float] = []

    def training_step(self, batch, batch_idx):
        self.seen.append(float(batch[0][0, 0]))
        return super().training_step(batch, batch_idx)


def plain(value):
    """The numbers of a tensor that processes may share."""
    return (value.full_tensor() if hasattr(value, "full_tensor") else value).tolist()


def main() -> None:
    """Run what the command line says."""
    strategy, devices, nodes, file = sys.argv[1:]
    if strategy.upper() in ShardingStrategy.__members__:
        strategy = FSDPStrategy(sharding_strategy=strategy, auto_wrap_policy={Linear})
    trainer = L.Trainer(
        strategy=strategy, devices=int(devices), num_nodes=int(nodes), accelerator="cpu",
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    )  # fmt: skip
    model = Watched()
    trainer.fit(model, data(BATCH // (int(devices) * int(nodes))))
    made = trainer.strategy
    several = trainer.world_size > 1
    found = {
        "ranks": [trainer.global_rank, trainer.node_rank, trainer.local_rank, trainer.world_size],
        "zero": trainer.is_global_zero,
        "sampler": made.distributed_sampler_kwargs if several else None,
        "environment": type(made.cluster_environment).__name__ if several else None,
        "seen": model.seen,
        "held": [
            each.to_local().shape[0] if hasattr(each, "to_local") else len(each)
            for each in model.parameters()
        ],
        "weights": {name: plain(value) for name, value in model.state_dict().items()},
    }
    Path(f"{file}.{trainer.global_rank}").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
