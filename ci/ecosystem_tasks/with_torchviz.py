"""torchviz: drawings of graphs of gradients, their boxes and arrows, attributes, saved values."""

import re
from collections import Counter

import torch
from common import report
from torch import nn
from torchviz import make_dot


class Pictures(nn.Module):
    """Normalized convolutions, a sum of two ways, windows, a head."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.GroupNorm(2, 8))
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        y = self.first(x)
        y = nn.functional.max_pool2d(torch.relu(self.second(y) + y), 2, 2)
        return self.head(nn.functional.adaptive_avg_pool2d(y, 2).flatten(1)).log_softmax(-1)


class Attention(nn.Module):
    """Rows of words that look at each other, normalized, with a gate."""

    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(10, 8), nn.LayerNorm(8)
        self.query, self.key, self.value = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.gate = nn.Linear(8, 16)

    def forward(self, places):
        x = self.norm(self.words(places))
        scores = torch.mm(self.query(x), self.key(x).t()) / 8**0.5
        y = x + torch.mm(scores.softmax(-1), self.value(x))
        a, b = self.gate(y).chunk(2, -1)
        return nn.functional.silu(a) * b


def graph(result, model, saved):
    """A drawing as counts of what boxes say and which of them arrows join."""
    drawn = make_dot(
        result, params=dict(model.named_parameters()), show_attrs=saved, show_saved=saved
    ).source
    boxes = re.findall(r'^\t(\d+) \[label="?(.*?)"?(?: fillcolor=\w+)?\]$', drawn, re.M | re.S)
    labels = {number: " ".join(label.split()) for number, label in boxes}
    arrows = re.findall(r"^\t(\d+) -> (\d+)", drawn, re.M)
    joined = (" -> ".join(labels[end].partition(" ---")[0] for end in pair) for pair in arrows)
    return {"boxes": dict(Counter(labels.values())), "arrows": dict(Counter(joined))}


def main():
    torch.manual_seed(0)
    layers = nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2)
    perceptron, pictures, attention = nn.Sequential(*layers), Pictures(), Attention()
    loss = nn.functional.mse_loss(perceptron(torch.rand(4, 6)) ** 2, torch.rand(4, 2))
    report(
        perceptron=graph(loss, perceptron, True),
        pictures=graph(pictures(torch.rand(2, 3, 4, 4)).sum(), pictures, False),
        attention=graph(attention(torch.tensor([1, 5, 2])).mean(0), attention, True),
    )


main()
