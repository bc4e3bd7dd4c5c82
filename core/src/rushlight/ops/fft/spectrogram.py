"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

import math
import warnings

from rushlight.dtypes import COMPLEX, FLOAT, complex128, float64
from rushlight.errors import shape_text
from rushlight.kernels.copying.assignment import by_rows
from rushlight.machine import np
from rushlight.machine.arrays import dtype_of
from rushlight.ops._calls.direct import tensor_of, unrecorded
from rushlight.ops._table.op import composite, op
from rushlight.ops.fft.fourier import _fft_c2c, _fft_c2r, _fft_r2c, half_at_once
from rushlight.ops.shape.complex_views import view_as_real
from rushlight.ops.shape.joining import cat
from rushlight.tensor.dispatch import innermost, readable
from rushlight.tensor.tensor import Tensor

# Numbers of the frames that are transformed at once, and of a block where there are more: one that
# stays in the second cache.
LONG, BLOCK = 1 << 20, 1 << 16
_DOUBLE = frozenset({float64, complex128})


# ---------------------------------------------------------------------------------------- frames
@op(
    linear=True,
    batching="trailing",
    method=False,
    samples=lambda make: [((make(2, 3, 4), 3, 11), {}), ((make(3, 4), 2, 8), {})],
    meta=lambda frames, hop, length: ((*frames.shape[:-2], length), dtype_of(frames)),
)
def _overlap_add(frames: Tensor, hop, length):
    """The sum ``(*, length)`` of frames laid `hop` samples apart: what transposes framing."""
    count, size = frames.shape[-2:]
    blocks = -(-size // hop)
    rows = max(count + blocks - 1, -(-length // hop))
    out = np.zeros((*frames.shape[:-2], rows, hop), frames.dtype)
    with np.errstate(all="ignore"):
        for i in range(blocks):
            part = frames[..., i * hop : min((i + 1) * hop, size)]
            out[..., i : i + count, : part.shape[-1]] += part
    return by_rows(out.reshape(*frames.shape[:-2], rows * hop)[..., :length])


_overlap_add.gradient(
    frames=lambda grad, frames_shape, hop, length: grad.narrow(
        -1, 0, (frames_shape[-2] - 1) * hop + frames_shape[-1]
    ).unfold(-1, frames_shape[-1], hop)
)


# --------------------------------------------------------------------------------- what is common
def _lengths(name, n_fft, hop_length, win_length, window):
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(
            f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}, n_fft={n_fft}"
        )
    if window is not None and (window.dim() != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {shape_text(window.shape)}"
        )
    return hop, length


def _full_window(window, length, n_fft, like):
    """The window in the middle of `n_fft` points; a rectangle if there is none."""
    from rushlight.ops.neural.padding import pad

    if window is None:
        window = like.new_ones((length,))
    if length < n_fft:
        left = (n_fft - length) // 2
        window = pad(window, (left, n_fft - length - left))
    return window


def _norm(normalized, direction):
    return "ortho" if normalized else direction


# ------------------------------------------------------------------------------------------ stft
def _padded(input, n_fft, pad_mode):
    from rushlight.ops.neural.padding import pad

    half = n_fft // 2
    if input.dim() == 2 and pad_mode != "circular":
        return pad(input, (half, half), pad_mode)
    extended = (1,) * (3 - input.dim()) + tuple(input.shape)
    found = pad(input.reshape(extended), (half, half), pad_mode)
    return found.reshape(found.shape[-input.dim() :])


def _check_stft(input, n_fft):
    if input._dtype.category < FLOAT:
        raise RuntimeError(
            f"stft: expected a tensor of floating point or complex values, got {input._dtype}"
        )
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"stft: expected a 1D or 2D tensor, but got shape {shape_text(input.shape)}"
        )


@composite(
    schemas=(
        "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
        "window=None, bool center=True, str pad_mode='reflect', bool normalized=False, bool? "
        "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    ),
    samples=lambda make: [
        (make(2, 8), 4, 2, 4, make(4), {"return_complex": True}),
        (make(8), 4, None, None, make(4), False, {"return_complex": True, "onesided": False}),
    ],
    autocast="float32",
    aten="default center",
)
def stft(
    input: Tensor,
    n_fft,
    hop_length=None,
    win_length=None,
    window: Tensor | None = None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of windowed frames of a signal ``(T,)`` or ``(B, T)``.

    Args: `n_fft`, points of a frame; `hop_length` between frames (``n_fft // 4``); `window` of
    `win_length` points (a rectangle of `n_fft`), in the middle of the frame; `center`: pad by half
    a frame at both ends in `pad_mode`; `normalized`: divide by the root of `n_fft`; `onesided`: the
    first half of the frequencies (default for real signals); `return_complex`: complex numbers
    rather than pairs, required for real signals.

    Returns ``(B, frequencies, frames)``, with a last dimension of 2 for pairs.
    """
    _check_stft(input, n_fft)
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further "
            "require that return_complex=True in a future PyTorch release."
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop, length = _lengths("stft", n_fft, hop_length, win_length, window)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if center:
        input = _padded(input, n_fft, pad_mode)
    elif align_to_window and length < n_fft:
        from rushlight.ops.neural.padding import pad

        left = (n_fft - length) // 2
        input = pad(input, (left, n_fft - length - left))
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(
            f"stft: expected 0 < n_fft <= {input.shape[-1]}, the samples that there are (padding "
            f"included), but got n_fft={n_fft}"
        )
    window = _full_window(window, length, n_fft, input)
    common = input if not is_complex or input.is_complex() else input.to(window._dtype)
    frames = common.unfold(-1, n_fft, hop)
    found = _spectra(frames, window, _norm(normalized, "backward"), onesided).transpose(-1, -2)
    if return_complex is False:
        return view_as_real(found)
    return found


def _spectra(frames, window, norm, onesided):
    """The spectra (*, count, frequencies) of overlapping frames (*, count, n_fft), which are copies
    of many samples: block by block where nothing else needs them."""
    if frames.numel() <= LONG or not unrecorded(frames, window):
        return _transformed(frames * window, norm, onesided)
    if _DOUBLE.issuperset((frames._dtype, window._dtype)):
        with np.errstate(all="ignore"):
            return tensor_of(_double_spectra(frames._array, window._array, norm, onesided))
    count = frames.shape[-2]
    step, found = _frames_of_block(frames), None
    for first in range(0, count, step):
        piece = frames.narrow(-2, first, min(step, count - first))
        spectra = _transformed(piece * window, norm, onesided)
        if found is None:
            found = spectra.new_empty((*spectra.shape[:-2], count, spectra.shape[-1]))
        found.narrow(-2, first, spectra.shape[-2]).copy_(spectra)
    return found


def _double_spectra(frames, window, norm, onesided):
    """The same of arrays in double precision, each block of which NumPy writes where it belongs: to
    allocate and copy its result takes half as long again."""
    count, size = frames.shape[-2:]
    step = _frames_of_block(frames)
    kind = np.result_type(frames, window)
    windowed = np.empty((*frames.shape[:-2], step, size), kind)
    found = np.empty((*frames.shape[:-1], size // 2 + 1 if onesided else size), np.complex128)
    transform = np.fft.rfft if onesided else np.fft.fft
    for first in range(0, count, step):
        here = np.s_[..., first : first + step, :]
        piece = windowed[..., : min(step, count - first), :]
        transform(np.multiply(frames[here], window, out=piece), norm=norm, out=found[here])
    return found


def _frames_of_block(frames):
    """How many frames make a block; all blocks have nearly as many."""
    count = frames.shape[-2]
    blocks = min(-(-math.prod(frames.shape) // BLOCK), count)
    return -(-count // blocks)


def _transformed(frames, norm, onesided):
    if frames._dtype.to_real().itemsize < 4:
        raise RuntimeError(f"stft: Unsupported dtype {frames._dtype}; expected float32 or float64")
    axes = (frames.dim() - 1,)
    if frames.is_complex():
        return _fft_c2c(frames, axes, norm, True)
    found = half_at_once(frames, None, -1, norm) if onesided else NotImplemented
    return _fft_r2c(frames, axes, norm, onesided) if found is NotImplemented else found


# ----------------------------------------------------------------------------------------- istft
def _check_istft(input, n_fft, onesided):
    if input._dtype.category < COMPLEX:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            f"return_complex=True; got {input._dtype}"
        )
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"istft: expected a tensor with 2 or 3 dimensions (frequencies, frames), but got shape "
            f"{shape_text(input.shape)}"
        )
    if not input.numel():
        raise RuntimeError(f"istft: input tensor cannot be empty: {shape_text(input.shape)}")
    expected = n_fft // 2 + 1 if onesided else n_fft
    if input.shape[-2] != expected:
        kind = "onesided" if onesided else "full"
        raise RuntimeError(
            f"istft: expected the frequency dimension (3rd to the last) of the input tensor to be "
            f"{expected} for n_fft={n_fft} and {kind} input, but got {input.shape[-2]}"
        )


@composite(
    samples=lambda make: [
        (make.complex(2, 3, 5), 4, 1, 4, make(4)),
        (make.complex(3, 6), 4, 1, 4, make(4), True, {"length": 4}),
    ]
)
def istft(
    input: Tensor,
    n_fft,
    hop_length=None,
    win_length=None,
    window: Tensor | None = None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal whose :func:`stft` is nearest to `input` ``(B, frequencies, frames)``: frames are
    transformed back, windowed, added up and divided by the sum of squared windows. `length` cuts
    the result or pads it with zeros; the other arguments are those of :func:`stft`."""
    onesided = (input.shape[-2] != n_fft) if onesided is None else onesided
    _check_istft(input, n_fft, onesided)
    hop, size = _lengths("istft", n_fft, hop_length, win_length, window)
    if hop > size:
        raise RuntimeError(
            f"istft: expected 0 < hop_length <= win_length, got hop_length={hop}, win_length={size}"
        )
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("istft: a complex window needs return_complex=True")
    if return_complex and onesided:
        raise RuntimeError("istft: cannot have onesided output if window or input is complex")
    window = _full_window(window, size, n_fft, input.real)
    count = input.shape[-1]
    total = (count - 1) * hop + n_fft
    signal = _signal(input.transpose(-1, -2), window, hop, n_fft, normalized, return_complex)
    squares = window.pow(2).expand(count, n_fft)
    envelope = _overlap_add(squares, hop, total)
    start = n_fft // 2 if center else 0
    end = total - start if length is None else start + length
    signal = signal[..., start : min(end, total)]
    envelope = envelope[start : min(end, total)]
    _check_envelope(envelope)
    return _of_length(signal / envelope, end - start)


def _signal(spectra, window, hop, n_fft, *how):
    """The sum of the windowed frames of spectra (*, count, frequencies), `hop` samples apart: block
    by block where nothing else needs the frames."""
    count = spectra.shape[-2]
    total = (count - 1) * hop + n_fft
    if 2 * spectra.numel() <= LONG or not unrecorded(spectra, window):
        return _overlap_add(_frames_back(spectra, n_fft, *how) * window, hop, total)
    reach, pieces = -(-n_fft // hop) - 1, []
    step = max(_frames_of_block(spectra), 8 * reach)  # `reach` frames of each are computed twice
    for first in range(0, count + reach, step):
        # Samples get frames in the order of the whole, so that sums are rounded alike.
        begin, end = max(first - reach, 0), min(first + step, count)
        frames = _frames_back(spectra.narrow(-2, begin, end - begin), n_fft, *how) * window
        piece = _overlap_add(frames, hop, (end - begin + reach) * hop)
        pieces.append(piece[..., (first - begin) * hop : (first - begin + step) * hop].clone())
    return cat(pieces, -1)[..., :total]


def _frames_back(spectra, n_fft, normalized, return_complex):
    axes, norm = (spectra.dim() - 1,), _norm(normalized, "backward")
    if return_complex:
        return _fft_c2c(spectra, axes, norm, False)
    return _fft_c2r(spectra[..., : n_fft // 2 + 1], axes, norm, n_fft)


def _check_envelope(envelope):
    if not readable(envelope) or not envelope.numel():
        return
    least = float(innermost(envelope).detach().abs().min())
    if not least > 1e-11:
        raise RuntimeError(
            f"istft: window overlap add min: {least} is not above 1e-11: some samples are in no "
            "window, so they cannot be recovered; use a longer window, a smaller hop or center=True"
        )


def _of_length(signal, length):
    missing = length - signal.shape[-1]
    if missing <= 0:
        return signal
    warnings.warn(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.",
        UserWarning,
        stacklevel=4,
    )
    from rushlight.ops.neural.padding import pad

    return pad(signal, (0, missing))
