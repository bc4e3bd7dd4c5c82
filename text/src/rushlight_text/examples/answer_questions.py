"""Question answering: read a little story, say where somebody or something is.

    rushlight examples run answer_questions

Stories in the manner of the bAbI tasks (Weston et al. 2016) are made up as they are needed: people
go to rooms and carry things; the questions ask where a thing is, so that two or three sentences
have to be joined. A recurrent network reads sentence by sentence and learns to know, in the end,
where everybody and everything is (an entity network, Henaff et al. 2017, in its simplest form). The
baseline answers with the room that was mentioned last. A minute; leaves
runs/answer_questions/accuracy.png.
"""

from __future__ import annotations

import random
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

OUT = Path("runs/answer_questions")
PEOPLE, THINGS = ("mary", "john", "daniel"), ("apple", "ball", "milk")
ROOMS = ("kitchen", "garden", "office", "hall", "bedroom")
WORDS = (*PEOPLE, *THINGS, *ROOMS, "goes", "takes", "drops", ".")
PLACE = {word: i for i, word in enumerate(WORDS)}
SENTENCES = 8


def story(chance: random.Random) -> tuple[list[str], dict[str, str]]:
    """Words of a story, and the rooms of all that can be asked for."""
    rooms = {person: chance.choice(ROOMS) for person in PEOPLE}
    things = {thing: chance.choice(ROOMS) for thing in THINGS}
    words = [w for person, room in rooms.items() for w in (person, "goes", room, ".")]
    holder: dict[str, str] = {}
    touched = []
    while len(words) < 4 * SENTENCES:
        person = chance.choice(PEOPLE)
        mine = [thing for thing, owner in holder.items() if owner == person]
        if mine and chance.random() < 0.3:
            thing = chance.choice(mine)
            things[thing] = rooms[person]
            del holder[thing]
            words += [person, "drops", thing, "."]
        elif chance.random() < 0.5 and (free := [t for t in THINGS if t not in holder]):
            thing = chance.choice(free)
            holder[thing] = person
            touched.append(thing)
            words += [person, "takes", thing, "."]
        else:
            rooms[person] = chance.choice([room for room in ROOMS if room != rooms[person]])
            words += [person, "goes", rooms[person], "."]
    where = {thing: rooms[holder[thing]] if thing in holder else things[thing] for thing in touched}
    return words, {**rooms, **where}


def batch(size: int, chance: random.Random):
    """Words ``[B, sentences, 4]``, and rooms ``[B, 6]`` of people and things, -100 for unknown."""
    stories = [story(chance) for _ in range(size)]
    words = torch.tensor([[PLACE[word] for word in words] for words, _ in stories])
    rooms = [[ROOMS.index(where[name]) if name in where else -100 for name in (*PEOPLE, *THINGS)]
             for _, where in stories]  # fmt: skip
    return words.view(size, SENTENCES, 4), torch.tensor(rooms)


class Reader(nn.Module):
    """Scores ``[B, 6, 5]`` of rooms for everybody and everything."""

    def __init__(self, width: int = 64, state: int = 256):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), width)
        self.sentence = nn.Sequential(nn.Linear(4 * width, state), nn.ReLU())
        self.core = nn.GRU(state, state, batch_first=True)
        self.head = nn.Sequential(nn.Linear(state, state), nn.ReLU(), nn.Linear(state, 6 * 5))

    def forward(self, words):
        found, _ = self.core(self.sentence(self.words(words).flatten(2)))
        return self.head(found[:, -1]).unflatten(1, (6, 5))


@torch.no_grad()
def accuracy(model: Reader, words: torch.Tensor, rooms: torch.Tensor) -> float:
    """Of answers about things."""
    found, rooms = model(words)[:, 3:].argmax(2), rooms[:, 3:]
    return (found == rooms)[rooms >= 0].float().mean().item()


def train(model: Reader, steps: int, rate: float) -> list[tuple[int, float]]:
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps, pct_start=0.2
    )
    chance, seen = random.Random(1), []
    asked = batch(500, random.Random(3))
    for step in range(steps):
        words, rooms = batch(64, chance)
        loss = F.cross_entropy(model(words).flatten(0, 1), rooms.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 200 == 199:
            seen.append((step + 1, accuracy(model, *asked)))
            print(f"step {step + 1:5d}   accuracy {seen[-1][1]:.1%}", flush=True)
    return seen


def main() -> None:
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    model = Reader()
    seen = train(model, 2400, 2e-3)
    chance = random.Random(2)
    stories = [story(chance) for _ in range(1000)]
    last = [[w for w in words if w in ROOMS][-1] == where[thing]
            for words, where in stories for thing in THINGS if thing in where]  # fmt: skip
    before = sum(last) / len(last)
    score = accuracy(model, *batch(1000, random.Random(2)))
    figure, axis = plt.subplots(figsize=(5, 3.2))
    axis.plot(*zip(*seen, strict=True))
    axis.axhline(before, color="gray", linestyle="--", label="last room")
    axis.set(xlabel="step", ylabel="accuracy", ylim=(0, 1.02))
    axis.legend()
    figure.tight_layout()
    figure.savefig(OUT / "accuracy.png", dpi=120)
    print(" ".join(stories[0][0]), stories[0][1])
    print(
        f"{score:.1%} of questions about 1,000 stories right; the last room mentioned {before:.1%}"
    )
    assert score > 0.8 > before


if __name__ == "__main__":
    main()
