"""A decoder-only Transformer trained to add numbers written as characters, with top-k sampling."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    vocab_size: int = 13
    block_size: int = 12
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 32


class CausalSelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.qkv = nn.Linear(c.n_embd, 3 * c.n_embd)
        self.proj = nn.Linear(c.n_embd, c.n_embd)
        self.n_head = c.n_head
        mask = torch.tril(torch.ones(c.block_size, c.block_size))
        self.register_buffer("mask", mask.view(1, 1, c.block_size, c.block_size), persistent=False)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c.n_embd), nn.LayerNorm(c.n_embd)
        self.attn = CausalSelfAttention(c)
        self.mlp = nn.ModuleDict(
            dict(
                fc=nn.Linear(c.n_embd, 4 * c.n_embd),
                act=nn.GELU(approximate="tanh"),
                proj=nn.Linear(4 * c.n_embd, c.n_embd),
            )
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        m = self.mlp
        return x + m.proj(m.act(m.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        self.wpe = nn.Embedding(c.block_size, c.n_embd)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.n_layer)])
        self.ln_f = nn.LayerNorm(c.n_embd)
        self.head = nn.Linear(c.n_embd, c.vocab_size, bias=False)
        self.apply(self._init)
        self.wte.weight = self.head.weight

    def _init(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)
            if isinstance(m, nn.Linear) and m.bias is not None:
                torch.nn.init.zeros_(m.bias)

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.wte(idx) + self.wpe(pos)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1
            )
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, count, top_k=3):
        for _ in range(count):
            logits, _ = self(idx[:, -self.c.block_size :])
            logits = logits[:, -1, :]
            v, _ = torch.topk(logits, top_k)
            logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, -1), 1)), dim=1)
        return idx

    def configure(self, lr):
        decay = [p for n, p in self.named_parameters() if p.dim() >= 2]
        rest = [p for n, p in self.named_parameters() if p.dim() < 2]
        groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95))


def batch(size):
    a, b = torch.randint(0, 100, (2, size))
    s = a + b
    digits = [
        a // 10,
        a % 10,
        torch.full_like(a, 10),
        b // 10,
        b % 10,
        torch.full_like(a, 11),
        s % 10,
        s // 10 % 10,
        s // 100,
    ]
    x = torch.stack(digits, dim=1)
    y = x[:, 1:].clone()
    y[:, :5] = -1
    return x[:, :-1], y


torch.manual_seed(1337)
model = GPT(Config())
optimizer = model.configure(3e-3)
warmup = lambda it: min(1.0, (it + 1) / 10)  # noqa: E731
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup)
for it in range(60):
    x, y = batch(64)
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if it < 30:
        print(f"loss {it} {loss.item():.8f}")
print("parameters", sum(p.numel() for p in model.parameters()))
print("tokens", model.generate(batch(1)[0][:, :6], 3).tolist())
print(f"quality loss {loss.item():.4f}")
