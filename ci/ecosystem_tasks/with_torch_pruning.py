"""torch-pruning and torchview: layers pruned along the graph of gradients, graphs of layers."""

import torch
import torch.nn.functional as F
import torch_pruning as tp
import torchview
from common import report
from torch import nn


class Residual(nn.Module):
    """Layers whose channels depend on each other: a sum, a concatenation, a reshape."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.second = nn.Conv2d(16, 16, 3, padding=1)
        self.beside = nn.Conv2d(3, 8, 1)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.groups = nn.GroupNorm(4, 12)
        self.hidden, self.out = nn.Linear(12 * 4, 32), nn.Linear(32, 5)

    def forward(self, x):
        y = F.relu(self.norm(self.first(x)))
        y = torch.cat([y + self.second(y), self.beside(x)], 1)
        y = F.silu(self.groups(self.up(F.max_pool2d(y, 2))))
        y = F.adaptive_avg_pool2d(y, 2).flatten(1)
        return self.out(torch.tanh(self.hidden(y)))


def pruned(kind, importance, **more):
    torch.manual_seed(0)
    net, x = Residual(), torch.rand(2, 3, 8, 8)
    nn.init.uniform_(net.norm.weight)  # equal scales have no order
    pruner = kind(
        net, x, importance=importance, pruning_ratio=0.5, ignored_layers=[net.out], **more
    )
    before = tp.utils.count_ops_and_params(net, x)
    net(x).square().sum().backward()  # for what asks for gradients
    pruner.step()
    return {
        "before": list(before), "after": list(tp.utils.count_ops_and_params(net, x)),
        "shapes": [list(value.shape) for value in net.state_dict().values()],
        "result": net.eval()(x).tolist(), "layers": str(net),
    }  # fmt: skip


def main():
    found = {
        "magnitude": pruned(tp.pruner.MagnitudePruner, tp.importance.MagnitudeImportance(p=2)),
        "in two steps": pruned(
            tp.pruner.MagnitudePruner, tp.importance.MagnitudeImportance(p=1), iterative_steps=2
        ),
        "by gradients": pruned(tp.pruner.BasePruner, tp.importance.GroupTaylorImportance()),
        "scales": pruned(tp.pruner.BNScalePruner, tp.importance.BNScaleImportance()),
    }
    graph = torchview.draw_graph(Residual(), input_size=(1, 3, 8, 8), device="cpu")
    source, words = graph.visual_graph.source, ("Conv2d", "Linear", "cat", "flatten")
    found["torchview"] = len(graph.edge_list), sorted(source.count(word) for word in words)
    report(**found)


main()
