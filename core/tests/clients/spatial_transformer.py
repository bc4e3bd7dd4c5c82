"""A spatial transformer learns to undo shifts: affine_grid, grid_sample, a zeroed last layer."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=3)
        self.conv2_drop = nn.Dropout2d(0.1)
        self.fc1 = nn.Linear(6 * 7 * 7, 16)
        self.fc2 = nn.Linear(16, 4)
        self.localization = nn.Sequential(
            nn.Conv2d(1, 6, kernel_size=5), nn.MaxPool2d(2, stride=2), nn.ReLU(True)
        )
        self.fc_loc = nn.Sequential(nn.Linear(6 * 6 * 6, 12), nn.ReLU(True), nn.Linear(12, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float64))

    def stn(self, x):
        xs = self.localization(x)
        theta = self.fc_loc(xs.view(-1, 6 * 6 * 6)).view(-1, 2, 3)
        grid = F.affine_grid(theta, x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)

    def forward(self, x):
        x = self.stn(x)
        x = self.conv2_drop(F.relu(F.max_pool2d(self.conv1(x), 2)))
        x = F.relu(self.fc1(x.view(-1, 6 * 7 * 7)))
        return F.log_softmax(self.fc2(F.dropout(x, 0.2, training=self.training)), dim=1)


torch.set_default_dtype(torch.float64)
torch.manual_seed(10)
target = torch.arange(64) % 4
shape = torch.zeros(4, 16, 16)
shape[0, 6:10, 6:10], shape[1, 7, 4:12], shape[2, 4:12, 7] = 1, 1, 1
shape[3].fill_diagonal_(1)
shift = torch.randint(-3, 4, (64, 2))
data = torch.stack(
    [torch.roll(shape[t], tuple(s.tolist()), dims=(0, 1)) for t, s in zip(target, shift)]
).unsqueeze(1)
data = data + 0.1 * torch.randn_like(data)
model = Net()
optimizer = optim.Adam(model.parameters(), lr=0.01)
losses = []
model.train()
for step in range(60):
    index = torch.randperm(64)[:16]
    optimizer.zero_grad()
    loss = F.nll_loss(model(data[index]), target[index])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad():
    moved = model.stn(data)
    accuracy = model(data).argmax(1).eq(target).float().mean().item()
print("first = %.6g" % losses[0])
print("tenth = %.6g" % losses[9])
print("last = %.6g" % (sum(losses[-6:]) / 6))
print("moved = %.6g" % (moved - data).abs().mean().item())
print("theta = %d" % (model.fc_loc[2].weight.abs().sum().item() > 0))
