"""What detectors do to images before they look at them, and to detections afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models.detection._inputs import Target
from rushlight_vision.models.detection.image_list import ImageList
from rushlight_vision.models.detection.roi_heads import paste_masks_in_image


class GeneralizedRCNNTransform(nn.Module):
    """Normalises images, scales them, and pads them to a batch.

    Parameters
    ----------
    min_size : int or tuple of int
        Length of the shorter side; of several, training draws one and evaluation takes the last.
    max_size : int
        The longer side is not longer.
    image_mean, image_std : list of float
        Of the channels.
    size_divisible : int, default 32
        Height and width of the batch are multiples of it.
    fixed_size : (int, int) or None
        Width and height that all images get, whatever their shape.

    Example
    -------
    >>> transform = GeneralizedRCNNTransform(32, 64, [0.5] * 3, [0.5] * 3)
    >>> batch, _ = transform([rl.zeros(3, 20, 30), rl.zeros(3, 40, 20)])
    >>> batch.tensors.shape, batch.image_sizes
    (rushlight.Size([2, 3, 64, 64]), [(32, 48), (64, 32)])
    """

    def __init__(
        self,
        min_size: Any,
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = min_size if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: list[rl.Tensor], targets: list[Target] | None = None
    ) -> tuple[ImageList, list[Target] | None]:
        """The batch, and targets whose boxes, masks and key points are scaled alike.

        Raises ValueError for images that have not three dimensions, TypeError for those that are
        not floating.
        """
        done, scaled = [], None if targets is None else [dict(each) for each in targets]
        for number, image in enumerate(images):
            if image.ndim != 3:
                raise ValueError(
                    "images is expected to be a list of 3d tensors of shape [C, H, W], got "
                    f"{tuple(image.shape)} for images[{number}]"
                )
            target = None if scaled is None else scaled[number]
            image, target = self.resize(self.normalize(image), target)
            done.append(image)
            if scaled is not None and target is not None:
                scaled[number] = target
        sizes = [(int(each.shape[-2]), int(each.shape[-1])) for each in done]
        return ImageList(self.batch_images(done, self.size_divisible), sizes), scaled

    def normalize(self, image: rl.Tensor) -> rl.Tensor:
        """The image (C, H, W) less the mean, over the deviation."""
        if not image.is_floating_point():
            raise TypeError(
                "Expected input images to be of floating type (in range [0, 1]), but found type "
                f"{image.dtype} instead"
            )
        kind: dict[str, Any] = {"dtype": image.dtype, "device": image.device}
        mean = rl.as_tensor(self.image_mean, **kind)[:, None, None]
        return (image - mean) / rl.as_tensor(self.image_std, **kind)[:, None, None]

    def torch_choice(self, k: list[int]) -> int:
        """One of `k`, drawn by the generator that draws everything else."""
        return k[int(rl.empty(1).uniform_(0.0, float(len(k))).item())]

    def resize(
        self, image: rl.Tensor, target: Target | None = None
    ) -> tuple[rl.Tensor, Target | None]:
        """An image (C, H, W) and its target, scaled."""
        before = tuple(image.shape[-2:])
        if self.training:
            if self._skip_resize:
                return image, target
            side = self.torch_choice(list(self.min_size))
        else:
            side = self.min_size[-1]
        image, target = _resize_image_and_masks(image, side, self.max_size, target, self.fixed_size)
        if target is None:
            return image, target
        after = tuple(image.shape[-2:])
        target["boxes"] = resize_boxes(target["boxes"], before, after)
        if "keypoints" in target:
            target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def max_by_axis(self, the_list: list[list[int]]) -> list[int]:
        """The largest number of each column."""
        return [max(column) for column in zip(*the_list, strict=True)]

    def batch_images(self, images: list[rl.Tensor], size_divisible: int = 32) -> rl.Tensor:
        """Images (C, H, W) as a batch (N, C, H, W), with zeros to the right and below."""
        shape = self.max_by_axis([list(each.shape) for each in images])
        step = float(size_divisible)
        shape[1:] = [int(math.ceil(side / step) * step) for side in shape[1:]]
        batch = images[0].new_full([len(images), *shape], 0)
        for number, image in enumerate(images):
            batch[number, : image.shape[0], : image.shape[1], : image.shape[2]] = image
        return batch

    def postprocess(
        self,
        result: list[Target],
        image_shapes: list[tuple[int, int]],
        original_image_sizes: list[tuple[int, int]],
    ) -> list[Target]:
        """Detections in pixels of the batch, which get pixels of the images; as they are in
        training."""
        if self.training:
            return result
        for found, now, size in zip(result, image_shapes, original_image_sizes, strict=True):
            found["boxes"] = resize_boxes(found["boxes"], now, size)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], size)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], now, size)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n"
            f"    Normalize(mean={self.image_mean}, std={self.image_std})\n"
            f"    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def _resize_image_and_masks(
    image: rl.Tensor,
    self_min_size: int,
    self_max_size: int,
    target: Target | None = None,
    fixed_size: tuple[int, int] | None = None,
) -> tuple[rl.Tensor, Target | None]:
    """An image (C, H, W) and the masks of its target, scaled."""
    options: dict[str, Any]
    if fixed_size is not None:
        options = {"size": [fixed_size[1], fixed_size[0]]}
    else:
        short, long = min(image.shape[-2:]), max(image.shape[-2:])
        scale = min(self_min_size / short, self_max_size / long)
        options = {"scale_factor": scale, "recompute_scale_factor": True}
    image = F.interpolate(image[None], mode="bilinear", align_corners=False, **options)[0]
    if target is not None and "masks" in target:
        masks = F.interpolate(target["masks"][:, None].float(), **options)
        target["masks"] = masks[:, 0].byte()
    return image, target


def _ratios(original_size: Any, new_size: Any) -> list[float]:
    """How much longer height and width become, in the precision of float32."""
    kind: dict[str, Any] = {"dtype": rl.float32}
    return (rl.tensor(list(new_size), **kind) / rl.tensor(list(original_size), **kind)).tolist()


def _scaled(points: rl.Tensor, factors: list[float]) -> rl.Tensor:
    """`points` times factors for their last dimension; whole numbers become float32."""
    kind = points.dtype if points.is_floating_point() else rl.float32
    return points * rl.tensor(factors, dtype=kind, device=points.device)


def resize_keypoints(
    keypoints: rl.Tensor, original_size: Sequence[int], new_size: Sequence[int]
) -> rl.Tensor:
    """Key points (..., 3), x, y and visibility, of an image of another height and width."""
    down, across = _ratios(original_size, new_size)
    return _scaled(keypoints, [across, down, 1.0])


def resize_boxes(
    boxes: rl.Tensor, original_size: Sequence[int], new_size: Sequence[int]
) -> rl.Tensor:
    """Boxes (N, 4), ``x1, y1, x2, y2``, of an image of another height and width.

    >>> resize_boxes(rl.tensor([[1.0, 2.0, 3.0, 4.0]]), [10, 10], [20, 10])
    tensor([[1., 4., 3., 8.]])
    """
    down, across = _ratios(original_size, new_size)
    return _scaled(boxes, [across, down, across, down])
