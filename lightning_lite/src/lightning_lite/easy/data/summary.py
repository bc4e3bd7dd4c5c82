"""What becomes of the first samples of a source, step by step, for `DataBlock.summary`."""

from __future__ import annotations

from typing import Any

import rushlight as rl


def short(value: Any) -> str:
    """A value in few words: large tensors by their shapes."""
    tensors = isinstance(value, list) and any(isinstance(each, rl.Tensor) for each in value)
    if isinstance(value, tuple) or tensors:
        return f"({', '.join(map(short, value))})"
    if isinstance(value, rl.Tensor) and (value.ndim > 1 or value.numel() > 20):
        return f"tensor {tuple(value.shape)} {str(value.dtype).removeprefix('rushlight.')}"
    words = str(value)
    return words if len(words) <= 200 else f"{words[:200]}..."


def name_of(step: Any) -> str:
    """What a step is called."""
    step = getattr(step, "function", step)
    return getattr(step, "__qualname__", type(step).__name__)


def show_parts(dsets: Any) -> None:
    """Print how the parts of the first training sample are made."""
    counts = f"{len(dsets.train)} items train, {len(dsets.valid)} validate"
    print(f"{counts}\nThe first item: {short(dsets.train.items[0])}")
    for number, reader in enumerate(dsets.readers):
        role = "input" if number < dsets.n_inp else "target"
        print(f"\nPart {number}, {role} of kind {reader.block.kind!r}:")
        value = dsets.train.items[0]
        for step in (reader.getter, reader.block.read, reader.block.coder):
            if step is not None:
                value = _done(step, value)
    print(f"\nThe first sample: {short(dsets.train[0])}")


def _done(step: Any, value: Any) -> Any:
    """Print what a step gives; the step's error names it."""
    try:
        made = step(value)
    except Exception as error:
        error.add_note(f"DataBlock.summary: {name_of(step)} was given {short(value)}")
        raise
    print(f"  {name_of(step)}: {short(made)}")
    return made


def show_batch_steps(dls: Any, count: int) -> None:
    """Print what transforms make of the first sample, and of a batch of the first `count`."""
    finished, collate = dls.train.dataset, dls.train.collate_fn
    if not hasattr(finished, "transforms"):
        print(f"\nA batch: {short(next(iter(dls.train)))}")
        return
    sample = finished.samples[0]
    print("\nTransforms of items:" if finished.transforms else "\nNo transforms of items")
    for each in finished.transforms:
        sample = _done(_Bound(each, finished.kinds), sample)
    samples = [finished[number] for number in range(min(count, len(finished)))]
    shapes = [short(each) for each in samples]
    print(f"\n{len(samples)} samples for a batch:\n  " + "\n  ".join(shapes))
    functions = getattr(collate, "functions", [])
    names = ", ".join(map(name_of, functions))
    print(f"\nTransforms of batches: {names}" if names else "\nNo transforms of batches")
    print(f"The batch: {short(collate(samples))}")


class _Bound:
    """A transform of samples of some kinds, as in training."""

    def __init__(self, transform: Any, kinds: tuple[str, ...]) -> None:
        self.function, self.kinds = transform, kinds

    def __call__(self, sample: Any) -> Any:
        return self.function(sample, self.kinds, 0)
