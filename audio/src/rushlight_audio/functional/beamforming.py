"""Several microphones as one: spatial covariances, steering vectors, and the weights that follow.

Channels are C, frequencies F, frames T. (Souden et al., 2009; Gannot et al., 2001.)
"""

from __future__ import annotations

import rushlight as rl

__all__ = [
    "apply_beamforming",
    "mvdr_weights_rtf",
    "mvdr_weights_souden",
    "psd",
    "rtf_evd",
    "rtf_power",
]


def psd(
    specgram: rl.Tensor,
    mask: rl.Tensor | None = None,
    normalize: bool = True,
    eps: float = 1e-10,
) -> rl.Tensor:
    """The covariance of channels at each frequency, summed over time.

    Args:
        specgram: complex ``[..., C, F, T]``.
        mask: ``[..., F, T]``, the weight of each bin.
        normalize: divide the weights by their sum over time.
        eps: added to that sum.

    Returns:
        complex ``[..., F, C, C]``.
    """
    rows = weighted = specgram.transpose(-3, -2)
    if mask is not None:
        if mask.shape[:-1] != rows.shape[:-2] or mask.shape[-1] != rows.shape[-1]:
            raise ValueError(
                "psd(): the mask must have the shape of specgram without channels, got "
                f"{list(mask.shape)} and {list(specgram.shape)}"
            )
        weights = mask
        if normalize:
            weights = mask / (mask.sum(-1, keepdim=True) + eps)
        weighted = rows * weights.unsqueeze(-2)
    return rl.matmul(weighted, rows.conj().transpose(-2, -1))


def _require_matrix(op: str, matrix: rl.Tensor, name: str) -> None:
    if matrix.dim() < 3:
        raise ValueError(f"{op}(): {name} must have shape [..., F, C, C], got {list(matrix.shape)}")
    if not matrix.is_complex():
        raise TypeError(f"{op}(): {name} must be complex, got {matrix.dtype}")
    if matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"{op}(): {name} must hold square matrices, got {list(matrix.shape)}")


def _require_matrices(op: str, psd_s: rl.Tensor, psd_n: rl.Tensor) -> None:
    _require_matrix(op, psd_s, "psd_s")
    _require_matrix(op, psd_n, "psd_n")
    if psd_s.shape != psd_n.shape:
        raise ValueError(
            f"{op}(): psd_s and psd_n must have one shape, got {list(psd_s.shape)} and "
            f"{list(psd_n.shape)}"
        )


def _loaded(matrix: rl.Tensor, share: float) -> rl.Tensor:
    """The matrix with a share of its trace on the diagonal, so that it can be inverted."""
    trace = _trace(matrix).real * share + 1e-8
    eye = rl.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return matrix + trace[..., None, None] * eye


def _trace(matrix: rl.Tensor) -> rl.Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)


def _of_channel(op: str, values: rl.Tensor, reference: int | rl.Tensor) -> rl.Tensor:
    """The values ``[..., C]`` of the reference channel, a number or one-hot ``[..., C]``."""
    if isinstance(reference, int):
        return values[..., reference]
    if not rl.jit.is_scripting() and not isinstance(reference, rl.Tensor):
        raise TypeError(
            f"{op}(): reference_channel must be an int or a tensor, got {type(reference).__name__}"
        )
    one = reference.to(values.dtype)
    while one.dim() < values.dim():
        one = one.unsqueeze(-2)
    return (values * one).sum(-1)


def mvdr_weights_souden(
    psd_s: rl.Tensor,
    psd_n: rl.Tensor,
    reference_channel: int | rl.Tensor,
    diagonal_loading: bool = True,
    diag_eps: float = 1e-7,
    eps: float = 1e-8,
) -> rl.Tensor:
    """Weights of minimal noise without distortion, from covariances of speech and noise. (Souden et
    al., 2009.)

    Args:
        psd_s: complex ``[..., F, C, C]``, of speech.
        psd_n: of noise, of the same shape.
        reference_channel: the channel whose speech is kept, a number or one-hot ``[..., C]``.
        diagonal_loading: make `psd_n` invertible by a share of its trace on the diagonal.
        diag_eps: that share.
        eps: added to the denominator.

    Returns:
        complex ``[..., F, C]``.
    """
    _require_matrices("mvdr_weights_souden", psd_s, psd_n)
    noise = _loaded(psd_n, diag_eps) if diagonal_loading else psd_n
    ratio = rl.linalg.solve(noise, psd_s)
    weights = ratio / (_trace(ratio)[..., None, None] + eps)
    return _of_channel("mvdr_weights_souden", weights, _spread(reference_channel))


def _spread(reference: int | rl.Tensor) -> int | rl.Tensor:
    """A one-hot vector ``[..., C]`` for matrices ``[..., F, C, C]``."""
    if isinstance(reference, rl.Tensor):
        return reference[..., None, None, :]
    return reference


