"""Rank songs for listeners: two towers, bags of tags, pairwise ranking loss, hit rate at ten."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset

USERS, SONGS, TAGS = 80, 120, 20


class World:
    def __init__(self):
        self.tags = [torch.randperm(TAGS)[: int(torch.randint(1, 5, ()))] for _ in range(SONGS)]
        taste = torch.randn(USERS, TAGS)
        style = torch.zeros(SONGS, TAGS)
        for s, tags in enumerate(self.tags):
            style[s, tags] = 1
        score = taste @ style.T + torch.randn(USERS, SONGS) * 0.5
        self.liked = score.topk(16, dim=1).indices
        self.train, self.test = self.liked[:, 1:], self.liked[:, 0]
        self.heard = torch.zeros(USERS, SONGS, dtype=torch.bool)
        self.heard.scatter_(1, self.train, True)
        self.flat = torch.cat(self.tags)
        sizes = torch.tensor([len(t) for t in self.tags])
        self.offsets = torch.cumsum(sizes, 0) - sizes


class Triplets(IterableDataset):
    """user, a song the user likes, one the user has not heard"""

    def __init__(self, world, count):
        self.world, self.count = world, count

    def __iter__(self):
        for _ in range(self.count):
            u = int(torch.randint(USERS, (1,)))
            good = self.world.train[u, torch.randint(self.world.train.size(1), ())]
            while True:
                bad = torch.randint(SONGS, ())
                if not self.world.heard[u, bad]:
                    break
            yield u, good, bad


class TwoTowers(nn.Module):
    def __init__(self, world, dim=16):
        super().__init__()
        self.user = nn.Embedding(USERS, dim)
        self.song = nn.Embedding(SONGS, dim, max_norm=2.0)
        self.tags = nn.EmbeddingBag(TAGS, dim, mode="mean", include_last_offset=False)
        self.merge = nn.Bilinear(dim, dim, dim, bias=False)
        self.register_buffer("flat", world.flat)
        self.register_buffer("offsets", world.offsets)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.song.weight, std=0.1)

    def songs(self):
        tags = self.tags(self.flat, self.offsets)
        song = self.song(torch.arange(SONGS))
        return song + tags + 0.1 * self.merge(song, tags)

    def forward(self, user, good, bad):
        u, songs = self.user(user), self.songs()
        return (u * songs[good]).sum(-1) - (u * songs[bad]).sum(-1)


torch.manual_seed(63)
world = World()
model = TwoTowers(world)
decay = [model.user.weight, model.song.weight]
rest = [p for p in model.parameters() if all(p is not d for d in decay)]
optimizer = torch.optim.Adam([{"params": decay, "weight_decay": 1e-4}, {"params": rest}], lr=0.02)
step = 0
for epoch in range(3):
    for user, good, bad in DataLoader(Triplets(world, 1024), batch_size=64):
        margin = model(user, good, bad)
        loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {step} {loss.item():.8f}")
        step += 1
with torch.no_grad():
    scores = model.user.weight @ model.songs().T
    scores = scores.masked_fill(world.heard, float("-inf"))
    top = scores.topk(10).indices
    hits = (top == world.test.unsqueeze(1)).any(1).float().mean().item()
print(f"quality hits {hits:.2f}")
