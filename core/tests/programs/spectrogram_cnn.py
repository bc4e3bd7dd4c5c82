"""Rising, falling, steady or trilling? A CNN over log spectrograms of synthetic sounds."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def sounds(n, samples=1024, rate=4000.0):
    y = torch.randint(0, 4, (n,))
    t = torch.arange(samples) / rate
    base = 400 + 600 * torch.rand(n, 1)
    slope = torch.tensor([2000.0, -1000.0, 0.0, 0.0])[y].unsqueeze(1)
    trill = torch.where(y == 3, 3.0, 0.0).unsqueeze(1) * torch.sin(2 * math.pi * 30 * t)
    wave = torch.sin(2 * math.pi * (base * t + slope * t**2 / 2) + trill)
    return wave + 0.2 * torch.randn(n, samples), y


def log_spectrogram(x, n_fft=128, hop=64):
    window = torch.hann_window(n_fft)
    z = torch.stft(x, n_fft, hop_length=hop, window=window, return_complex=True)
    return torch.log1p(z.abs().pow(2)).unsqueeze(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, (5, 3), padding=(2, 1), padding_mode="replicate")
        self.c2 = nn.Conv2d(8, 16, 3, dilation=2, groups=2)
        self.norm = nn.LocalResponseNorm(3)
        self.fc = nn.LazyLinear(4)

    def forward(self, x):
        x = F.max_pool2d(F.silu(self.c1(x)), (4, 1))
        x = self.norm(F.hardtanh(self.c2(x), 0.0, 6.0))
        return self.fc(F.adaptive_max_pool2d(x, (4, 4)).flatten(1))


torch.manual_seed(29)
net = Net()
net(log_spectrogram(sounds(2)[0]))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(25):
    x, y = sounds(24)
    loss = F.multi_margin_loss(net(log_spectrogram(x)), y) + F.cross_entropy(
        net(log_spectrogram(x)), y
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.7f}")
with torch.no_grad():
    x, y = sounds(100)
    print(f"quality accuracy {(net(log_spectrogram(x)).argmax(1) == y).float().mean().item():.2f}")