def mvdr_weights_rtf(
    rtf: rl.Tensor,
    psd_n: rl.Tensor,
    reference_channel: int | rl.Tensor | None = None,
    diagonal_loading: bool = True,
    diag_eps: float = 1e-7,
    eps: float = 1e-8,
) -> rl.Tensor:
    """The same from a transfer function relative to a channel, and the covariance of noise.

    Args:
        rtf: complex ``[..., F, C]``.
        psd_n: complex ``[..., F, C, C]``, of noise.
        reference_channel: the channel the result is scaled to; None leaves it as it is.
        diagonal_loading: as for :func:`mvdr_weights_souden`, like the rest.
        diag_eps: the share of the trace.
        eps: added to the denominator.

    Returns:
        complex ``[..., F, C]``.
    """
    name = "mvdr_weights_rtf"
    if rtf.dim() < 2 or not rtf.is_complex():
        found = f"rtf must be complex [..., F, C], got {rtf.dtype} {list(rtf.shape)}"
        if rtf.is_complex():
            raise ValueError(f"{name}(): {found}")
        raise TypeError(f"{name}(): {found}")
    _require_matrix(name, psd_n, "psd_n")
    if rtf.shape != psd_n.shape[:-1]:
        raise ValueError(
            f"{name}(): rtf and psd_n do not fit, got {list(rtf.shape)} and {list(psd_n.shape)}"
        )
    noise = _loaded(psd_n, diag_eps) if diagonal_loading else psd_n
    numerator = rl.linalg.solve(noise, rtf.unsqueeze(-1)).squeeze(-1)
    weights = numerator / ((rtf.conj() * numerator).sum(-1, keepdim=True).real + eps)
    if reference_channel is None:
        return weights
    one = reference_channel
    if isinstance(one, rl.Tensor):
        one = one[..., None, :]
    return weights * _of_channel(name, rtf.conj(), one).unsqueeze(-1)


def rtf_evd(psd_s: rl.Tensor) -> rl.Tensor:
    """The relative transfer function ``[..., F, C]`` of a covariance ``[..., F, C, C]``: the
    eigenvector of its largest eigenvalue (of any phase)."""
    _require_matrix("rtf_evd", psd_s, "psd_s")
    return rl.linalg.eigh(psd_s).eigenvectors[..., -1]


def rtf_power(
    psd_s: rl.Tensor,
    psd_n: rl.Tensor,
    reference_channel: int | rl.Tensor,
    n_iter: int = 3,
    diagonal_loading: bool = True,
    diag_eps: float = 1e-7,
) -> rl.Tensor:
    """The relative transfer function ``[..., F, C]`` by the power method.

    Args:
        psd_s: complex ``[..., F, C, C]``, of speech.
        psd_n: of noise, of the same shape.
        reference_channel: a number or one-hot ``[..., C]``.
        n_iter: steps of the method.
        diagonal_loading: as for :func:`mvdr_weights_souden`.
        diag_eps: the share of the trace.
    """
    _require_matrices("rtf_power", psd_s, psd_n)
    if n_iter <= 0:
        raise ValueError(f"rtf_power(): n_iter must be positive, got {n_iter}")
    noise = _loaded(psd_n, diag_eps) if diagonal_loading else psd_n
    ratio = rl.linalg.solve(noise, psd_s)
    rtf = _of_channel("rtf_power", ratio, _spread(reference_channel)).unsqueeze(-1)
    if n_iter == 1:
        return rl.matmul(noise, rtf).squeeze(-1)
    for _ in range(n_iter - 2):
        rtf = rl.matmul(ratio, rtf)
    return rl.matmul(psd_s, rtf).squeeze(-1)


def apply_beamforming(beamform_weights: rl.Tensor, specgram: rl.Tensor) -> rl.Tensor:
    """One spectrogram ``[..., F, T]`` of several ``[..., C, F, T]`` by weights ``[..., F, C]``; all
    are complex."""
    if not (beamform_weights.is_complex() and specgram.is_complex()):
        raise TypeError(
            "apply_beamforming(): both tensors must be complex, got "
            f"{beamform_weights.dtype} and {specgram.dtype}"
        )
    found = f"{list(beamform_weights.shape)} and {list(specgram.shape)}"
    if list(beamform_weights.shape[:-1]) != list(specgram.shape[:-3]) + [specgram.shape[-2]]:
        raise ValueError(
            "apply_beamforming(): weights [..., F, C] and specgram [..., C, F, T] do not fit, got "
            + found
        )
    if beamform_weights.shape[-1] != specgram.shape[-3]:
        raise RuntimeError(f"apply_beamforming(): different numbers of channels, got {found}")
    rows = specgram.transpose(-3, -2)
    return rl.matmul(beamform_weights.conj().unsqueeze(-2), rows).squeeze(-2)
