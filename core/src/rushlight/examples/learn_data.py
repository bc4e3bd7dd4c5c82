"""Data: sets, loaders, and what goes wrong before training begins.

    rushlight examples run learn_data

More trainings fail by their data than by their network, and they fail silently. Here you read
recordings of heartbeats from files, batch sequences of different lengths, balance rare classes,
load with several processes, and see a split of the data that makes a network look perfect at a task
which cannot be done. The recordings are made up by the script. Read [modules and
training](learn_modules.md) first. It takes ten seconds, and leaves runs/learn_data/padding.png and
the recordings.
"""

# %% Files to begin with
# 40 people were recorded ten times each, for two to twelve seconds at 50 values a second. Everybody
# has a pulse and a shape of beat of their own. One recording in eight has missed beats, which is
# what a network is to find. Files of NumPy stand for whatever you have.
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
)

out = Path("runs/learn_data")
(out / "recordings").mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(0)
for person in range(40):
    pulse, width, echo = (
        random.uniform(0.8, 1.6),
        random.uniform(0.03, 0.08),
        random.uniform(0, 0.6),
    )
    for number in range(10):
        ticks = np.arange(int(50 * random.uniform(2, 12))) / 50
        beats = np.arange(0, ticks[-1] + 1, 1 / pulse) + random.normal(0, 0.02, 1)
        missed = random.random() < 1 / 8
        if missed:
            beats = beats[random.random(len(beats)) > 0.3]
        apart = ticks[:, None] - beats[None]
        wave = np.exp(-((apart / width) ** 2)) + echo * np.exp(-(((apart - 0.25) / 0.08) ** 2))
        signal = wave.sum(1) + 0.05 * random.normal(size=len(ticks))
        name = f"{person:02}-{number}-{'missed' if missed else 'regular'}.npy"
        np.save(out / "recordings" / name, signal.astype(np.float32))

# %% A dataset says how many, and what the n-th one is
# Two methods make a dataset: `__len__` and `__getitem__`. Find the files once, when it is made;
# read each when it is asked for, so that data may be larger than memory. Labels that are known from
# names or a table are worth keeping aside: balancing and splitting need all of them, and should not
# read every file.


class Recordings(Dataset):
    """Recordings of heartbeats; an item is a signal `[T]` and whether beats are missed."""

    def __init__(self, folder: Path) -> None:
        self.paths = sorted(folder.glob("*.npy"))
        self.labels = rl.tensor([int(path.stem.endswith("missed")) for path in self.paths])
        self.people = rl.tensor([int(path.stem.split("-")[0]) for path in self.paths])

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> tuple[rl.Tensor, int]:
        return rl.from_numpy(np.load(self.paths[index])), int(self.labels[index])


recordings = Recordings(out / "recordings")
signal, label = recordings[3]
print(len(recordings), "recordings; number 3:", tuple(signal.shape), signal.dtype, "label", label)
print("with missed beats:", recordings.labels.sum().item())

# %% Batches of different lengths
# A `DataLoader` takes items and puts them together: tensors are stacked, numbers become tensors,
# dicts and tuples are gone through. Signals of different lengths cannot be stacked, and the error
# says so.
try:
    next(iter(DataLoader(recordings, batch_size=4)))
except RuntimeError as error:
    print(str(error).splitlines()[0])

# %%
# So say yourself how a batch is made: pad to the longest, and keep the lengths. Forgetting them is
# a silent fault, for a network would read the padding as a heart that stopped.


def padded(items: list[tuple[rl.Tensor, int]]) -> tuple[rl.Tensor, rl.Tensor, rl.Tensor]:
    """Items -> signals `[N, T]` with zeros behind, lengths `[N]`, labels `[N]`."""
    signals, labels = zip(*items, strict=True)
    lengths = rl.tensor([len(signal) for signal in signals])
    return nn.utils.rnn.pad_sequence(signals, batch_first=True), lengths, rl.tensor(labels)


