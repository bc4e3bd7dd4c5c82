"""A graph convolutional network tells the communities of a random graph from few labels."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = Parameter(torch.empty(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.empty(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / self.weight.size(1) ** 0.5
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.zero_()

    def forward(self, x, index, norm):
        h = torch.mm(x, self.weight)
        out = torch.zeros_like(h).index_add_(0, index[1], h[index[0]] * norm[:, None])
        return out if self.bias is None else out + self.bias

    def extra_repr(self):
        return f"{self.weight.size(0)}, {self.weight.size(1)}"


class GCN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.gc1 = GraphConvolution(features, hidden)
        self.gc2 = GraphConvolution(hidden, classes, bias=False)

    def forward(self, x, index, norm):
        x = F.dropout(F.elu(self.gc1(x, index, norm)), 0.3, training=self.training)
        return F.log_softmax(self.gc2(x, index, norm), dim=1)


def graph(n=120, classes=3):
    y = torch.arange(n).remainder(classes)
    p = torch.where(y[:, None] == y[None], 0.18, 0.02)
    upper = torch.triu(torch.rand(n, n) < p, diagonal=1)
    adjacency = (upper | upper.T) | torch.eye(n, dtype=torch.bool)
    index = adjacency.nonzero().t().contiguous()
    degree = torch.zeros(n).scatter_add_(0, index[1], torch.ones(index.size(1)))
    norm = degree[index[0]].rsqrt() * degree[index[1]].rsqrt()
    return torch.randn(n, 8) + 0.5 * F.one_hot(y, 8), y, index, norm


torch.manual_seed(19)
x, y, index, norm = graph()
train = torch.randperm(len(y))[:24]
model = GCN(8, 16, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
for epoch in range(40):
    model.train()
    optimizer.zero_grad()
    output = model(x, index, norm)
    loss = F.nll_loss(output[train], y[train])
    loss.backward()
    optimizer.step()
    print(f"loss {epoch} {loss.item():.8f}")
model.eval()
print(model)
accuracy = (model(x, index, norm).argmax(1) == y).double().mean().item()
print(f"quality accuracy {accuracy:.3f}")
