"""VisionDataset: what data sets of images have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rushlight.utils.data import Dataset


class StandardTransform:
    """One transform for the input and one for the target, called as one on both."""

    def __init__(
        self,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Input and target, each changed by its transform."""
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = ["StandardTransform"]
        for head, transform in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if transform is not None:
                first, *rest = repr(transform).splitlines()
                lines += [head + first, *(" " * len(head) + line for line in rest)]
        return "\n".join(lines)


class VisionDataset(Dataset):
    """Base of data sets of images: a root folder and transforms.

    Give either `transforms`, a function of input and target, or `transform` for the input and
    `target_transform` for the target. Subclasses define `__getitem__` and `__len__`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        transforms: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(
                f"{type(self).__name__}: only transforms or transform/target_transform can be given"
            )
        self.root = os.fspath(Path(root).expanduser()) if isinstance(root, (str, Path)) else root
        self.transform = transform
        self.target_transform = target_transform
        if transform is not None or target_transform is not None:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index: int) -> Any:
        """The sample of a number."""
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")

    def extra_repr(self) -> str:
        """Lines that a subclass adds to its description."""
        return ""

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body += repr(self.transforms).splitlines()
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])
