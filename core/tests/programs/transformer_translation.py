"""Translate numbers written in words to Roman numerals: encoder, decoder, masks, beam search."""

import math
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.lr_scheduler import LambdaLR

PAD, BOS, EOS = 0, 1, 2
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split()
)
ONES += "fifteen sixteen seventeen eighteen nineteen".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = {w: i + 3 for i, w in enumerate([*ONES, *TENS, "hundred", "and"])}
LETTERS = {c: i + 3 for i, c in enumerate("IVXLCDM")}


def english(n):
    words = []
    if n >= 100:
        words += [ONES[n // 100], "hundred"] + ["and"] * (n % 100 > 0)
    n %= 100
    if n >= 20:
        words.append(TENS[n // 10 - 2])
        n = n % 10
    return words + ([ONES[n]] if n else [])


def roman(n):
    text = ""
    for value, letters in zip(
        (500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
    ):
        text += letters * (n // value)
        n %= value
    return text


def encode(n):
    source = [WORDS[w] for w in english(n)] + [EOS]
    return torch.tensor(source), torch.tensor([BOS, *(LETTERS[c] for c in roman(n)), EOS])


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout=0.0, maxlen=40):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        table = torch.zeros((maxlen, emb_size))
        table[:, 0::2] = torch.sin(pos * den)
        table[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", table.unsqueeze(-2))

    def forward(self, x):
        return self.dropout(x + self.table[: x.size(0)])


class Seq2SeqTransformer(nn.Module):
    def __init__(self, d=32, heads=4):
        super().__init__()
        self.scale = math.sqrt(d)
        self.transformer = nn.Transformer(d, heads, 1, 1, dim_feedforward=64, dropout=0.0)
        self.src, self.tgt = nn.Embedding(len(WORDS) + 3, d), nn.Embedding(len(LETTERS) + 3, d)
        self.position = PositionalEncoding(d)
        self.generator = nn.Linear(d, len(LETTERS) + 3)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(0))
        out = self.transformer(
            self.position(self.src(src) * self.scale),
            self.position(self.tgt(tgt) * self.scale),
            tgt_mask=mask,
            src_key_padding_mask=(src == PAD).T,
            tgt_key_padding_mask=(tgt == PAD).T.to(torch.bool),
            memory_key_padding_mask=(src == PAD).T,
        )
        return self.generator(out)

    @torch.no_grad()
    def beam(self, source, width=3, longest=16):
        memory = self.transformer.encoder(self.position(self.src(source[:, None]) * self.scale))
        beams = [(0.0, [BOS])]
        for _ in range(longest):
            grown = []
            for score, ids in beams:
                if ids[-1] == EOS:
                    grown.append((score, ids))
                    continue
                y = self.position(self.tgt(torch.tensor(ids)[:, None]) * self.scale)
                mask = nn.Transformer.generate_square_subsequent_mask(len(ids))
                h = self.transformer.decoder(y, memory, tgt_mask=mask)
                logp = self.generator(h[-1, 0]).log_softmax(-1)
                for value, k in zip(*logp.topk(width)):
                    grown.append((score + value.item(), [*ids, k.item()]))
            beams = sorted(grown, key=lambda b: -b[0])[:width]
            if all(ids[-1] == EOS for _, ids in beams):
                break
        return beams[0][1][1:-1]


torch.manual_seed(88)
rng = random.Random(88)
model = Seq2SeqTransformer()
criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.02)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.9, 0.98), eps=1e-9)
scheduler = LambdaLR(optimizer, lambda i: min((i + 1) / 20, (20 / (i + 1)) ** 0.5))
for step in range(100):
    pairs = [encode(rng.randint(1, 599)) for _ in range(48)]
    src, tgt = (pad_sequence(side, padding_value=PAD) for side in zip(*pairs))
    logits = model(src, tgt[:-1])
    loss = criterion(logits.reshape(-1, logits.shape[-1]), tgt[1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step < 30:
        print(f"loss {step} {loss.item():.8f}")
model.eval()
letters = {i: c for c, i in LETTERS.items()}
for n in (7, 48, 312):
    print(
        " ".join(english(n)),
        roman(n),
        "".join(letters.get(i, "?") for i in model.beam(encode(n)[0])),
    )
print(f"quality loss {loss.item():.2f}")