rl.manual_seed(0)
signals, lengths, labels = next(iter(DataLoader(recordings, 4, shuffle=True, collate_fn=padded)))
print(tuple(signals.shape), "lengths", lengths.tolist(), "labels", labels.tolist())

# %% Less padding: batches of similar length
# With random batches two fifths of the work is done on zeros. A batch sampler says which items go
# together. This one sorts within chunks of some batches, which leaves enough chance in the order,
# and shuffles the batches.


class SimilarLengths:
    """Batches of indices whose items are about equally long."""

    def __init__(self, lengths: list[int], size: int, chunk: int = 8) -> None:
        self.lengths, self.size, self.chunk = lengths, size, chunk

    def __iter__(self):
        order = rl.randperm(len(self.lengths)).split(self.size * self.chunk)
        rows = [sorted(part.tolist(), key=self.lengths.__getitem__) for part in order]
        batches = [row[i : i + self.size] for row in rows for i in range(0, len(row), self.size)]
        return iter([batches[i] for i in rl.randperm(len(batches)).tolist()])

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.size)


rl.manual_seed(1)
lengths = [len(recordings[i][0]) for i in range(len(recordings))]
loaders: dict[str, DataLoader] = {
    "random batches": DataLoader(recordings, 16, shuffle=True, collate_fn=padded),
    "similar lengths": DataLoader(
        recordings, batch_sampler=SimilarLengths(lengths, 16), collate_fn=padded
    ),
}
figure, axes = plt.subplots(2, 1, figsize=(8, 4.2), layout="constrained")
for axis, (name, loader) in zip(axes, loaders.items(), strict=True):
    batches = list(loader)
    size = sum(signals.numel() for signals, _, _ in batches)
    waste = 1 - sum(lengths) / size
    print(f"{name}: {waste:.0%} of {size / 1000:.0f} thousand values are padding")  # figures vary
    mask = [rl.arange(600) < length for _, many, _ in batches for length in many]
    wide = [rl.arange(600) < s.shape[1] for s, _, _ in batches for _ in range(len(s))]
    shown = rl.stack(mask).float() + rl.stack(wide).float()
    axis.imshow(
        shown.T.numpy(), cmap="GnBu", aspect="auto", interpolation="nearest", origin="lower"
    )
    axis.set(title=f"{name}: {waste:.0%} padding (light green)", ylabel="values", xticks=[])
axes[1].set_xlabel("recordings, in the order of a pass")
figure.savefig(out / "padding.png", dpi=100)

# %% Rare classes
# Seven of eight recordings are regular, and who always says "regular" is right that often. A
# sampler with weights draws rare ones as often as others. Measure on the data as they are, though:
# balanced accuracy, or precision and recall, not accuracy.
counts = rl.bincount(recordings.labels)
weights = (1 / counts)[recordings.labels]
balanced = WeightedRandomSampler(weights, num_samples=len(recordings))
for name, loader in (
    ("as they are", DataLoader(recordings, 16, shuffle=True, collate_fn=padded)),
    ("balanced", DataLoader(recordings, 16, sampler=balanced, collate_fn=padded)),
):
    share = rl.cat([labels for _, _, labels in loader]).float().mean()
    print(f"{name}: {share:.2f} with missed beats")

# %% The split that lies
# Now give every *person* a label by tossing a coin. There is nothing to learn: about somebody
# unseen, one can only guess. Yet with a random split a nearest neighbour is right nearly always,
# since other recordings of the same person are in what it has seen, and the shape of the beat gives
# the person away. Whatever comes in groups (people, patients, sources, days) must be split by
# group.


def features(signal: rl.Tensor) -> rl.Tensor:
    """The mean beat's shape: correlations of a signal with itself, 60 values apart at most."""
    even = (signal - signal.mean()) / signal.std()
    return rl.stack([(even[:-lag] * even[lag:]).mean() for lag in range(1, 61)])


shapes = rl.stack([features(recordings[i][0]) for i in range(len(recordings))])
people = recordings.people


