"""RandomErasing, MixUp and CutMix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import PIL.Image

import rushlight as rl
from rushlight_vision import tv_tensors
from rushlight_vision.transforms.erasing import RandomErasing as FirstErasing
from rushlight_vision.transforms.erasing import random_rectangle
from rushlight_vision.transforms.sampling import dirichlet, integer
from rushlight_vision.transforms.v2 import functional as F
from rushlight_vision.transforms.v2._arguments import labels_getter as as_getter
from rushlight_vision.transforms.v2._transform import (
    RandomApplyTransform,
    Transform,
    flattened,
    has_any,
    query_chw,
    query_size,
    rebuilt,
)
from rushlight_vision.tv_tensors._base import plain


class RandomErasing(RandomApplyTransform):
    """A random rectangle of images overwritten with probability `p` (Zhong et al., 2017).

    `value` is a number, one for every channel, or "random" for normal noise.
    """

    _pixels_only = True

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
        *,
        generator: rl.Generator | None = None,
        per_sample: bool = False,
    ) -> None:
        super().__init__(p=p, generator=generator, per_sample=per_sample)
        FirstErasing(p, scale, ratio, value, inplace)  # looks at the arguments
        self.scale, self.ratio, self.inplace = scale, ratio, inplace
        self.value = [float(value)] if isinstance(value, (int, float)) else value
        if self.value == "random":
            self.value = None

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rectangle and what to write; nothing where none fits."""
        size = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, size[0]):
            raise ValueError(
                f"RandomErasing: value holds {len(self.value)} numbers; expected 1 or {size[0]}"
            )
        found = random_rectangle(size, self.scale, self.ratio, self.value)
        return {} if found is None else dict(zip("ijhwv", found, strict=True))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The image with its rectangle."""
        if not params:
            return inpt
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace)

    def _transform_batch(self, inpt: Any, params: list[dict[str, Any] | None]) -> Any:
        pixels: Any = plain(inpt)
        result = pixels if self.inplace else pixels.clone()
        for at, each in enumerate(params):
            if each:
                F.erase_image(result[at], **each, inplace=True)
        return inpt if self.inplace else tv_tensors.wrap(result, like=inpt)


class _Mixing(Transform):
    """Batches of images and labels, mixed with themselves shifted by one."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        num_classes: int | None = None,
        labels_getter: Any = "default",
        generator: rl.Generator | None = None,
    ) -> None:
        super().__init__(generator=generator)
        self.alpha, self.num_classes = float(alpha), num_classes
        if not self.alpha > 0:
            raise ValueError(f"{type(self).__name__}: alpha {alpha}; expected a positive number")
        self._getter = as_getter(labels_getter)

    def forward(self, *inputs: Any) -> Any:
        """The batch with mixed images and labels."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = flattened(sample)
        wanted = self._needs_transform_list(flat)
        name = type(self).__name__
        kinds = (PIL.Image.Image, tv_tensors.BoundingBoxes, tv_tensors.Mask, tv_tensors.KeyPoints)
        if has_any(flat, *kinds):
            raise ValueError(f"{name}: PIL images, boxes, masks and key points are not supported")
        labels = self._checked(self._getter(sample))
        images = [each for each, yes in zip(flat, wanted, strict=True) if yes]
        params = {"labels": labels, "batch_size": labels.shape[0], **self.make_params(images)}
        changed = [
            self.transform(each, params) if yes or each is labels else each
            for each, yes in zip(flat, wanted, strict=True)
        ]
        return rebuilt(changed, spec)

    def _share(self) -> float:
        """A sample of the Beta distribution: the first of two shares."""
        return float(dirichlet([self.alpha, self.alpha], 1)[0, 0])

    def _checked(self, labels: Any) -> rl.Tensor:
        name = type(self).__name__
        if not isinstance(labels, rl.Tensor):
            raise ValueError(f"{name}: labels must be a tensor, got {type(labels).__name__}")
        if labels.ndim not in (1, 2):
            raise ValueError(
                f"{name}: labels should be class numbers (N,) or one-hot (N, classes), got "
                f"{tuple(labels.shape)}"
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError(f"{name}: num_classes must be given for labels that are class numbers")
        if labels.ndim == 2 and self.num_classes not in (None, labels.shape[-1]):
            raise ValueError(
                f"{name}: labels of {labels.shape[-1]} classes, num_classes {self.num_classes}"
            )
        return labels

    def _check_batch(self, images: rl.Tensor, params: dict[str, Any]) -> None:
        expected = 5 if isinstance(images, tv_tensors.Video) else 4
        if images.ndim != expected:
            raise ValueError(
                f"{type(self).__name__}: expected a batch of {expected} dimensions, got "
                f"{images.ndim}"
            )
        if images.shape[0] != params["batch_size"]:
            raise ValueError(
                f"{type(self).__name__}: {images.shape[0]} images, {params['batch_size']} labels"
            )

    def _mixed_labels(self, labels: rl.Tensor, share: float) -> rl.Tensor:
        if labels.ndim == 1 and self.num_classes is not None:
            labels = rl.nn.functional.one_hot(labels, num_classes=self.num_classes)
        if not labels.is_floating_point():
            labels = labels.float()
        return labels.roll(1, 0) * (1.0 - share) + labels * share


class MixUp(_Mixing):
    """Weighted means of pairs of images and of their labels (Zhang et al., 2018).

    Parameters
    ----------
    alpha : float, default 1.0
        Both parameters of the Beta distribution of the weights.
    num_classes : int
        Needed for labels (N,); the result's labels have shape (N, num_classes).
    labels_getter : "default", key, function or None

    Example
    -------
    >>> images, labels = MixUp(num_classes=3)(rl.zeros(2, 3, 4, 4), rl.tensor([0, 2]))
    >>> labels.shape
    rushlight.Size([2, 3])
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The weight."""
        return {"lam": self._share()}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Mixed images or labels."""
        share = params["lam"]
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, share)
        if not (F.is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))):
            return inpt
        self._check_batch(inpt, params)
        images = plain(inpt)
        mixed = images.roll(1, 0) * (1.0 - share) + images * share
        return tv_tensors.wrap(mixed, like=inpt)


class CutMix(_Mixing):
    """A rectangle of each image from the one before it, labels by area (Yun et al., 2019).

    Parameters as :class:`MixUp`.
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rectangle (x1, y1, x2, y2) and the share that is left of the image."""
        share = self._share()
        height, width = query_size(flat_inputs)
        x, y = (integer(length) for length in (width, height))
        side = 0.5 * math.sqrt(1.0 - share)
        across, down = int(side * width), int(side * height)
        x1, y1 = max(x - across, 0), max(y - down, 0)
        x2, y2 = min(x + across, width), min(y + down, height)
        left = 1.0 - (x2 - x1) * (y2 - y1) / (width * height)
        return {"box": (x1, y1, x2, y2), "lam_adjusted": left}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """Mixed images or labels."""
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, params["lam_adjusted"])
        if not (F.is_pure_tensor(inpt) or isinstance(inpt, (tv_tensors.Image, tv_tensors.Video))):
            return inpt
        self._check_batch(inpt, params)
        x1, y1, x2, y2 = params["box"]
        images = plain(inpt)
        mixed = images.clone()
        mixed[..., y1:y2, x1:x2] = images.roll(1, 0)[..., y1:y2, x1:x2]
        return tv_tensors.wrap(mixed, like=inpt)
