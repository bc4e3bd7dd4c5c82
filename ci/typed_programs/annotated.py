"""Types that annotations give, and those of a class derived from Tensor."""
# ruff: noqa: F821 - reveal_type is mypy's

import rushlight as torch
import rushlight.distributed as dist
from rushlight import multiprocessing, nn
from rushlight.distributed.tensor import DTensor
from rushlight.utils.data import random_split

x = torch.ones(2)
reveal_type(dist.all_reduce(x))  # note: Work | None
dist.broadcast(x, src="0")  # error: expected "int | None"
reveal_type(multiprocessing.cpu_count())  # note: int
nn.GroupNorm(2, "4")  # error: expected "int"
nn.ConstantPad1d(1, "0")  # error: expected "float"
torch.vmap(3)  # error: of "vmap" cannot be "int"
random_split(x, [1, 1])  # error: expected "Dataset[


def viewed(local: DTensor) -> None:
    reveal_type(local.view(2, 3))  # note: DTensor
    reveal_type(local.shape)  # note: Size
