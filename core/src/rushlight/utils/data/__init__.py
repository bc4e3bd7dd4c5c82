"""Datasets, samplers and the data loader."""

from rushlight.utils.data.collate import default_collate, default_convert
from rushlight.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from rushlight.utils.data.iteration import _DatasetKind
from rushlight.utils.data.loader import DataLoader
from rushlight.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from rushlight.utils.data.workers import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

_PIPES = frozenset("DataChunk IterDataPipe MapDataPipe functional_datapipe".split())
# Of PyTorch's pipes of small steps these are not there: they say what to do instead.
_REFUSED = frozenset(
    "DFIterDataPipe argument_validation guaranteed_datapipes_determinism non_deterministic "
    "runtime_validation runtime_validation_disabled".split()
)
_LATE = frozenset(("_utils", "dataloader", "datapipes", "distributed", "graph", "graph_settings"))


def __getattr__(name):
    """PyTorch's other paths, imported at first use."""
    import importlib

    if name in _LATE:
        return importlib.import_module("rushlight.utils.data." + name)
    if name == "DistributedSampler":
        return importlib.import_module("rushlight.utils.data.distributed").DistributedSampler
    if name in _PIPES:
        return getattr(importlib.import_module("rushlight.utils.data.datapipes"), name)
    if name in _REFUSED:
        return importlib.import_module("rushlight.refusals").lookup("utils.data", name)
    raise AttributeError(f"module 'rushlight.utils.data' has no attribute '{name}'")
