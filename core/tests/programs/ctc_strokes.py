"""Read short codes from one-dimensional signals with a convolution, an LSTM and the CTC loss."""

import torch
import torch.nn as nn


class Reader(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(3, 16, 5, stride=2, padding=2),
            nn.BatchNorm1d(16),
            nn.Hardswish(),
            nn.Dropout1d(0.1),
        )
        self.lstm = nn.LSTM(16, 20, bidirectional=True)
        self.fc = nn.Linear(40, classes)

    def forward(self, x):
        y = self.conv(x).permute(2, 0, 1)
        y, _ = self.lstm(y)
        return self.fc(y).log_softmax(2)


def signals(n, length=32):
    lengths = torch.randint(2, 5, (n,))
    targets = torch.randint(1, 6, (n, 4))
    x = 0.2 * torch.randn(n, 3, length)
    for i in range(n):
        for k in range(lengths[i]):
            a = 2 + 7 * k
            code = targets[i, k].item()
            x[i, code % 3, a : a + 4] += 1.0 + (code // 3)
    return x, targets, lengths


torch.manual_seed(17)
model = Reader()
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for step in range(25):
    x, targets, lengths = signals(16)
    log_probs = model(x)
    input_lengths = torch.full((16,), log_probs.size(0), dtype=torch.long)
    loss = ctc(log_probs, targets, input_lengths, lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {step} {loss.item():.7f}")
print(f"quality loss {loss.item():.3f}")
