"""Batches of sentences of like length from a sampler of our own; an LSTM tags their words."""

import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler

TAGS = ["DET", "ADJ", "NOUN", "VERB", "ADV"]
LEXICON = {
    "DET": ["the", "a", "every", "this"],
    "ADJ": ["red", "small", "light", "kind"],
    "NOUN": ["dog", "light", "walk", "kind", "tree"],
    "VERB": ["runs", "walk", "light", "sees"],
    "ADV": ["slowly", "often", "well"],
}
WORDS = sorted({w for ws in LEXICON.values() for w in ws})
INDEX = {w: i + 1 for i, w in enumerate(WORDS)}


class Sentences(Dataset):
    def __init__(self, n, rng):
        self.rows = []
        for _ in range(n):
            tags = []
            for _ in range(rng.randint(1, 3)):
                tags += ["DET", *["ADJ"] * rng.randint(0, 2), "NOUN", "VERB"]
                tags += ["ADV"] * rng.randint(0, 1)
            words = [rng.choice(LEXICON[t]) for t in tags]
            self.rows.append(([INDEX[w] for w in words], [TAGS.index(t) for t in tags]))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        words, tags = self.rows[i]
        return torch.tensor(words), torch.tensor(tags)


class BucketBatchSampler(Sampler[list[int]]):
    """sort within pools of several batches, then shuffle the batches"""

    def __init__(self, lengths, batch_size, pool=4, generator=None):
        self.lengths, self.batch_size, self.pool = lengths, batch_size, pool
        self.generator, self.epoch = generator, 0

    def __iter__(self):
        order = torch.randperm(len(self.lengths), generator=self.generator).tolist()
        batches = []
        for start in range(0, len(order), self.batch_size * self.pool):
            chunk = order[start : start + self.batch_size * self.pool]
            chunk.sort(key=lambda i: self.lengths[i])
            batches += [
                chunk[k : k + self.batch_size] for k in range(0, len(chunk), self.batch_size)
            ]
        for b in torch.randperm(len(batches), generator=self.generator).tolist():
            yield batches[b]
        self.epoch += 1

    def __len__(self):
        return -(-len(self.lengths) // self.batch_size)


def collate(rows):
    rows = sorted(rows, key=lambda r: len(r[0]), reverse=True)
    words, tags = zip(*rows)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, True), pad_sequence(tags, True, padding_value=-100), lengths


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=16, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocab + 1, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True)
        hidden, _ = self.rnn(packed)
        hidden, _ = pad_packed_sequence(hidden, batch_first=True)
        return self.out(hidden)


def main():
    torch.manual_seed(6)
    rng = random.Random(6)
    data, held_out = Sentences(320, rng), Sentences(80, rng)
    sampler = BucketBatchSampler(
        [len(w) for w, _ in data.rows], 20, generator=torch.Generator().manual_seed(9)
    )
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
    model = Tagger(len(WORDS), len(TAGS))
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    step, padding = 0, 0
    for epoch in range(3):
        for words, tags, lengths in loader:
            padding += int((words == 0).sum())
            scores = model(words, lengths)
            loss = criterion(scores.transpose(1, 2), tags)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"loss {step} {loss.item():.8f}")
            step += 1
    words, tags, lengths = collate([held_out[i] for i in range(len(held_out))])
    with torch.no_grad():
        best = model(words, lengths).argmax(-1)
    mask = tags != -100
    accuracy = (best[mask] == tags[mask]).float().mean().item()
    print(f"quality accuracy {accuracy:.2f} padding {padding} epochs {sampler.epoch}")


if __name__ == "__main__":
    main()
