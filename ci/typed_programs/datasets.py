"""Datasets, samplers and loaders of one's own."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

from collections.abc import Iterator
from typing import Any

import rushlight as torch
from rushlight import Tensor
from rushlight.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    Subset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)


class Squares(Dataset[tuple[Tensor, int]]):
    """Numbers and their squares."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.tensor([float(index)]), index * index


class Stream(IterableDataset[int]):
    """Numbers, each worker's own."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        if info is None:
            return iter(range(10))
        return iter(range(info.id, 10, info.num_workers))


class Backwards(Sampler[int]):
    """From the last to the first."""

    def __init__(self, data: Squares) -> None:
        self.data = data

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data) - 1, -1, -1))

    def __len__(self) -> int:
        return len(self.data)


def collate(samples: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
    return torch.stack([x for x, _ in samples]), torch.tensor([y for _, y in samples])


data = Squares(10)
train, test = random_split(data, [8, 2], generator=torch.Generator().manual_seed(0))
reveal_type(train)  # note: "Subset[tuple[Tensor, int]]"
reveal_type(data[0])  # note: "tuple[Tensor, int]"
reveal_type(train[0])  # note: "tuple[Tensor, int]"
loader = DataLoader(data, batch_size=4, sampler=Backwards(data), collate_fn=collate)
reveal_type(loader)  # note: "DataLoader[tuple[Tensor, int]]"
for x, _ in loader:
    reveal_type(x)  # note: "Any"
streamed: DataLoader[int] = DataLoader(Stream(), batch_size=None, num_workers=0)
for number in streamed:
    print(number)
both = ConcatDataset([data, Squares(3)])
reveal_type(both)  # note: "ConcatDataset[tuple[Tensor, int]]"
reveal_type(len(both))  # note: "int"
part = Subset(data, [0, 1])
reveal_type(part)  # note: "Subset[tuple[Tensor, int]]"
reveal_type(part.indices)  # note: "Sequence[int]"
reveal_type(loader.batch_size)  # note: "int | None"
reveal_type(loader.dataset)  # note: "Dataset[tuple[Tensor, int]]"
weighted = WeightedRandomSampler([0.1, 0.9], num_samples=4, replacement=True)
listed: list[Any] = list(weighted)
reveal_type(default_collate([1, 2]))  # note: "Any"
reveal_type(next(iter(loader)))  # note: "Any"
