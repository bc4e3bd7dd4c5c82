"""Arguments whose types are those of ci/stub_writer/op_types.txt."""
# ruff: noqa: F821 - reveal_type is mypy's

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F

x = torch.ones(4, 4)
reveal_type(torch.chunk(x, 2))  # note: tuple[rushlight.tensor.tensor.Tensor, ...]
reveal_type(torch.meshgrid(x[0], x[1]))  # note: tuple[rushlight.tensor.tensor.Tensor, ...]
torch.chunk(x, "2")  # error: "chunk" has incompatible type "str"; expected "int"
torch.from_numpy(np.ones(2))
torch.from_numpy([1.0])  # error: expected "ndarray[Any, Any]"
torch.rot90(x, 1, (0, 1))
torch.rot90(x, 1, 2)  # error: expected "Sequence[int]"
F.pad(x, (1, 1), value=2.0)
F.pad(x, 1)  # error: expected "Sequence[int]"
F.nll_loss(x, x, reduce="no")  # error: expected "bool | None"
x.div(2, rounding_mode="floor")
x.apply_(lambda value: value + 1)
x.apply_(3)  # error: expected "Callable[[Any], Any]"
x.norm(2, dim=0)
x.norm([2])  # error: expected "int | float | bool | complex | str | None"
