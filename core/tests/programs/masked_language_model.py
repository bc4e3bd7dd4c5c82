"""Fill in masked words of a small grammar with a Transformer encoder."""

import torch
import torch.nn as nn

WORDS = (
    "[pad] [mask] a the red blue old cat dog bird sees likes finds under over tree house".split()
)
ID = {w: i for i, w in enumerate(WORDS)}
SLOTS = [
    ["a", "the"],
    ["red", "blue", "old"],
    ["cat", "dog", "bird"],
    ["sees", "likes", "finds"],
    ["a", "the"],
    ["tree", "house"],
]


def sentences(n):
    columns = []
    for slot in SLOTS:
        ids = torch.tensor([ID[w] for w in slot])
        columns.append(ids[torch.randint(len(slot), (n,))])
    x = torch.stack(columns, 1)
    x[:, 4] = x[:, 0]  # the articles agree
    x[:, 5] = torch.where(x[:, 2] == ID["bird"], ID["tree"], x[:, 5])
    return x


class MLM(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.tok = nn.Embedding(len(WORDS), d, padding_idx=0)
        self.pos = nn.Parameter(0.02 * torch.randn(1, len(SLOTS), d))
        layer = nn.TransformerEncoderLayer(d, 3, 48, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(
            layer, 2, norm=nn.LayerNorm(d), enable_nested_tensor=False
        )
        self.bias = nn.Parameter(torch.zeros(len(WORDS)))

    def forward(self, x):
        return self.encoder(self.tok(x) + self.pos) @ self.tok.weight.t() + self.bias


torch.manual_seed(71)
model = MLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
swa = torch.optim.swa_utils.AveragedModel(model)
swa_scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=1e-3, anneal_epochs=5)
for step in range(30):
    x = sentences(48)
    hide = torch.rand(x.shape) < 0.25
    labels = x.masked_fill(~hide, -100)
    logits = model(x.masked_fill(hide, ID["[mask]"]))
    loss = nn.functional.cross_entropy(logits.view(-1, len(WORDS)), labels.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step >= 15:
        swa.update_parameters(model)
        swa_scheduler.step()
    print(f"loss {step} {loss.item():.7f}")
swa.eval()
with torch.no_grad():
    x = sentences(64)
    hidden = x.clone()
    hidden[:, 4] = ID["[mask]"]
    hits = (swa(hidden)[:, 4].argmax(-1) == x[:, 4]).float().mean().item()
print(f"quality accuracy {hits:.3f}")
