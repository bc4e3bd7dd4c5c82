"""Modules that hold modules, parameters and buffers."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

from collections import OrderedDict

import rushlight as torch
from rushlight import Tensor, nn


class Block(nn.Module):
    """Layers by name, weights by number."""

    scale: Tensor

    def __init__(self, width: int, names: list[str]) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.zeros(width)) for _ in range(3)])
        self.layers = nn.ModuleDict({name: nn.Linear(width, width) for name in names})
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.named = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(width))})
        self.register_buffer("scale", torch.ones(width))
        self.alpha = nn.Parameter(torch.ones(1))
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x: Tensor, name: str = "a") -> Tensor:
        for weight in self.weights:
            x = x + weight
        for block in self.blocks:
            x = self.act(block(x))
        out = self.layers[name](x) * self.scale * self.alpha + self.named["bias"]
        assert isinstance(out, Tensor)
        return out


block = Block(4, ["a", "b"])
reveal_type(block.weights[0])  # note: "Any"
reveal_type(block.layers["a"])  # note: "Module"
reveal_type(block.blocks[0])  # note: "Module"
reveal_type(block.blocks)  # note: "ModuleList"
reveal_type(len(block.blocks))  # note: "int"
reveal_type(block.alpha)  # note: "Parameter"
reveal_type(block.scale)  # note: "Tensor"
reveal_type(block.act)  # note: "GELU"
block.blocks.append(nn.Linear(4, 4))
block.layers.update({"c": nn.Linear(4, 4)})
for name, layer in block.layers.items():
    reveal_type(name)  # note: "str"
    reveal_type(layer)  # note: "Module"
for _, parameter in block.named_parameters():
    reveal_type(parameter)  # note: "Parameter"
for _, module in block.named_modules():
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
stack = nn.Sequential(OrderedDict([("one", nn.Linear(4, 4)), ("two", nn.ReLU(inplace=True))]))
reveal_type(stack[0])  # note: "Module"
reveal_type(stack[:1])  # note: "Module"
reveal_type(nn.Sequential(nn.Linear(2, 2), nn.ReLU())(torch.ones(2, 2)))  # note: "Tensor"
reveal_type(block.apply(lambda m: None))  # note: "Block"
reveal_type(block.double())  # note: "Block"
reveal_type(block.training)  # note: "bool"
reveal_type(block.state_dict())  # note: "dict[str, Any]"
reveal_type(block.load_state_dict(block.state_dict(), strict=False))  # note: "Any"
reveal_type(block.get_submodule("act"))  # note: "Module"
reveal_type(block.children())  # note: "Iterator[Module]"
conv = nn.Conv2d(3, 8, kernel_size=(3, 3), padding="same", bias=False)
reveal_type(conv.weight)  # note: "Tensor"
reveal_type(conv.bias)  # note: "Tensor | None"
reveal_type(conv.kernel_size)  # note: "tuple[int, ...]"
reveal_type(conv(torch.ones(1, 3, 4, 4)))  # note: "Tensor"
output, (h, c) = nn.LSTM(4, 8, batch_first=True)(torch.ones(1, 2, 4))
attended, weights = nn.MultiheadAttention(4, 2)(block.alpha, block.alpha, block.alpha)
embedding = nn.Embedding(10, 4, padding_idx=0)
reveal_type(embedding.weight)  # note: "Parameter"
reveal_type(embedding.num_embeddings)  # note: "int"
norm = nn.LayerNorm(4)
reveal_type(norm.weight)  # note: "Parameter"
reveal_type(nn.BatchNorm2d(3).running_mean)  # note: "Tensor | None"
reveal_type(nn.Transformer(d_model=8, nhead=2).encoder)  # note: "Any"
reveal_type(nn.Identity()(torch.ones(1)))  # note: "Tensor"
