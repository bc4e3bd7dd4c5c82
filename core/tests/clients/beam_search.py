"""A GRU encoder and decoder that reverse strings; packed sequences, teacher forcing, beam search."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, bidirectional=True)

    def forward(self, seqs, lengths):
        packed = pack_padded_sequence(self.embedding(seqs), lengths, enforce_sorted=False)
        outputs, hidden = self.gru(packed)
        outputs, lens = pad_packed_sequence(outputs)
        H = self.gru.hidden_size
        return outputs[:, :, :H] + outputs[:, :, H:], torch.tanh(hidden.sum(0, keepdim=True))


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden)
        self.gru = nn.GRU(hidden, hidden)
        self.concat = nn.Linear(hidden * 2, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, step, hidden, memory, mask):
        rnn, hidden = self.gru(self.embedding(step).unsqueeze(0), hidden)
        energy = torch.einsum("obh,sbh->bs", rnn, memory).masked_fill(mask, -1e9)
        context = torch.bmm(F.softmax(energy, dim=1).unsqueeze(1), memory.transpose(0, 1)).squeeze(
            1
        )
        return F.log_softmax(
            self.out(torch.tanh(self.concat(torch.cat((rnn[0], context), 1)))), 1
        ), hidden


@torch.no_grad()
def beam(encoder, decoder, seq, width=3, limit=8):
    memory, hidden = encoder(seq[:, None], torch.tensor([len(seq)]))
    mask = torch.zeros(1, len(seq), dtype=torch.bool)
    beams = [(0.0, [SOS], hidden)]
    done = []
    for _ in range(limit):
        memory_b = memory.expand(-1, len(beams), -1)
        hid = torch.cat([b[2] for b in beams], dim=1)
        last = torch.tensor([b[1][-1] for b in beams])
        logp, hid = decoder(last, hid, memory_b, mask.expand(len(beams), -1))
        scores = logp + torch.tensor([b[0] for b in beams])[:, None]
        top, flat = scores.view(-1).topk(width)
        source, token = torch.div(flat, logp.size(1), rounding_mode="trunc"), flat % logp.size(1)
        new = []
        for s, b, t in zip(top.tolist(), source.tolist(), token.tolist()):
            item = (s, beams[b][1] + [t], hid[:, b : b + 1])
            (done if t == EOS else new).append(item)
        beams = new
        if not beams or len(done) >= width:
            break
    best = max(done or beams, key=lambda b: b[0] / len(b[1]))
    return best[1][1:], best[0] / len(best[1])


torch.manual_seed(7)
random.seed(7)
encoder, decoder = Encoder(8, 24), Decoder(8, 24)
opt = torch.optim.Adam(list(encoder.parameters()) + list(decoder.parameters()), lr=0.01)
losses = []
for it in range(70):
    seqs = [torch.randint(3, 8, (random.randint(2, 4),)) for _ in range(12)]
    lengths = torch.tensor([len(s) for s in seqs])
    src = pad_sequence(seqs)
    tgt = pad_sequence(
        [torch.cat((s.flip(0), torch.tensor([EOS]))) for s in seqs], padding_value=PAD
    )
    memory, hidden = encoder(src, lengths)
    mask = torch.arange(src.size(0))[None] >= lengths[:, None]
    step, loss = torch.full((12,), SOS), 0
    for t in range(tgt.size(0)):
        logp, hidden = decoder(step, hidden, memory, mask)
        loss += F.nll_loss(logp, tgt[t], ignore_index=PAD, reduction="sum")
        step = tgt[t] if random.random() < 0.7 else logp.topk(1)[1].squeeze(1).detach()
    loss = loss / (lengths + 1).sum()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(decoder.parameters(), 1.0)
    opt.step()
    losses.append(loss.item())
found, score = beam(encoder, decoder, torch.tensor([3, 4, 6]))
print("first = %.6g" % losses[0])
print("tenth = %.6g" % losses[9])
print("last = %.6g" % losses[-1])
print("length = %d" % len(found))
