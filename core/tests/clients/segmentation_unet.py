"""A U-Net with bilinear upsampling, padded skips, Dice and cross entropy, and a plateau schedule."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class DoubleConv(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY, diffX = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.inc = DoubleConv(1, 6)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(6, 12))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(12, 12))
        self.up1, self.up2 = Up(24, 6), Up(12, 6)
        self.outc = nn.Conv2d(6, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x = self.up1(self.down2(x2), x2)
        return self.outc(self.up2(x, x1))


def dice_coeff(
    input: Tensor, target: Tensor, reduce_batch_first: bool = False, epsilon: float = 1e-6
):
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


torch.manual_seed(0)
n = 20
yy, xx = torch.meshgrid(torch.arange(18), torch.arange(22), indexing="ij")
c = torch.randint(5, 13, (n, 2, 1, 1))
masks = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2 < 16).long()
images = masks.float().unsqueeze(1) + 0.5 * torch.randn(n, 1, 18, 22)
train_set, val_set = random_split(
    TensorDataset(images, masks), [16, 4], generator=torch.Generator().manual_seed(0)
)
loader = DataLoader(train_set, shuffle=True, batch_size=4, drop_last=True, pin_memory=False)
net = UNet(2).to(memory_format=torch.channels_last)
optimizer = optim.RMSprop(net.parameters(), lr=2e-3, weight_decay=1e-8, momentum=0.9, foreach=True)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=1)
criterion, losses = nn.CrossEntropyLoss(), []
for epoch in range(3):
    net.train()
    for image, true in loader:
        image = image.to(device="cpu", dtype=torch.float32, memory_format=torch.channels_last)
        with torch.autocast("cpu", enabled=False):
            pred = net(image)
            loss = criterion(pred, true)
            loss += 1 - dice_coeff(
                F.softmax(pred, dim=1).float().flatten(0, 1),
                F.one_hot(true, 2).permute(0, 3, 1, 2).float().flatten(0, 1),
            )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.inference_mode():
        score = sum(
            dice_coeff(net(i[None]).argmax(1).float(), m[None].float()) for i, m in val_set
        ) / len(val_set)
    scheduler.step(score)
print(f"first = {losses[0]:.6g}")
print(f"third = {losses[2]:.6g}")
print(f"last = {sum(losses[-4:]) / 4:.6g}")
print(f"keys = {len(net.state_dict())}")
