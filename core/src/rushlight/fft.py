"""Discrete Fourier transforms: ``rushlight.fft``, PyTorch's ``torch.fft``."""

from __future__ import annotations

from rushlight.ops.fft.fourier import fft_fft as fft
from rushlight.ops.fft.fourier import fft_fft2 as fft2
from rushlight.ops.fft.fourier import fft_fftn as fftn
from rushlight.ops.fft.fourier import fft_fftshift as fftshift
from rushlight.ops.fft.fourier import fft_hfft as hfft
from rushlight.ops.fft.fourier import fft_hfft2 as hfft2
from rushlight.ops.fft.fourier import fft_hfftn as hfftn
from rushlight.ops.fft.fourier import fft_ifft as ifft
from rushlight.ops.fft.fourier import fft_ifft2 as ifft2
from rushlight.ops.fft.fourier import fft_ifftn as ifftn
from rushlight.ops.fft.fourier import fft_ifftshift as ifftshift
from rushlight.ops.fft.fourier import fft_ihfft as ihfft
from rushlight.ops.fft.fourier import fft_ihfft2 as ihfft2
from rushlight.ops.fft.fourier import fft_ihfftn as ihfftn
from rushlight.ops.fft.fourier import fft_irfft as irfft
from rushlight.ops.fft.fourier import fft_irfft2 as irfft2
from rushlight.ops.fft.fourier import fft_irfftn as irfftn
from rushlight.ops.fft.fourier import fft_rfft as rfft
from rushlight.ops.fft.fourier import fft_rfft2 as rfft2
from rushlight.ops.fft.fourier import fft_rfftn as rfftn
from rushlight.ops.fft.frequencies import fftfreq, rfftfreq

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
