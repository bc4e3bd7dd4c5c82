"""Several microphones as one: minimum variance distortionless response."""

from __future__ import annotations

import warnings

import rushlight as rl
from rushlight import nn
from rushlight_audio import functional as F
from rushlight_audio.functional.checks import from_rows, in_rows

__all__ = ["MVDR", "PSD", "RTFMVDR", "SoudenMVDR"]

SOLUTIONS = ("ref_channel", "stv_evd", "stv_power")


class PSD(nn.Module):
    """The covariance of channels at each frequency: :func:`rushlight_audio.functional.psd`.

    Args:
        multi_mask: masks have channels, whose mean counts.
        normalize: divide masks by their sum over time.
        eps: added to that sum.
    """

    def __init__(self, multi_mask: bool = False, normalize: bool = True, eps: float = 1e-15):
        super().__init__()
        self.multi_mask = multi_mask
        self.normalize = normalize
        self.eps = eps

    def forward(self, specgram: rl.Tensor, mask: rl.Tensor | None = None) -> rl.Tensor:
        """Complex ``[..., F, C, C]`` of complex ``[..., C, F, T]``; `mask` is ``[..., F, T]``, or
        ``[..., C, F, T]`` with `multi_mask`."""
        if mask is not None and self.multi_mask:
            mask = mask.mean(dim=-3)
        return F.psd(specgram, mask, self.normalize, self.eps)


class SoudenMVDR(nn.Module):
    """Beamforming from covariances: :func:`rushlight_audio.functional.mvdr_weights_souden`."""

    def forward(
        self,
        specgram: rl.Tensor,
        psd_s: rl.Tensor,
        psd_n: rl.Tensor,
        reference_channel: int | rl.Tensor,
        diagonal_loading: bool = True,
        diag_eps: float = 1e-7,
        eps: float = 1e-8,
    ) -> rl.Tensor:
        """Complex ``[..., F, T]`` of complex ``[..., C, F, T]``."""
        weights = F.mvdr_weights_souden(
            psd_s, psd_n, reference_channel, diagonal_loading, diag_eps, eps
        )
        return F.apply_beamforming(weights, specgram)


class RTFMVDR(nn.Module):
    """Beamforming from a relative transfer function:
    :func:`rushlight_audio.functional.mvdr_weights_rtf`."""

    def forward(
        self,
        specgram: rl.Tensor,
        rtf: rl.Tensor,
        psd_n: rl.Tensor,
        reference_channel: int | rl.Tensor,
        diagonal_loading: bool = True,
        diag_eps: float = 1e-7,
        eps: float = 1e-8,
    ) -> rl.Tensor:
        """Complex ``[..., F, T]`` of complex ``[..., C, F, T]``."""
        weights = F.mvdr_weights_rtf(rtf, psd_n, reference_channel, diagonal_loading, diag_eps, eps)
        return F.apply_beamforming(weights, specgram)


