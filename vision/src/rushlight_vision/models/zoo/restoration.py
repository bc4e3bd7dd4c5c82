"""Small networks whose results are pictures: one takes noise away, one keeps 16 numbers."""

from __future__ import annotations

import functools
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_vision.models._utils import built
from rushlight_vision.models.zoo._layers import SmallPicture
from rushlight_vision.models.zoo._packaged import PackagedWeights, packaged, zoo_model

SIDE = 28


class Denoiser(nn.Module):
    """Convolutions that estimate the noise of a picture, which is then subtracted.

    Input and output (N, `channels`, H, W), values about 0 to 1, any size. `depth` counts the
    convolutions of 3 x 3 (at least 2), `width` their channels.

    Reference: Zhang et al., Beyond a Gaussian denoiser, 2017 (without normalisation).
    """

    def __init__(self, channels: int = 3, width: int = 32, depth: int = 7) -> None:
        super().__init__()
        if depth < 2:
            raise ValueError(f"Denoiser: depth {depth}; expected 2 at least")
        layers: list[nn.Module] = [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU()]
        self.noise = nn.Sequential(*layers, nn.Conv2d(width, channels, 3, padding=1))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The picture without its noise."""
        return x - self.noise(x)


class Autoencoder(nn.Module):
    """Pictures of 28 x 28 pixels as `code_size` numbers, and back.

    Input and output (N, 1, 28, 28), values from 0 to 1; `encode` gives (N, `code_size`).
    """

    def __init__(self, code_size: int = 16) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 49, 64), nn.ReLU(), nn.Linear(64, code_size),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(code_size, 64), nn.ReLU(), nn.Linear(64, 32 * 49), nn.ReLU(),
            nn.Unflatten(1, (32, 7, 7)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
        )  # fmt: skip

    def encode(self, x: rl.Tensor) -> rl.Tensor:
        """The codes of pictures."""
        if x.ndim != 4 or tuple(x.shape[1:]) != (1, SIDE, SIDE):
            raise ValueError(
                f"Autoencoder: expected pictures (N, 1, {SIDE}, {SIDE}); got {tuple(x.shape)}"
            )
        return self.encoder(x)

    def decode(self, code: rl.Tensor) -> rl.Tensor:
        """The pictures of codes."""
        return self.decoder(code).sigmoid()

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pictures that their codes keep."""
        return self.decode(self.encode(x))


class Denoiser_Weights(PackagedWeights):
    """Weights of :func:`denoiser`."""

    GENERATED_V1 = packaged("denoiser", functools.partial(SmallPicture, channels=3))
    DEFAULT = GENERATED_V1


@zoo_model(Denoiser_Weights)
def denoiser(
    *, weights: Denoiser_Weights | None = None, progress: bool = True, **kwargs: Any
) -> Denoiser:
    """Takes Gaussian noise (standard deviation up to 0.2) from colour pictures; arguments go to
    :class:`Denoiser`.

    >>> denoiser(width=8, depth=3)(rl.zeros(1, 3, 20, 30)).shape
    rushlight.Size([1, 3, 20, 30])
    """
    return built(Denoiser, weights, progress, **kwargs)


class Digits_Autoencoder_Weights(PackagedWeights):
    """Weights of :func:`digits_autoencoder`."""

    DIGITS_V1 = packaged("digits_autoencoder", functools.partial(SmallPicture, channels=1, size=28))
    DEFAULT = DIGITS_V1


@zoo_model(Digits_Autoencoder_Weights)
def digits_autoencoder(
    *, weights: Digits_Autoencoder_Weights | None = None, progress: bool = True, **kwargs: Any
) -> Autoencoder:
    """Handwritten digits as 16 numbers, and back; arguments go to :class:`Autoencoder`.

    >>> digits_autoencoder(code_size=4).encode(rl.zeros(2, 1, 28, 28)).shape
    rushlight.Size([2, 4])
    """
    return built(Autoencoder, weights, progress, **kwargs)
