"""Images, videos and masks."""

from __future__ import annotations

from typing import Any

import PIL.Image

from rushlight_vision.tv_tensors._base import TVTensor


def _pixels(data: Any) -> Any:
    """A PIL image as a tensor; anything else as it is."""
    if isinstance(data, PIL.Image.Image):
        from rushlight_vision.transforms.functional import pil_to_tensor

        return pil_to_tensor(data)
    return data


class Image(TVTensor):
    """Pixels of shape (..., channels, height, width).

    Parameters
    ----------
    data : tensor, PIL image or anything that `rushlight.as_tensor` takes
        Two dimensions get a channel.
    dtype, device, requires_grad : default: those of `data`

    Raises
    ------
    ValueError
        For fewer than two dimensions.

    Example
    -------
    >>> Image([[0.0, 1.0]]).shape
    rushlight.Size([1, 1, 2])
    """

    def __new__(
        cls,
        data: object,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """See the class."""
        tensor = cls._tensor(_pixels(data), dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Image: data must be 2D or higher, got a {tensor.ndim}D tensor")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)


class Video(TVTensor):
    """Frames of shape (..., time, channels, height, width); parameters as :class:`Image`.

    Raises `ValueError` for fewer than four dimensions.
    """

    def __new__(
        cls,
        data: object,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """See the class."""
        tensor = cls._tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Video: data must be 4D or higher, got a {tensor.ndim}D tensor")
        return tensor.as_subclass(cls)


class Mask(TVTensor):
    """Segmentation masks (..., height, width), one per object or one of classes.

    Parameters as :class:`Image`.
    """

    def __new__(
        cls,
        data: object,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool | None = None,
    ) -> Any:
        """See the class."""
        return cls._tensor(_pixels(data), dtype, device, requires_grad).as_subclass(cls)