class MVDR(nn.Module):
    """Beamforming from masks of speech and noise. (Souden et al., 2009; Higuchi et al., 2017.)

    Args:
        ref_channel: the channel whose speech is kept.
        solution: ``"ref_channel"``: weights from covariances; ``"stv_evd"`` and ``"stv_power"``:
            from a relative transfer function by eigenvectors, by the power method.
        multi_mask: masks have channels, whose mean counts.
        diag_loading: make the noise's covariance invertible by a share of its trace.
        diag_eps: that share.
        online: go on with the covariances of earlier calls.
    """

    psd_s: rl.Tensor
    psd_n: rl.Tensor
    mask_sum_s: rl.Tensor
    mask_sum_n: rl.Tensor

    def __init__(
        self,
        ref_channel: int = 0,
        solution: str = "ref_channel",
        multi_mask: bool = False,
        diag_loading: bool = True,
        diag_eps: float = 1e-7,
        online: bool = False,
    ):
        super().__init__()
        if solution not in SOLUTIONS:
            raise ValueError(f"MVDR(): solution must be one of {SOLUTIONS}, got {solution!r}")
        self.ref_channel = ref_channel
        self.solution = solution
        self.multi_mask = multi_mask
        self.diag_loading = diag_loading
        self.diag_eps = diag_eps
        self.online = online
        self.psd = PSD(multi_mask)
        for name in ("psd_s", "psd_n", "mask_sum_s", "mask_sum_n"):
            self.register_buffer(name, rl.zeros(1))

    def _covariances(
        self, spectrum: rl.Tensor, mask_s: rl.Tensor, mask_n: rl.Tensor
    ) -> tuple[rl.Tensor, rl.Tensor]:
        """Those of speech and noise by masks; online the means with earlier ones, which are
        kept."""
        psd_s, psd_n = self.psd(spectrum, mask_s), self.psd(spectrum, mask_n)
        if not self.online:
            return psd_s, psd_n
        if self.multi_mask:
            mask_s, mask_n = mask_s.mean(dim=-3), mask_n.mean(dim=-3)
        psd_s, sum_s = _mean(psd_s, mask_s.sum(-1), self.psd_s, self.mask_sum_s)
        psd_n, sum_n = _mean(psd_n, mask_n.sum(-1), self.psd_n, self.mask_sum_n)
        self.psd_s, self.mask_sum_s = psd_s.detach(), sum_s.detach()
        self.psd_n, self.mask_sum_n = psd_n.detach(), sum_n.detach()
        return psd_s, psd_n

    def _weights(self, psd_s: rl.Tensor, psd_n: rl.Tensor) -> rl.Tensor:
        loading = (self.diag_loading, self.diag_eps)
        if self.solution == "ref_channel":
            return F.mvdr_weights_souden(psd_s, psd_n, self.ref_channel, *loading)
        if self.solution == "stv_evd":
            rtf = F.rtf_evd(psd_s)
        else:
            rtf = F.rtf_power(psd_s, psd_n, self.ref_channel, 3, *loading)
        return F.mvdr_weights_rtf(rtf, psd_n, self.ref_channel, *loading)

    def forward(
        self, specgram: rl.Tensor, mask_s: rl.Tensor, mask_n: rl.Tensor | None = None
    ) -> rl.Tensor:
        """One spectrogram of several.

        Args:
            specgram: complex ``[..., C, F, T]``.
            mask_s: ``[..., F, T]``, or ``[..., C, F, T]`` with `multi_mask`: where speech is.
            mask_n: where noise is; ``1 - mask_s`` by default, with a warning.

        Returns:
            complex ``[..., F, T]``, computed in complex128.
        """
        if specgram.dim() < 3:
            raise ValueError(
                f"MVDR: expected a spectrogram [..., C, F, T], got {list(specgram.shape)}"
            )
        if not specgram.is_complex():
            raise ValueError(f"MVDR: expected a complex spectrogram, got {specgram.dtype}")
        if mask_n is None:
            warnings.warn("MVDR: no mask_n is given: 1 - mask_s is used", stacklevel=4)
            mask_n = rl.sub(1, mask_s)
        wide = specgram.to(rl.complex128)
        rows = in_rows(wide, 3)
        dims = 3 if self.multi_mask else 2
        psd_s, psd_n = self._covariances(rows, in_rows(mask_s, dims), in_rows(mask_n, dims))
        found = F.apply_beamforming(self._weights(psd_s, psd_n), rows)
        return from_rows(found, specgram.shape[:-3]).to(specgram.dtype)


def _mean(
    found: rl.Tensor, weight: rl.Tensor, known: rl.Tensor, seen: rl.Tensor
) -> tuple[rl.Tensor, rl.Tensor]:
    """A covariance and its weight, and together with those of earlier calls."""
    if known.dim() <= 1:
        return found, weight
    total = weight + seen
    # As torchaudio does it: the new covariance, a mean already, is divided once more.
    old, new = (seen / total)[..., None, None], (1 / total)[..., None, None]
    return known * old + found * new, total
