"""Is the review friendly? A convolutional network over words, three filter widths side by side."""

import random
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

GOOD = "lovely great charming brilliant warm funny touching clever".split()
BAD = "boring awful dull clumsy slow tired pointless loud".split()
THINGS = "plot cast music ending story dialogue film camera".split()
FILL = "the a was and with quite rather very for two hours".split()


def sentence(rng):
    label = rng.randrange(2)
    words = []
    for _ in range(rng.randint(2, 4)):
        flip = rng.random() < 0.25
        adjective = rng.choice((BAD, GOOD)[label != flip])
        words += ["the", rng.choice(THINGS), "was"] + ["not"] * flip + [adjective]
        words += rng.sample(FILL, rng.randint(0, 3))
    return words, label


class Vocab:
    def __init__(self, texts, min_freq=1):
        counts = Counter(w for words in texts for w in words)
        self.itos = ["<pad>", "<unk>"] + sorted(w for w, n in counts.items() if n >= min_freq)
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __call__(self, words):
        return [self.stoi.get(w, 1) for w in words]

    def __len__(self):
        return len(self.itos)


class Reviews(Dataset):
    def __init__(self, pairs, vocab):
        self.pairs, self.vocab = pairs, vocab

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        words, label = self.pairs[i]
        return torch.tensor(self.vocab(words)), label


def collate(batch):
    texts, labels = zip(*batch)
    padded = nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=0)
    return F.pad(padded, (0, max(0, 5 - padded.shape[1]))), torch.tensor(labels)


class TextCNN(nn.Module):
    def __init__(self, vocab_size, embed_dim=24, num_filters=12, sizes=(2, 3, 4), dropout=0.3):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv2d(1, num_filters, (k, embed_dim)) for k in sizes])
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(num_filters * len(sizes), 2)

    def forward(self, x):
        x = self.embedding(x).unsqueeze(1)
        x = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        x = [F.max_pool1d(i, i.size(2)).squeeze(2) for i in x]
        return self.fc(self.dropout(torch.cat(x, 1)))


def main():
    rng = random.Random(8)
    torch.manual_seed(8)
    pairs = [sentence(rng) for _ in range(500)]
    train, test = pairs[:400], pairs[400:]
    vocab = Vocab([words for words, _ in train])
    model = TextCNN(len(vocab))
    print(model)
    loader = DataLoader(
        Reviews(train, vocab), batch_size=32, shuffle=True, collate_fn=collate, drop_last=True
    )
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    step = 0
    for epoch in range(5):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()
            if step < 30:
                print(f"loss {step} {loss.item():.8f}")
            step += 1
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in DataLoader(Reviews(test, vocab), batch_size=50, collate_fn=collate):
            correct += (model(x).argmax(1) == y).sum().item()
    print(f"quality accuracy {correct / len(test):.2f}")


if __name__ == "__main__":
    main()
