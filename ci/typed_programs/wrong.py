"""A program with mistakes: each line says what mypy --strict finds on it."""

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F


class Net(nn.Module):
    """A line."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(10, 2, bais=True)  # error: Unexpected keyword argument "bais"

    def forward(self, x: torch.Tensor) -> int:
        return F.relu(self.line(x))  # error: Incompatible return value type


x = torch.zeros(2, 3, dtyp=torch.float32)  # error: Unexpected keyword argument "dtyp"
y = torch.softmaxx(x, 0)  # error: Module has no attribute "softmaxx"; maybe "softmax"?
a: int = torch.ones(2)  # error: Incompatible types in assignment
b = x.summ()  # error: "Tensor" has no attribute "summ"
c: str = x.sum(0)  # error: Incompatible types in assignment
d = F.cross_entropy(x, x, reductoin="mean")  # error: Unexpected keyword argument "reductoin"
torch.cat(3)  # error: Argument 1 to "cat" has incompatible type "int"
e: int = x.matmul(x)  # error: Incompatible types in assignment
torch.optim.Adam(Net().parameters(), lr="x")  # error: Argument "lr" to "Adam" has incompatible
nn.Conv2d("3", 4, 3)  # error: Argument 1 to "Conv2d" has incompatible type "str"
torch.matmul(x)  # error: Missing positional argument "other" in call to "matmul"
x.view(2, "3")  # error: No overload variant of "view"
torch.linalg.solv(x, x)  # error: Module has no attribute "solv"; maybe "solve"?
torch.utils.data.DataLoadr(x)  # error: Module has no attribute "DataLoadr"
