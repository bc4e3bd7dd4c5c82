"""FakeData: noise in the shape of a data set, for trying out programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import rushlight as rl
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.transforms.functional import to_pil_image


class FakeData(VisionDataset):
    """`size` random images of shape `image_size` (C, H, W) with labels below `num_classes`.

    Item i is drawn with the seed `i + random_offset`, so it is always the same; the default
    generator goes on as if nothing had been drawn.
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The image and label of a number, changed by the transforms."""
        if not 0 <= index < len(self):
            raise IndexError(f"FakeData: index {index} of {len(self)} items")
        state = rl.get_rng_state()
        try:
            rl.manual_seed(index + self.random_offset)
            noise = rl.randn(*self.image_size)
            target: Any = int(rl.randint(0, self.num_classes, size=(1,))[0])
        finally:
            rl.set_rng_state(state)
        image: Any = to_pil_image(noise)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return self.size
