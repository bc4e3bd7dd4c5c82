"""A program of 2019: fields, buckets, packed sequences, an LSTM."""

import random
import sys

import torch
import torch.nn as nn
from torchtext import data

random.seed(0)
torch.manual_seed(0)

with open(sys.argv[1] + "/reviews.csv", "w") as file:
    print("text,label", file=file)
    for _ in range(200):
        label = random.choice(["pos", "neg"])
        words = random.choices("the film plot actor scene was is".split(), k=random.randint(3, 9))
        words.insert(random.randint(0, 3), {"pos": "wonderful", "neg": "awful"}[label])
        print(" ".join(words), label, sep=",", file=file)

TEXT = data.Field(lower=True, include_lengths=True)
LABEL = data.LabelField(dtype=torch.float)
reviews = data.TabularDataset(
    sys.argv[1] + "/reviews.csv", "csv", [("text", TEXT), ("label", LABEL)], skip_header=True
)
train, test = reviews.split(0.8, random_state=random.seed(1) or random.getstate())
TEXT.build_vocab(train, max_size=100)
LABEL.build_vocab(train)
train_batches, test_batches = data.BucketIterator.splits(
    (train, test), batch_size=16, sort_within_batch=True, sort_key=lambda x: len(x.text)
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(TEXT.vocab), 16, padding_idx=TEXT.vocab.stoi["<pad>"])
        self.rnn = nn.LSTM(16, 16, bidirectional=True)
        self.fc = nn.Linear(32, 1)

    def forward(self, text, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(text), lengths.cpu())
        _, (hidden, _) = self.rnn(packed)
        return self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)).squeeze(1)


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    for batch in train_batches:
        optimizer.zero_grad()
        loss = criterion(model(*batch.text), batch.label)
        loss.backward()
        optimizer.step()
right = total = 0
with torch.no_grad():
    for batch in test_batches:
        found = model(*batch.text) > 0
        right += (found == batch.label.bool()).sum().item()
        total += len(batch)
print(f"{right} of {total} right")
