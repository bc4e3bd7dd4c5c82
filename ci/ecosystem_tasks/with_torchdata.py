"""torchdata: StatefulDataLoader resumed in mid-epoch with and without workers; chains of nodes."""

import torch
from common import report
from torch.utils.data import Dataset, IterableDataset
from torch.utils.data.datapipes.iter import IterableWrapper
from torchdata.nodes import (
    Batcher,
    Loader,
    MapStyleWrapper,
    MultiNodeWeightedSampler,
    ParallelMapper,
    Prefetcher,
)
from torchdata.nodes import (
    IterableWrapper as Items,
)
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler


class Squares(Dataset):
    """Items with random numbers."""

    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.tensor([i, i * i]) + torch.randint(1000, ()) // 1000


class Counting(IterableDataset):
    """A stream that knows where it is."""

    def __init__(self, count):
        self.count, self.at = count, 0

    def __iter__(self):
        while self.at < self.count:
            self.at += 1
            yield self.at
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def resumed(make, batches=3):
    """A pass; what is left of it after a state; the pass after that."""
    torch.manual_seed(5)
    loader, seen = make(), []
    for number, batch in enumerate(loader, 1):
        seen.append(batch)
        if number == batches:
            state = loader.state_dict()
    again = make()
    again.load_state_dict(state)
    return {"whole": seen, "rest": list(again), "next": list(again), "random": torch.rand(1)}


def doubled(item):
    return {key: 2 * value for key, value in item.items()}


def nodes():
    def make():
        items = MapStyleWrapper({i: {"x": torch.tensor([i])} for i in range(12)}, range(12))
        mapped = ParallelMapper(items, doubled, num_workers=2, method="thread", in_order=True)
        return Loader(Prefetcher(Batcher(mapped, 3, drop_last=False), prefetch_factor=2))

    found = resumed(make, 2)
    mixed = MultiNodeWeightedSampler(
        {"a": Items(range(10)), "b": Items(range(100, 110))}, {"a": 0.3, "b": 0.7}, seed=3
    )
    return {**found, "mixed": list(Loader(mixed))}


def main():
    found = {"nodes": nodes()}
    for workers in (0, 2):
        more = {"num_workers": workers, "persistent_workers": workers > 0}
        data = Squares()
        found[f"items {workers}"] = resumed(
            lambda d=data, m=more: StatefulDataLoader(d, batch_size=4, shuffle=True, **m)
        )
        found[f"stream {workers}"] = resumed(
            lambda m=more: StatefulDataLoader(Counting(14), batch_size=4, **m)
        )
        found[f"share {workers}"] = resumed(
            lambda d=data, m=more: StatefulDataLoader(
                d, 3, sampler=StatefulDistributedSampler(d, 2, 1, shuffle=True, seed=4), **m
            ),
            2,
        )
        pipe = IterableWrapper(range(20)).shuffle().sharding_filter()
        found[f"pipe {workers}"] = list(
            StatefulDataLoader(pipe, batch_size=4, shuffle=True, num_workers=workers)
        )
    report(**found)


if __name__ == "__main__":
    main()
