"""Networks that say where pixels move, by torchvision's names: RAFT.

May import `ops`, `transforms` and the networks of `models`. Begin with `raft`.
"""

from rushlight_vision.models.optical_flow.raft import (
    RAFT,
    Raft_Large_Weights,
    Raft_Small_Weights,
    raft_large,
    raft_small,
)

__all__ = ["RAFT", "Raft_Large_Weights", "Raft_Small_Weights", "raft_large", "raft_small"]