def nearest_neighbour(coins: rl.Tensor, known: rl.Tensor, asked: rl.Tensor) -> float:
    """The share of asked rows whose nearest known neighbour has the same label."""
    nearest = known[rl.cdist(shapes[asked], shapes[known]).argmin(dim=1)]
    return (coins[people[nearest]] == coins[people[asked]]).float().mean().item()


def split(by: rl.Tensor) -> list[rl.Tensor]:
    """Rows of three quarters of the groups, and those of the others."""
    groups = rl.randperm(int(by.max()) + 1)
    return [
        rl.isin(by, part).nonzero().flatten()
        for part in groups.tensor_split([len(groups) * 3 // 4])
    ]


rl.manual_seed(2)
for name, by in (("at random", rl.arange(len(people))), ("by person", people)):
    right = [nearest_neighbour(rl.randint(0, 2, (40,)), *split(by)) for _ in range(50)]
    print(f"split {name}: {sum(right) / 50:.1%} right on average of 50 tosses")

# %% Several processes
# With `num_workers=2` two processes read ahead while the network computes, and tensors come back in
# shared memory. It pays where reading and decoding take long, as of a slow disk, which a pause
# stands for here. Data that are in memory need none: batches of a `TensorDataset` are gathered at
# once.


class Slow(Recordings):
    """Recordings behind a slow network: three milliseconds each."""

    def __getitem__(self, index: int) -> tuple[rl.Tensor, int]:
        time.sleep(0.003)
        return super().__getitem__(index)


for workers in (0, 2):
    loader = DataLoader(Slow(out / "recordings"), 16, num_workers=workers, collate_fn=padded)
    start = time.perf_counter()
    count = sum(len(labels) for _, _, labels in loader)
    print(
        f"{workers} workers: {count} items in {time.perf_counter() - start:.1f} s"
    )  # figures vary

# %%
# Random numbers are a trap there: NumPy's generator would be copied to all workers, in the same
# state. `rl.rand` is seeded differently in each of them, and so is Python's and NumPy's global
# generator. A generator of your own that you made beforehand is not: seed it from
# `get_worker_info().seed`, when a worker starts.


class Noise(Dataset):
    """A random number for each index, from a generator made beforehand."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> float:
        return round(self.generator.random(), 3)


def reseed(worker: int) -> None:
    """Give a worker's copy of the dataset random numbers of its own."""
    info = get_worker_info()
    info.dataset.generator = np.random.default_rng(info.seed)


for function in (None, reseed):
    rl.manual_seed(0)
    loader = DataLoader(Noise(), batch_size=1, num_workers=2, worker_init_fn=function)
    print("reseeded" if function else "copied  ", [batch.item() for batch in loader])

# %% Streams
# Where there is no n-th item, as in a log or a queue, write `__iter__` of an `IterableDataset`.
# Every worker runs all of it, so each must take its part, or you get everything twice.


class Log(IterableDataset):
    """Numbers as they come in."""

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from range(first, 12, step)


for workers in (0, 2):
    print(
        workers, "workers:", [batch.tolist() for batch in DataLoader(Log(), 4, num_workers=workers)]
    )

# %% Going on in the middle of a pass
# A long pass that was interrupted need not begin anew. `state_dict()` says where a loader stands,
# random states included, and the rest is the same as it would have been. PyTorch's loader cannot do
# that; the one of torchdata can.
rl.manual_seed(4)
everything = TensorDataset(shapes, recordings.labels)
loader = DataLoader(everything, batch_size=100, shuffle=True)
passing = iter(loader)
next(passing)
state = loader.state_dict()
expected = [labels for _, labels in passing]
resumed: DataLoader = DataLoader(everything, batch_size=100, shuffle=True)
resumed.load_state_dict(state)
same = [rl.equal(a, b) for (_, a), b in zip(resumed, expected, strict=True)]
print(len(same), "batches left, the same:", all(same))

# %% What next
# [Vision](learn_vision.md), [text](learn_text.md) and [audio](learn_audio.md) have datasets of
# their own, and transforms. [The Trainer](learn_trainer.md) keeps loaders' states in its
# checkpoints. [Loading data](data_loading.md) tells what happens when a worker dies.
