"""Adversarial examples by the sign of the gradient, and training against them; feature hooks."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 8, 3, 1)
        self.dropout = nn.Dropout2d(0.25)
        self.fc = nn.Linear(8 * 4 * 4, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc(torch.flatten(self.dropout(x), 1)), dim=1)


def fgsm_attack(image, epsilon, data_grad):
    return torch.clamp(image + epsilon * data_grad.sign(), 0, 1)


torch.manual_seed(42)
target = torch.arange(60) % 3
base = torch.zeros(3, 1, 12, 12)
base[0, :, 2:5], base[1, :, :, 2:5], base[2, :, 6:, 6:] = 1, 1, 1
data = (base[target] * 0.6 + 0.2 + 0.15 * torch.randn(60, 1, 12, 12)).clamp_(0, 1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, nesterov=True)
seen = {}
handle = model.conv2.register_forward_hook(lambda m, i, o: seen.update(features=o.detach()))
grads = []
model.fc.register_full_backward_hook(lambda m, gi, go: grads.append(gi[0].norm().item()))
losses = []
for step in range(14):
    index = torch.arange(12) + 12 * (step % 5)
    model.train()
    x = data[index].clone().requires_grad_()
    loss = F.nll_loss(model(x), target[index])
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    bad = fgsm_attack(x, 0.05, x.grad.data).detach()
    (0.5 * F.nll_loss(model(bad), target[index])).backward()
    optimizer.step()
    losses.append(loss.item())
handle.remove()
model.eval()
accuracies = []
for epsilon in [0, 0.1, 0.3]:
    x = data.clone()
    x.requires_grad = True
    output = model(x)
    model.zero_grad()
    F.nll_loss(output, target).backward()
    perturbed = fgsm_attack(x, epsilon, x.grad.data)
    accuracies.append(
        model(perturbed).max(1, keepdim=True)[1].eq(target[:, None]).float().mean().item()
    )
print("first = %.6g" % losses[0])
print("last = %.6g" % losses[-1])
print("clean = %.4g" % accuracies[0])
print("falls = %d" % (accuracies[0] >= accuracies[1] >= accuracies[2]))
print("features = %d" % seen["features"].numel())
print("hooked = %d" % len(grads))
print("slope = %.6g" % grads[0])
