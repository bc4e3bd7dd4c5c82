"""Forward-forward: each layer is a Linear with an optimizer of its own and trains on goodness."""

import torch
import torch.nn as nn
from torch.optim import Adam


def overlay(x, y):
    x_ = x.clone()
    x_[:, :4] *= 0.0
    x_[range(x.shape[0]), y] = x.max()
    return x_


class Layer(nn.Linear):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.relu = torch.nn.ReLU()
        self.opt = Adam(self.parameters(), lr=0.03)
        self.threshold = 2.0
        self.num_epochs = 40
        self.history = []

    def forward(self, x):
        x_direction = x / (x.norm(2, 1, keepdim=True) + 1e-4)
        return self.relu(torch.mm(x_direction, self.weight.T) + self.bias.unsqueeze(0))

    def train(self, x_pos, x_neg=None):
        if x_neg is None:  # somebody called model.train() / model.eval()
            return super().train(x_pos)
        for i in range(self.num_epochs):
            g_pos = self.forward(x_pos).pow(2).mean(1)
            g_neg = self.forward(x_neg).pow(2).mean(1)
            loss = torch.log(
                1 + torch.exp(torch.cat([-g_pos + self.threshold, g_neg - self.threshold]))
            ).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.history.append(loss.item())
        return self.forward(x_pos).detach(), self.forward(x_neg).detach()


class Net(torch.nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.layers = []
        for d in range(len(dims) - 1):
            self.layers += [Layer(dims[d], dims[d + 1])]

    def predict(self, x):
        goodness_per_label = []
        for label in range(4):
            h = overlay(x, label)
            goodness = []
            for layer in self.layers:
                h = layer(h)
                goodness += [h.pow(2).mean(1)]
            goodness_per_label += [sum(goodness).unsqueeze(1)]
        return torch.cat(goodness_per_label, 1).argmax(1)

    def train(self, x_pos, x_neg):
        h_pos, h_neg = x_pos, x_neg
        for layer in self.layers:
            h_pos, h_neg = layer.train(h_pos, h_neg)


torch.manual_seed(1234)
centres = torch.randn(4, 20)
y = torch.arange(80) % 4
x = centres[y] + 0.4 * torch.randn(80, 20)
net = Net([20, 32, 32])
x_pos = overlay(x, y)
rnd = torch.randperm(x.size(0))
net.train(x_pos, overlay(x, y[rnd]))
print("first =", "%.6g" % net.layers[0].history[0])
print("last =", "%.6g" % net.layers[0].history[-1])
print("second_layer =", "%.6g" % net.layers[1].history[-1])
print("error =", "%.4g" % (1.0 - net.predict(x).eq(y).float().mean().item()))
print("registered =", len(list(net.parameters())))
