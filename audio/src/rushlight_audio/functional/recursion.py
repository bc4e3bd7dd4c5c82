"""Linear filters with feedback, on :func:`rushlight.signal.recursive_filter`."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.functional.checks import require_waveform

__all__ = ["biquad", "filtfilt", "lfilter"]


def lfilter(
    waveform: rl.Tensor,
    a_coeffs: rl.Tensor,
    b_coeffs: rl.Tensor,
    clamp: bool = True,
    batching: bool = True,
) -> rl.Tensor:
    """A linear filter by its difference equation, beginning at rest; differentiable in all tensors.

    ``a[0] y[n] = b[0] x[n] + b[1] x[n-1] + ... - a[1] y[n-1] - ...``. What is fed back is kept in
    float64 whatever the dtype.

    Args:
        waveform: ``[..., T]``, float32 or float64.
        a_coeffs: coefficients of the output, ``[taps]`` or ``[filters, taps]``, those of the
            smallest delay first; of the dtype of the waveform.
        b_coeffs: coefficients of the input, of the same shape.
        clamp: limit the output to [-1, 1].
        batching: with several filters, give each to one channel of a waveform
            ``[..., filters, T]``; else apply all to the whole waveform.

    Returns:
        ``[..., T]``; with several filters ``[..., filters, T]``.

    Raises:
        ValueError: coefficients of different or unsuitable shapes.
        RuntimeError: tensors of different dtypes.

    Example:
        >>> one = rl.tensor([1.0, 0.0, 0.0, 0.0])
        >>> lfilter(one, rl.tensor([1.0, -0.5]), rl.tensor([1.0, 0.0]))
        tensor([1.0000, 0.5000, 0.2500, 0.1250])
    """
    require_waveform("lfilter", waveform)
    _require_coefficients(waveform, a_coeffs, b_coeffs)
    if a_coeffs.dim() == 2:
        filters = a_coeffs.shape[0]
        if not batching:
            sizes = list(waveform.shape[:-1]) + [filters, -1]
            waveform = waveform.unsqueeze(-2).expand(sizes)
        elif waveform.dim() < 2 or waveform.shape[-2] != filters:
            raise ValueError(
                f"lfilter(): {filters} filters need a waveform with as many channels, "
                f"[..., {filters}, T], got {list(waveform.shape)}; batching=False applies all"
            )
    found = rl.signal.recursive_filter(waveform, a_coeffs, b_coeffs)
    return found.clamp(-1.0, 1.0) if clamp else found


def _require_coefficients(waveform: rl.Tensor, a: rl.Tensor, b: rl.Tensor) -> None:
    if a.shape != b.shape:
        raise ValueError(
            f"lfilter(): a_coeffs and b_coeffs must have the same size, got {list(a.shape)} and "
            f"{list(b.shape)}"
        )
    if a.dim() not in (1, 2) or a.numel() == 0:
        raise ValueError(
            "lfilter(): coefficients must have shape [taps] or [filters, taps], got "
            f"{list(a.shape)}"
        )
    if waveform.dtype != a.dtype or a.dtype != b.dtype:
        raise RuntimeError(
            "lfilter(): waveform and coefficients must have one dtype, got "
            f"{waveform.dtype}, {a.dtype} and {b.dtype}"
        )


def filtfilt(
    waveform: rl.Tensor, a_coeffs: rl.Tensor, b_coeffs: rl.Tensor, clamp: bool = True
) -> rl.Tensor:
    """A filter run forward and then backward, which leaves phases as they are.

    Args:
        waveform: ``[..., T]``; with several filters ``[..., filters, T]``.
        a_coeffs: as for :func:`lfilter`.
        b_coeffs: as for :func:`lfilter`.
        clamp: limit the final output to [-1, 1].

    Returns:
        ``[..., T]``.
    """
    forward = lfilter(waveform, a_coeffs, b_coeffs, clamp=False, batching=True)
    return lfilter(forward.flip(-1), a_coeffs, b_coeffs, clamp=clamp, batching=True).flip(-1)


def biquad(
    waveform: rl.Tensor,
    b0: float | rl.Tensor,
    b1: float | rl.Tensor,
    b2: float | rl.Tensor,
    a0: float | rl.Tensor,
    a1: float | rl.Tensor,
    a2: float | rl.Tensor,
) -> rl.Tensor:
    """A filter of second order, limited to [-1, 1].

    The coefficients, numbers or tensors of one element (which then get gradients), are those of the
    input (`b0`, `b1`, `b2`) and of the output (`a0`, `a1`, `a2`) by their delay.
    """
    require_waveform("biquad", waveform)
    return lfilter(waveform, _joined(waveform, [a0, a1, a2]), _joined(waveform, [b0, b1, b2]))


def _joined(waveform: rl.Tensor, values: list[float | rl.Tensor]) -> rl.Tensor:
    dtype, device = waveform.dtype, waveform.device
    return rl.cat([rl.as_tensor(value, dtype=dtype, device=device).reshape(1) for value in values])
