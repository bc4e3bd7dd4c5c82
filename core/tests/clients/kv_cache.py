"""A small decoder trained to count, then generating with a cache of keys and values."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Config:
    block_size: int = 24
    vocab_size: int = 12
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 24


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        self.register_buffer(
            "bias",
            torch.tril(torch.ones(config.block_size, config.block_size)).view(
                1, 1, config.block_size, config.block_size
            ),
            persistent=False,
        )
        self.n_head = config.n_head

    def forward(self, x, past=None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        if past is not None:
            k, v = torch.cat((past[0], k), dim=-2), torch.cat((past[1], v), dim=-2)
        S = k.size(-2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, S - T : S, :S] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), (k, v)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(config.n_embd), nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.ModuleDict(
            dict(
                c_fc=nn.Linear(config.n_embd, 4 * config.n_embd),
                act=nn.GELU(approximate="tanh"),
                c_proj=nn.Linear(4 * config.n_embd, config.n_embd),
            )
        )

    def forward(self, x, past=None):
        a, present = self.attn(self.ln_1(x), past)
        x = x + a
        m = self.mlp
        return x + m.c_proj(m.act(m.c_fc(self.ln_2(x)))), present


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=nn.LayerNorm(config.n_embd),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.n_layer))

    def forward(self, idx, targets=None, past=None):
        start = 0 if past is None else past[0][0].size(-2)
        pos = torch.arange(start, start + idx.size(1), dtype=torch.long).unsqueeze(0)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        presents = []
        for i, block in enumerate(self.transformer.h):
            x, present = block(x, None if past is None else past[i])
            presents.append(present)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = (
            None
            if targets is None
            else F.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1
            )
        )
        return logits, loss, presents

    @torch.no_grad()
    def generate(self, idx, n, cache=True):
        past, feed = None, idx
        for _ in range(n):
            logits, _, presents = self(feed, past=past)
            nxt = torch.argmax(logits[:, -1, :], dim=-1, keepdim=True)
            idx = torch.cat((idx, nxt), dim=1)
            past, feed = (presents, nxt) if cache else (None, idx)
        return idx, logits


torch.manual_seed(1337)
model = GPT(Config())
decay = [p for p in model.parameters() if p.dim() >= 2]
other = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}],
    lr=3e-3,
    betas=(0.9, 0.95),
)
losses = []
for it in range(60):
    start = torch.randint(12, (8, 1))
    seq = (start + torch.arange(17) * (1 + start % 2)) % 12
    x, y = seq[:, :-1], seq[:, 1:].clone()
    y[:, 0] = -1
    _, loss, _ = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
model.eval()
prompt = torch.tensor([[2, 3, 4], [3, 5, 7]])
(cached, a), (plain, b) = model.generate(prompt, 12), model.generate(prompt, 12, cache=False)
print(f"first = {losses[0]:.6g}\nlast = {losses[-1]:.6g}")
print(f"same = {int(torch.equal(cached, plain))}")
print(f"near = {int(torch.allclose(a[:, -1], b[:, -1], atol=1e-4))}")
