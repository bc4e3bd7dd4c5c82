"""Reverse digit strings of different lengths: packed bidirectional GRU, additive attention."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * hidden, hidden)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(
            self.embed(x), lengths, batch_first=True, enforce_sorted=False
        )
        out, h = self.gru(packed)
        out, _ = pad_packed_sequence(out, batch_first=True)
        return out, torch.tanh(self.bridge(torch.cat((h[0], h[1]), dim=1)))


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.Wa, self.Ua = nn.Linear(hidden, hidden), nn.Linear(2 * hidden, hidden)
        self.Va = nn.Linear(hidden, 1)
        self.cell = nn.GRUCell(3 * hidden, hidden)
        self.out = nn.Linear(3 * hidden, vocab)

    def forward(self, token, h, memory, mask):
        scores = self.Va(torch.tanh(self.Wa(h).unsqueeze(1) + self.Ua(memory))).squeeze(2)
        weights = F.softmax(scores.masked_fill(~mask, -1e9), dim=1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        h = self.cell(torch.cat((self.embed(token), context), dim=1), h)
        return self.out(torch.cat((h, context), dim=1)), h


def make_batch(n):
    rows = [
        torch.tensor([random.randint(3, 12) for _ in range(random.randint(3, 7))]) for _ in range(n)
    ]
    source = pad_sequence(rows, batch_first=True, padding_value=PAD)
    target = pad_sequence(
        [torch.cat((r.flip(0), torch.tensor([EOS]))) for r in rows],
        batch_first=True,
        padding_value=PAD,
    )
    return source, target, torch.tensor([len(r) for r in rows])


random.seed(9)
torch.manual_seed(9)
encoder, decoder = Encoder(13, 24), Decoder(13, 24)
parameters = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.Adam(parameters, lr=8e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(30):
    source, target, lengths = make_batch(24)
    memory, h = encoder(source, lengths)
    mask = source != PAD
    token, outputs = torch.full((24,), SOS), []
    for t in range(target.size(1)):
        logits, h = decoder(token, h, memory, mask)
        outputs.append(logits)
        token = target[:, t] if random.random() < 0.7 else logits.argmax(1)
    loss = criterion(torch.stack(outputs, dim=1).transpose(1, 2), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(parameters, 0.5)
    optimizer.step()
    print(f"loss {step} {loss.item():.7f}")
print(f"quality loss {loss.item():.3f}")
