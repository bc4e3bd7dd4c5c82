"""Find bright blobs in noise, pixel by pixel, with a small U-Net."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch, out_ch, 3, padding=1),
            nn.InstanceNorm2d(out_ch, affine=True),
            nn.PReLU(),
            nn.Conv2d(out_ch, out_ch, 3, padding=1),
            nn.ReLU(True),
        )

    def forward(self, x):
        return self.conv(x)


class UNet(nn.Module):
    def __init__(self, w=6):
        super().__init__()
        self.inc, self.down = DoubleConv(1, w), DoubleConv(w, 2 * w)
        self.bottom = DoubleConv(2 * w, 4 * w)
        self.up1 = nn.ConvTranspose2d(4 * w, 2 * w, 2, stride=2)
        self.dec1 = DoubleConv(4 * w, 2 * w)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.dec2 = DoubleConv(3 * w, w)
        self.outc = nn.Conv2d(w, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        x3 = self.bottom(F.avg_pool2d(x2, 2))
        x = self.dec1(torch.cat([x2, self.up1(x3)], dim=1))
        return self.outc(self.dec2(torch.cat([x1, self.up2(x)], dim=1)))


def dice_loss(logits, target, smooth=1.0):
    p = logits.sigmoid()
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + smooth) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + smooth)).mean()


def batch(n=8, size=24):
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cy, cx = torch.randint(5, size - 5, (2, n, 1, 1))
    r = torch.empty(n, 1, 1).uniform_(2, 5)
    mask = (((yy - cy) ** 2 + (xx - cx) ** 2).float().sqrt() < r).float().unsqueeze(1)
    return mask + 0.4 * torch.randn_like(mask), mask


torch.manual_seed(8)
net = UNet()
optimizer = torch.optim.RAdam(net.parameters(), lr=1e-2)
ema = torch.optim.swa_utils.AveragedModel(
    net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
)
for step in range(25):
    image, mask = batch()
    out = net(image)
    loss = F.binary_cross_entropy_with_logits(out, mask, pos_weight=torch.tensor(3.0))
    loss = loss + dice_loss(out, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update_parameters(net)
    print(f"loss {step} {loss.item():.7f}")
with torch.no_grad():
    image, mask = batch(16)
    found = ema(image) > 0
    iou = (found & mask.bool()).sum() / (found | mask.bool()).sum()
print(f"quality iou {iou.item():.3f}")
