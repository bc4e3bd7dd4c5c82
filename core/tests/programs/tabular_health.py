"""Who falls ill? Numbers and categories of invented patients, gaps filled in, early stopping."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split

NUMERIC = ["age", "bmi", "systolic", "glucose", "cholesterol", "exercise"]
CATEGORIES = {"sex": 2, "smoking": 3, "region": 5}


class Patients(Dataset):
    def __init__(self, n):
        age, bmi = 20 + 60 * torch.rand(n), 26 + 4 * torch.randn(n)
        exercise = torch.empty(n).exponential_(0.5)
        systolic = 100 + 0.4 * age + bmi * 0.5 + 9 * torch.randn(n)
        glucose = torch.distributions.LogNormal(4.5, 0.15).sample((n,)) + 0.4 * bmi
        cholesterol = 180 + 0.3 * age + 25 * torch.randn(n)
        self.x = torch.stack([age, bmi, systolic, glucose, cholesterol, exercise], 1)
        self.c = torch.stack([torch.randint(k, (n,)) for k in CATEGORIES.values()], 1)
        smoker = self.c[:, 1] == 2
        risk = 0.06 * (age - 60) + 0.08 * (bmi - 27) + 0.03 * (systolic - 130)
        risk = risk + 0.04 * (glucose - 105) + 1.2 * smoker - 0.4 * exercise - 0.9
        self.y = torch.bernoulli(torch.sigmoid(risk))
        self.x[torch.rand(n, len(NUMERIC)) < 0.05] = float("nan")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"numeric": self.x[i], "category": self.c[i], "label": self.y[i]}


class TabularNet(nn.Module):
    def __init__(self, mean, std, dims=(48, 24), p=0.1):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.embeds = nn.ModuleDict(
            {k: nn.Embedding(n, min(4, (n + 1) // 2)) for k, n in CATEGORIES.items()}
        )
        width = 2 * len(NUMERIC) + sum(e.embedding_dim for e in self.embeds.values())
        layers = []
        for d in dims:
            layers += [nn.LazyLinear(d), nn.BatchNorm1d(d), nn.Mish(), nn.Dropout(p)]
        self.body = nn.Sequential(*layers, nn.Linear(dims[-1], 1))
        self.body(torch.zeros(2, width))

    def forward(self, numeric, category):
        missing = torch.isnan(numeric)
        z = torch.nan_to_num((numeric - self.mean) / self.std, nan=0.0)
        parts = [e(category[:, k]) for k, e in enumerate(self.embeds.values())]
        return self.body(torch.cat([z, missing.float(), *parts], dim=1)).squeeze(1)


def roc_auc(score, label):
    order = score.argsort()
    ranks = torch.empty_like(score)
    ranks[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    positive = label.sum()
    below = ranks[label > 0].sum() - positive * (positive + 1) / 2
    return (below / (positive * (len(label) - positive))).item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    rows = [(model(b["numeric"], b["category"]), b["label"]) for b in loader]
    logits, labels = (torch.cat(part) for part in zip(*rows))
    return F.binary_cross_entropy_with_logits(logits, labels).item(), roc_auc(logits, labels)


torch.manual_seed(1234)
data = Patients(1500)
train, valid = random_split(data, [0.75, 0.25], generator=torch.Generator().manual_seed(42))
x = data.x[train.indices]
mean = x.nanmean(0)
std = (x - mean).square().nanmean(0).sqrt()
model = TabularNet(mean, std)
positive = data.y[train.indices].mean()
criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - positive) / positive)
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-2)
train_loader = DataLoader(train, batch_size=75, shuffle=True)
valid_loader = DataLoader(valid, batch_size=125)
best, kept, patience, step = float("inf"), None, 2, 0
for epoch in range(8):
    model.train()
    for b in train_loader:
        loss = criterion(model(b["numeric"], b["category"]), b["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step < 30:
            print(f"loss {step} {loss.item():.8f}")
        step += 1
    val_loss, auc = validate(model, valid_loader)
    if val_loss < best - 1e-3:
        best, kept, patience = val_loss, copy.deepcopy(model.state_dict()), 2
    else:
        patience -= 1
        if patience == 0:
            break
model.load_state_dict(kept)
val_loss, auc = validate(model, valid_loader)
print(f"quality positive {positive:.3f} loss {val_loss:.2f} auc {auc:.2f}")
