"""Semi-supervised node classification with a sparse, row-normalised adjacency matrix."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.modules.module import Module


def normalize(adj):
    deg = torch.sparse.sum(adj, dim=1).to_dense()
    inv = deg.pow(-1)
    inv[torch.isinf(inv)] = 0.0
    index = adj._indices()
    return torch.sparse_coo_tensor(index, adj._values() * inv[index[0]], adj.shape).coalesce()


class GraphConvolution(Module):
    def __init__(self, nin, nout):
        super(GraphConvolution, self).__init__()
        self.weight = nn.Parameter(torch.FloatTensor(nin, nout))
        self.bias = nn.Parameter(torch.FloatTensor(nout))
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        self.bias.data.uniform_(-stdv, stdv)

    def forward(self, input, adj):
        support = torch.mm(input, self.weight)
        return torch.spmm(adj, support) + self.bias

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(tuple(self.weight.shape)) + ")"


class GCN(nn.Module):
    def __init__(self):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(16, 12)
        self.gc2 = GraphConvolution(12, 3)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.2, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


torch.manual_seed(42)
n = 60
labels = torch.arange(n) % 3
prob = torch.where(labels[:, None] == labels[None], 0.3, 0.03)
dense = torch.bernoulli(prob)
dense = torch.max(dense, dense.t()) + torch.eye(n)
idx = dense.nonzero().t()
adj = normalize(
    torch.sparse_coo_tensor(idx, torch.ones(idx.shape[1]), torch.Size([n, n])).coalesce()
)
features = torch.randn(n, 16) + F.one_hot(labels, 16).float()
idx_train, idx_test = torch.arange(18), torch.arange(18, n)

model = GCN()
print(model)
optimizer = optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
losses = []
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
output = model(features, adj)
preds = output[idx_test].max(1)[1].type_as(labels)
print("first = %.6g" % losses[0])
print("last = %.6g" % losses[-1])
print("nonzeros = %d" % adj._nnz())
print("accuracy = %.4g" % preds.eq(labels[idx_test]).double().mean().item())
