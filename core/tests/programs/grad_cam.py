"""Where does a network look? Grad-CAM by forward and backward hooks, after a short training."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Finder(nn.Module):
    """Which quadrant of the image holds the cross?"""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.norm(self.conv2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 3).flatten(1))


class GradCAM:
    def __init__(self, model, layer):
        self.model, self.grads, self.acts = model, None, None
        self.handles = [
            layer.register_forward_hook(self._forward),
            layer.register_full_backward_hook(self._backward),
        ]

    def _forward(self, module, inputs, output):
        self.acts = output.detach()

    def _backward(self, module, grad_input, grad_output):
        self.grads = grad_output[0].detach()

    def __call__(self, x):
        logits = self.model(x)
        self.model.zero_grad()
        logits.max(dim=1).values.sum().backward()
        weights = self.grads.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.acts).sum(1, keepdim=True))
        cam = F.interpolate(cam, size=x.shape[2:], mode="bilinear", align_corners=False)
        low, high = cam.amin((2, 3), keepdim=True), cam.amax((2, 3), keepdim=True)
        return (cam - low) / (high - low + 1e-8)

    def remove(self):
        for handle in self.handles:
            handle.remove()


def images(n):
    x, y = 1.2 * torch.randn(n, 1, 12, 12), torch.randint(0, 4, (n,))
    for k in range(n):
        r, c = 3 + 6 * (y[k].item() // 2), 3 + 6 * (y[k].item() % 2)
        x[k, 0, r - 2 : r + 3, c] += 1.5
        x[k, 0, r, c - 2 : c + 3] += 1.5
    return x, y


torch.manual_seed(2)
model = Finder()
norms = []
model.conv1.weight.register_hook(lambda g: norms.append(g.norm().item()))
optimizer = torch.optim.SGD(
    [
        {"params": model.fc.parameters(), "lr": 0.02},
        {"params": model.conv1.parameters()},
        {"params": [*model.conv2.parameters(), *model.norm.parameters()]},
    ],
    lr=0.02,
    momentum=0.9,
)
step = 0
for step in range(30):
    x, y = images(24)
    loss = F.nll_loss(F.log_softmax(model(x), 1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.8f}")
cam = GradCAM(model, model.conv2)
x, y = images(4)
heat = cam(x)
cam.remove()
for k in range(4):
    quadrants = heat[k, 0].reshape(2, 6, 2, 6).mean(dim=(1, 3)).flatten()
    print(f"heat {k} label {y[k].item()} " + " ".join(f"{q:.4f}" for q in quadrants.tolist()))
print(f"loss 30 {norms[0]:.7f}")
print(f"loss 31 {heat.mean().item():.7f}")
print(f"quality loss {loss.item():.3f}")
