"""Settings: all that a training can be told."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

OPTIMIZERS = ("adamw", "sgd")
EXPORTS = ("state_dict", "pt2", "onnx")
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Settings:
    """How a network is trained; every one is an argument of :func:`fit` and of the command line.

    Parameters
    ----------
    epochs : int, default 10
    batch_size : int, default 32
    lr : float, default 1e-3
        The highest rate: it rises over `warmup` and falls to nothing along half a cosine.
    warmup : float, default 0.1
        Share of all steps.
    optimizer : str, default "adamw"
        "adamw" or "sgd" (Nesterov's momentum of 0.9).
    weight_decay : float, default 1e-2
        Of weights with more than one dimension; others have none.
    clip : float, default 5.0
        Norm that gradients are clipped to; 0: they are not.
    precision : str, default "32-true"
        "bf16-mixed", "16-mixed" and what else the trainer knows.
    ema : float, default 0.0
        Decay of an exponential moving average of the weights, which is then what is measured and
        kept; 0: none. It begins lower: (1 + steps) / (10 + steps).
    label_smoothing, mixup, cutmix : float, default 0.0
        For classification; `mixup` and `cutmix` are the parameters of their beta distributions,
        0 for none, and a batch goes through one of them.
    image_size : int or None, default None
        Side of pictures of classification, similarity and segmentation; None: 224.
    flip : bool, default True
        Whether training flips pictures left to right.
    crop : float, default 0.35
        Share of its area that a training picture keeps at least.
    mean, std : tuple of float
        What pictures of classification, similarity and segmentation are normalised by; default:
        those of ImageNet.
    temperature : float, default 0.1
        Of the contrastive loss of similarity.
    workers : int, default 0
        Processes that load pictures.
    seed : int, default 0
    """

    epochs: int = 10
    batch_size: int = 32
    lr: float = 1e-3
    warmup: float = 0.1
    optimizer: str = "adamw"
    weight_decay: float = 1e-2
    clip: float = 5.0
    precision: str = "32-true"
    ema: float = 0.0
    label_smoothing: float = 0.0
    mixup: float = 0.0
    cutmix: float = 0.0
    image_size: int | None = None
    flip: bool = True
    crop: float = 0.35
    mean: tuple[float, ...] = IMAGENET[0]
    std: tuple[float, ...] = IMAGENET[1]
    temperature: float = 0.1
    workers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer {self.optimizer!r}; expected one of {list(OPTIMIZERS)}")
        for name in ("epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}; expected 1 at least")
        for name in ("warmup", "ema", "label_smoothing"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} {getattr(self, name)}; expected 0 or more, less than 1")
        for name in ("lr", "temperature"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} {getattr(self, name)}; expected more than 0")
        if not 0.0 < self.crop <= 1.0:
            raise ValueError(f"crop {self.crop}; expected more than 0, at most 1")

    @staticmethod
    def of(options: dict[str, Any]) -> Settings:
        """From keyword arguments; TypeError names one that is not known and all that are."""
        known = [field.name for field in fields(Settings)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise TypeError(f"unknown settings {unknown}; expected some of {known}")
        return Settings(**options)

    @property
    def side(self) -> int:
        """Height and width of pictures."""
        return self.image_size or 224
