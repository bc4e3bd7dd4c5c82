"""Turning indices into batches: for datasets with items, for streams, and for whole tensors."""

from __future__ import annotations

from rushlight.machine import np
from rushlight.tensor.tensor import Tensor, make_tensor
from rushlight.utils.data.collate import default_collate
from rushlight.utils.data.dataset import Subset, TensorDataset


class _BaseDatasetFetcher:
    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def fetch(self, possibly_batched_index):
        """The batch (or, without batching, the sample) for what a sampler gave."""
        raise NotImplementedError(f"{type(self).__name__} must define fetch()")


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes samples from a stream; indices only say how many."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def fetch(self, possibly_batched_index):
        """The next batch; StopIteration at the end of the stream."""
        return self.collate_fn(self._take(possibly_batched_index))

    def _take(self, indices):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return next(self.dataset_iter)
        samples = []
        for _ in indices:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(indices)):
            raise StopIteration
        return samples

    def skip(self, indices) -> None:
        """Take what a batch needs, and leave it."""
        self._take(indices)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes samples by their indices, the whole batch at once where the dataset can."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        whole = auto_collation and collate_fn is default_collate
        self._rows = _rows_of(dataset) if whole else None
        many = getattr(dataset, "__getitems__", None)
        self._many = many if auto_collation and callable(many) else None

    def fetch(self, possibly_batched_index):
        """The batch of a list of indices, or the sample of one."""
        if self._rows is not None:
            batch = self._rows(possibly_batched_index)
            if batch is not None:
                return batch
        if self._many is not None:
            samples = self._many(possibly_batched_index)
        elif self.auto_collation:
            samples = [self.dataset[index] for index in possibly_batched_index]
        else:
            samples = self.dataset[possibly_batched_index]
        return self.collate_fn(samples)


class _Rows:
    """Batches of tensors' rows by one gather each: what collating the rows one by one gives."""

    def __init__(self, tensors, indices):
        self.tensors, self.indices = tensors, indices

    def __call__(self, rows):
        """The batch; None where the rows must be looked up one by one (odd indices, errors)."""
        try:
            found = np.asarray(rows)
        except (TypeError, ValueError):
            return None
        if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
            return None
        for indices in self.indices:
            if not _inside(found, len(indices)):
                return None
            found = indices[found]
        arrays = [tensor._array for tensor in self.tensors]
        count = len(arrays[0])
        if not _inside(found, count) or not all(map(_is_plain, self.tensors)):
            return None
        return [_gathered(tensor, found) for tensor in self.tensors]


def _inside(rows, count):
    """Whether all rows are there. As unsigned numbers, negative ones are too large."""
    return int(rows.view(f"u{rows.itemsize}").max()) < count


def _is_plain(tensor):
    return type(tensor) is Tensor and tensor._node is None and tensor._device.type == "cpu"


def _gathered(tensor, rows):
    # Rows are inside: "clip" only saves NumPy the check, for which it would copy once more.
    return make_tensor(tensor._array.take(rows, 0, mode="clip"), tensor._dtype)


def _rows_of(dataset):
    """The gatherer of a TensorDataset, or of subsets of one; None for other datasets."""
    indices = []
    while type(dataset) is Subset:
        try:
            rows = np.asarray(dataset.indices)
        except (TypeError, ValueError):
            return None
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            return None
        indices.append(rows)
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not dataset.tensors:
        return None
    return _Rows(dataset.tensors, indices)
