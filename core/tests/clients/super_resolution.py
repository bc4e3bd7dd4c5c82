"""Super-resolution with a sub-pixel convolution; orthogonal weights; quality in decibels."""

from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


torch.manual_seed(123)
grid = torch.linspace(0, 6.28, 24)
phase = torch.rand(16, 2, 1, 1) * 6
large = (
    0.5
    + 0.25 * torch.sin(grid.view(1, 1, -1, 1) * 2 + phase[:, :1])
    + 0.25 * torch.cos(grid.view(1, 1, 1, -1) * 3 + phase[:, 1:])
)
small = nn.functional.avg_pool2d(large, 3)
loader = DataLoader(dataset=TensorDataset(small, large), num_workers=0, batch_size=4, shuffle=True)
model = Net(3)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.002)
losses = []
for epoch in range(1, 9):
    epoch_loss = 0
    for iteration, batch in enumerate(loader, 1):
        input, target = batch[0], batch[1]
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    losses.append(epoch_loss / len(loader))
avg_psnr = 0
with torch.no_grad():
    for input, target in loader:
        avg_psnr += 10 * log10(1 / criterion(model(input), target).item())
print("first = {:.6g}".format(losses[0]))
print("last = {:.6g}".format(losses[-1]))
print("decibels = {:.5g}".format(avg_psnr / len(loader)))
