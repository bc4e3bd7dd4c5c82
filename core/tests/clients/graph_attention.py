"""Graph attention: masked softmax over neighbours, several heads in a ModuleList by add_module."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha, concat=True):
        super().__init__()
        self.concat = concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.out_features = out_features
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        e = (
            torch.matmul(Wh, self.a[: self.out_features, :])
            + torch.matmul(Wh, self.a[self.out_features :, :]).T
        )
        e = self.leakyrelu(e)
        attention = torch.where(adj > 0, e, -9e15 * torch.ones_like(e))
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, 0.1, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Module):
    def __init__(self, nfeat, nhid, nclass, nheads):
        super().__init__()
        self.attentions = [GraphAttentionLayer(nfeat, nhid, 0.2) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module("attention_{}".format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, 0.2, concat=False)

    def forward(self, x, adj):
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        return F.log_softmax(F.elu(self.out_att(x, adj)), dim=1)


torch.manual_seed(72)
n = 50
y = torch.randint(0, 4, (n,))
adj = (torch.rand(n, n) < 0.05 + 0.25 * (y[:, None] == y)).float()
adj = ((adj + adj.T + torch.eye(n)) > 0).float()
x = torch.eye(4)[y] + 0.8 * torch.randn(n, 4)
model = GAT(4, 6, 4, 3)
opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
history = []
best, bad = float("inf"), 0
for epoch in range(80):
    model.train()
    opt.zero_grad()
    loss = F.nll_loss(model(x, adj)[::2], y[::2])
    loss.backward()
    opt.step()
    history += [loss.data.item()]
    with torch.no_grad():
        model.eval()
        val = F.nll_loss(model(x, adj)[1::2], y[1::2]).item()
    best, bad = (val, 0) if val < best else (best, bad + 1)
    if bad == 15:
        break
print(f"parameters = {sum(p.numel() for p in model.parameters())}")
print(f"first = {history[0]:.6g}\nlast = {history[-1]:.6g}\nbest = {best:.6g}")
