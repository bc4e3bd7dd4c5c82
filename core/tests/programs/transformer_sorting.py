"""An encoder-decoder Transformer learns to sort digits; Noam learning rate."""

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])


class Sorter(nn.Module):
    def __init__(self, vocab=12, d=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.pos = PositionalEncoding(d)
        self.transformer = nn.Transformer(d, 4, 1, 2, 64, dropout=0.1, activation="gelu")
        self.fc = nn.Linear(d, vocab)
        self.d = d
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(0))
        padding = (src == 0).transpose(0, 1)
        out = self.transformer(
            self.pos(self.embed(src) * math.sqrt(self.d)),
            self.pos(self.embed(tgt)),
            tgt_mask=mask,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.fc(out)


def batch(n, length=6):
    x = torch.randint(1, 11, (length, n))
    x[-1, ::3] = 0
    y = torch.where(x == 0, torch.full_like(x, 11), x).sort(dim=0)[0]
    start = torch.zeros(1, n, dtype=torch.long)
    return x, torch.cat([start, y[:-1]]), y


torch.manual_seed(31)
model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
noam = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda s: 32**-0.5 * min((s + 1) ** -0.5, (s + 1) * 20**-1.5)
)
model.train()
for step in range(25):
    src, tgt_in, tgt = batch(32)
    loss = nn.functional.cross_entropy(model(src, tgt_in).flatten(0, 1), tgt.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    noam.step()
    print(f"loss {step} {loss.item():.7f}")
model.eval()
with torch.no_grad():
    src, tgt_in, tgt = batch(64)
    print(
        f"quality loss {nn.functional.cross_entropy(model(src, tgt_in).flatten(0, 1), tgt.flatten()):.3f}"
    )
