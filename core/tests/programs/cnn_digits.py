"""Recognise drawn digits with a small convolutional network, batch norm and augmentation."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEGMENTS = [
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
]


def glyph(digit):
    """A seven-segment digit on a 16 x 16 grid."""
    image = torch.zeros(16, 16)
    on = [s == "1" for s in SEGMENTS[digit]]
    for flag, rows, columns in zip(
        on,
        [(2, 4), (2, 8), (2, 8), (7, 9), (8, 14), (8, 14), (12, 14)],
        [(4, 12), (4, 6), (10, 12), (4, 12), (4, 6), (10, 12), (4, 12)],
    ):
        if flag:
            image[rows[0] : rows[1], columns[0] : columns[1]] = 1.0
    return image


class Digits(Dataset):
    def __init__(self, count, seed, transform=None):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 10, (count,), generator=g)
        glyphs = torch.stack([glyph(d) for d in range(10)])
        noise = torch.randn(count, 16, 16, generator=g)
        self.images = (glyphs[self.labels] + 0.35 * noise).unsqueeze(1)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[index]


def jitter(image):
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(image, shifts=(dy, dx), dims=(1, 2))


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
    )


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 12), block(12, 24))
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Dropout(p=0.25),
            nn.Linear(24 * 4 * 4, 48),
            nn.ReLU(),
            nn.Linear(48, 10),
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return self.classifier(self.features(x))


torch.manual_seed(7)
train_loader = DataLoader(Digits(640, 1, jitter), batch_size=32, shuffle=True, drop_last=True)
test_loader = DataLoader(Digits(200, 2), batch_size=100)
net = CNN()
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.SGD(
    net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4
)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=40)

i = 0
for epoch in range(2):
    net.train()
    for images, labels in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(net(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        print("loss", i, "%.8f" % loss.item())
        i += 1

net.eval()
hits = 0
with torch.no_grad():
    for images, labels in test_loader:
        hits += net(images).max(1)[1].eq(labels).sum().item()
print("quality accuracy", hits / 200)
