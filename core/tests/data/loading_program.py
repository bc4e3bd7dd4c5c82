"""One program for both libraries: what loaders give, under one seed, as lines of text.

python loading_program.py rushlight|torch
"""

import importlib
import json
import random
import sys
import warnings

import numpy as np

NAME = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in ("torch", "rushlight") else "rushlight"
library = importlib.import_module(NAME)
data = importlib.import_module(NAME + ".utils.data")
COUNT = 23


class Noisy(data.Dataset):
    """Samples with random numbers of three generators, and what the worker knows of itself."""

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        info = data.get_worker_info()
        known = (-1, -1, -1) if info is None else (info.id, info.num_workers, info.seed % 2**62)
        return index, library.rand(3), random.random(), np.random.rand(2), known


class Stream(data.IterableDataset):
    """A stream that is longer in later workers."""

    def __iter__(self):
        info = data.get_worker_info()
        number = 0 if info is None else info.id
        for j in range(5 * (1 + number)):
            yield 1000 * number + j, library.rand(2)


class Eager(data.Sampler):
    """Draws its order from the global generator when it is asked for an iterator."""

    def __len__(self):
        return COUNT

    def __iter__(self):
        return iter(library.randperm(COUNT).tolist())


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def give(case, dataset=None, passes=2, **options):
    """Print everything that a loader gives, and what the generator gives afterwards."""
    found = []
    loader = data.DataLoader(dataset or Noisy(), **options)
    for _ in range(passes):
        found.append([plain(batch) for batch in loader])
    found.append(library.rand(2).tolist())
    print(case, json.dumps(found), flush=True)


def seed():
    library.manual_seed(5)
    random.seed(1)
    np.random.seed(2)


def samplers():
    generator = library.Generator()
    generator.manual_seed(9)
    return {
        "eager": {"sampler": Eager(), "batch_size": 5},
        "weighted": {"sampler": data.WeightedRandomSampler([0.1] * COUNT, 30), "batch_size": 4},
        "distributed": {"sampler": data.DistributedSampler(Noisy(), 3, 1), "batch_size": 4},
        "replaced": {"sampler": data.RandomSampler(Noisy(), True, 70), "batch_size": 4},
        "own": {"sampler": data.RandomSampler(Noisy(), generator=generator), "batch_size": 6},
        "batches": {
            "batch_sampler": data.BatchSampler(data.SubsetRandomSampler(range(5, 20)), 4, False)
        },
        "shuffled": {"shuffle": True, "batch_size": 4, "drop_last": True},
        "generator": {"shuffle": True, "batch_size": 4, "generator": generator},
        "unbatched": {"batch_size": None},
    }


def main():
    warnings.simplefilter("ignore")
    for workers in (0, 2):
        for name, options in samplers().items():
            seed()
            give(f"{name} {workers}", **options, num_workers=workers)
        for drop_last in (False, True):
            seed()
            options = {"batch_size": 3, "num_workers": workers, "drop_last": drop_last}
            give(f"stream {workers} {drop_last}", Stream(), **options)
    for dataset in (Noisy(), Stream()):
        seed()
        options = {"batch_size": 3, "num_workers": 3, "persistent_workers": True}
        give("persistent", dataset, 3, **options, prefetch_factor=4)
    seed()
    give("spawned", batch_size=4, num_workers=2, multiprocessing_context="spawn", passes=1)


if __name__ == "__main__":
    main()
