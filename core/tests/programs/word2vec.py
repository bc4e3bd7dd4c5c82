"""Skip-gram with negative sampling over sentences from a small grammar."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SUBJECTS = ["cat", "dog", "fox", "crow"]
VERBS = ["sees", "hears", "follows"]
OBJECTS = ["bread", "cheese", "fish", "corn"]
PLACES = ["kitchen", "field", "river", "barn"]


def corpus(sentences=150):
    words = []
    for _ in range(sentences):
        n = random.randrange(4)
        words += ["the", SUBJECTS[n], random.choice(VERBS), OBJECTS[n], "near", "the", PLACES[n]]
    return words


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.inner = nn.Embedding(vocab, dim)
        self.outer = nn.Embedding(vocab, dim)
        nn.init.uniform_(self.inner.weight, -0.5 / dim, 0.5 / dim)
        nn.init.normal_(self.outer.weight, std=0.1)

    def forward(self, center, context, negatives):
        c = self.inner(center)
        positive = F.logsigmoid((c * self.outer(context)).sum(1))
        negative = F.logsigmoid(-torch.bmm(self.outer(negatives), c.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + negative).mean()


def main():
    random.seed(0)
    torch.manual_seed(0)
    words = corpus()
    vocab = sorted(set(words))
    index = {word: i for i, word in enumerate(vocab)}
    ids = torch.tensor([index[word] for word in words])
    frequency = torch.bincount(ids).float() ** 0.75
    pairs = [
        (ids[i], ids[j])
        for i in range(len(ids))
        for j in range(max(0, i - 2), min(len(ids), i + 3))
        if i != j
    ]
    centers, contexts = (torch.stack(column) for column in zip(*pairs))
    model = SkipGram(len(vocab), 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    step = 0
    for epoch in range(3):
        order = torch.randperm(len(centers))
        for chunk in torch.chunk(order, 16):
            negatives = torch.multinomial(frequency, len(chunk) * 5, replacement=True).view(-1, 5)
            loss = model(centers[chunk], contexts[chunk], negatives)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step < 30:
                print(f"loss {step} {loss.item():.8f}")
            step += 1
    vectors = F.normalize(model.inner.weight.detach(), dim=1)
    near = vectors @ vectors[index["cat"]]
    top = torch.argsort(near, descending=True)[1:4].tolist()
    print("neighbours", [vocab[i] for i in top])
    print(f"quality loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
