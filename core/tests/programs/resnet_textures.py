"""Tell striped, checked, dotted and plain textures apart with a small residual network."""

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import PolynomialLR


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes, momentum=0.05)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Identity()
        if stride != 1 or inplanes != planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, blocks=(1, 1, 1), classes=4):
        super().__init__()
        self.inplanes = 8
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.layers = nn.ModuleList(
            self._make_layer(8 * 2**i, n, 1 + (i > 0)) for i, n in enumerate(blocks)
        )
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(32, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, BasicBlock):
                nn.init.constant_(m.bn2.weight, 0.2)

    def _make_layer(self, planes, count, stride):
        layers = []
        for s in [stride] + [1] * (count - 1):
            layers.append(BasicBlock(self.inplanes, planes, s))
            self.inplanes = planes * BasicBlock.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.fc(torch.flatten(self.pool(x), 1))


def textures(n, size=16):
    i = torch.arange(size)
    stripes = ((i // 2) % 2).float().repeat(size, 1)
    checks = ((i[:, None] // 2 + i[None, :] // 2) % 2).float()
    dots = ((i[:, None] % 4 == 0) & (i[None, :] % 4 == 0)).float() * 2
    patterns = torch.stack([stripes, checks, dots, torch.full((size, size), 0.5)])
    y = torch.randint(4, (n,))
    color = torch.rand(n, 3, 1, 1)
    return patterns[y][:, None] * color + 0.3 * torch.randn(n, 3, size, size), y


torch.manual_seed(101)
model = ResNet().to(memory_format=torch.channels_last)
criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 2.0, 1.0]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = PolynomialLR(optimizer, total_iters=25, power=0.9)
for step in range(25):
    x, y = textures(24)
    loss = criterion(model(x.contiguous(memory_format=torch.channels_last)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(f"loss {step} {loss.item():.7f}")
model.eval()
with torch.inference_mode():
    x, y = textures(100)
    print(f"quality accuracy {(model(x).argmax(1) == y).float().mean().item():.2f}")
