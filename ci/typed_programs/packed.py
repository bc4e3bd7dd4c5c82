"""Recurrent layers on packed sequences, enumerations, random integers, results with names."""
# ruff: noqa: F821, D101, D103, B018 - reveal_type is mypy's

import rushlight as torch
from rushlight import nn
from rushlight.nn.attention import SDPBackend
from rushlight.nn.utils.rnn import pack_padded_sequence

layer = nn.LSTM(8, 16, batch_first=True)
output, (hidden, cell) = layer(torch.randn(4, 5, 8))
reveal_type(output)  # note: "Tensor"
packed, _ = layer(pack_padded_sequence(torch.randn(4, 5, 8), torch.tensor([5, 4, 3, 2]), True))
reveal_type(packed)  # note: PackedSequence
nn.GRU(8, 16)(3)  # error: No overload variant of "__call__" of "GRU" matches argument type "int"

reveal_type(SDPBackend.MATH)  # note: SDPBackend.MATH
SDPBackend.MATHS  # error: "type[SDPBackend]" has no attribute "MATHS"

torch.randint(10, (2, 3))
torch.randint(0, 10, size=(2, 3))
torch.randint(10)  # error: No overload variant of "randint" matches argument type "int"

values = torch.randn(4, 4)
reveal_type(torch.linalg.eigh(values @ values.T).eigenvectors)  # note: "Tensor"
solved = torch.linalg.lstsq(values, values)
solved.solutions  # error: "linalg_lstsq_result" has no attribute "solutions"

plain: nn.Module = nn.Sequential(nn.Linear(8, 16))
plain.out_channels = 16


@torch.jit.ignore
def doubled(number: int) -> int:
    return 2 * number


reveal_type(doubled(3))  # note: "int"
print(torch.cuda.memory_allocated(), hidden.shape, cell.shape)
