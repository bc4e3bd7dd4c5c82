"""Images of several sizes as one batch."""

from __future__ import annotations

import rushlight as rl


class ImageList:
    """Images in the top left corners of a batch.

    Parameters
    ----------
    tensors : Tensor (N, C, H, W)
        The batch, padded.
    image_sizes : list of (int, int)
        Height and width of each image without its padding.
    """

    def __init__(self, tensors: rl.Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device: rl.device) -> ImageList:
        """The same images on `device`."""
        return ImageList(self.tensors.to(device), self.image_sizes)
