"""Features of frames: centroids, deltas, normalized means."""

from __future__ import annotations

import functools
import itertools

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import from_rows, in_rows
from rushlight_audio.functional.pieces import PIECE, in_one_piece
from rushlight_audio.functional.spectrogram import spectrogram

__all__ = ["compute_deltas", "sliding_window_cmn", "spectral_centroid"]

Windows = int | tuple[rl.Tensor, rl.Tensor]


def spectral_centroid(
    waveform: rl.Tensor,
    sample_rate: int,
    pad: int,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
) -> rl.Tensor:
    """The mean frequency of each frame, weighed by magnitudes, in Hz; NaN in silence.

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        pad: zeros put before and after the waveform.
        window: ``[win_length]``.
        n_fft: length of a frame.
        hop_length: distance between frames.
        win_length: length of the window.

    Returns:
        ``[..., frames]``.
    """
    magnitude = spectrogram(
        waveform, pad, window, n_fft, hop_length, win_length, power=1.0, normalized=False
    )
    frequency = rl.linspace(
        0, sample_rate // 2, 1 + n_fft // 2, dtype=magnitude.dtype, device=magnitude.device
    ).unsqueeze(-1)
    return (frequency * magnitude).sum(-2) / magnitude.sum(-2)


def compute_deltas(specgram: rl.Tensor, win_length: int = 5, mode: str = "replicate") -> rl.Tensor:
    """The slope of each coefficient along time: a regression over a window of frames.

    Args:
        specgram: ``[..., coefficients, frames]``.
        win_length: frames of the window, 3 or more.
        mode: how the ends are padded, as for :func:`rushlight.nn.functional.pad`.

    Returns:
        a tensor of the same shape.
    """
    if win_length < 3:
        raise ValueError(f"compute_deltas(): win_length must be 3 or more, got {win_length}")
    reach = (win_length - 1) // 2
    squares = reach * (reach + 1) * (2 * reach + 1) / 3
    if not specgram.numel():
        return specgram
    rows = in_rows(specgram).unsqueeze(1)
    slope = rl.arange(-reach, reach + 1, dtype=specgram.dtype, device=specgram.device)
    slope = slope.reshape(1, 1, -1)
    found = F.conv1d(F.pad(rows, (reach, reach), mode=mode), slope) / squares
    return found.reshape(specgram.shape)


def sliding_window_cmn(
    specgram: rl.Tensor,
    cmn_window: int = 600,
    min_cmn_window: int = 100,
    center: bool = False,
    norm_vars: bool = False,
) -> rl.Tensor:
    """Features less their mean over a window that moves along time, as Kaldi's
    ``apply-cmvn-sliding``.

    Args:
        specgram: ``[..., frames, features]``.
        cmn_window: frames of the window.
        min_cmn_window: least frames at the beginning, without `center`.
        center: put the window around its frame, else before it.
        norm_vars: divide by the deviation over the window as well.

    Returns:
        a tensor of the same shape; sums are in float64.
    """
    if specgram.dim() < 2:
        raise ValueError(
            f"sliding_window_cmn(): expected [..., frames, features], got {list(specgram.shape)}"
        )
    if not rl.jit.is_scripting() and not in_one_piece(specgram, 2 * specgram.numel()):
        return _normalized_in_blocks(specgram, norm_vars, cmn_window, min_cmn_window, center)
    frames = specgram.shape[-2]
    start, stop = _windows(0, frames, frames, cmn_window, min_cmn_window, center)
    return _normalized(specgram, specgram, start, stop, norm_vars).to(specgram.dtype)


def _normalized_in_blocks(
    specgram: rl.Tensor, norm_vars: bool, cmn_window: int, least: int, center: bool
) -> rl.Tensor:
    """Block by block of frames, rows and features, with the frames that the windows of a block
    reach. Blocks are four windows long where features are few enough: little is summed twice."""
    rows = in_rows(specgram, 2)
    count, frames, features = rows.shape
    width = _even(features, PIECE // (4 * max(cmn_window, 1)))
    length = min(max(PIECE // width, 1), frames)
    together = _even(count, PIECE // (width * length))
    found = rl.empty_like(rows)
    low, high = _inner(frames, cmn_window, least, center)
    if together > 1:
        low = high = frames  # rows that a block has several of are better left whole
    for first, last in _spans((0, low, high, frames), length):
        start, stop = _windows(first, last, frames, cmn_window, least, center)
        inner = low <= first < high
        reached = slice(int(start[0]) - inner, int(stop[-1]))
        windows = int(stop[0] - start[0]) if inner else (start - start[0], stop - start[0])
        for row in range(0, count, together):
            for column in range(0, features, width):
                block = slice(row, row + together), slice(None), slice(column, column + width)
                part, result = rows[block], found[block][:, first:last]
                _normalize(part[:, first:last], part[:, reached], windows, norm_vars, result)
    return from_rows(found, specgram.shape[:-2])


def _inner(frames: int, size: int, least: int, center: bool) -> tuple[int, int]:
    """The frames, from one to another, whose windows are whole and have a frame before them."""
    first = size // 2 + 1 if center else max(size + 1, least - 1)
    last = frames - size + size // 2 + 1 if center else frames
    first = min(max(first, 0), frames)
    return first, min(max(last, first), frames)


def _spans(edges: tuple[int, ...], length: int) -> list[tuple[int, int]]:
    """From one edge to the next in even steps of `length` at most."""
    found = []
    for begin, end in itertools.pairwise(edges):
        step = _even(end - begin, length)
        found += [(first, min(first + step, end)) for first in range(begin, end, step)]
    return found


def _even(count: int, most: int) -> int:
    """The size of the parts of `count`, of at most `most` each: a small rest costs as much time."""
    most = max(most, 1)
    return max(-(-count // max(-(-count // most), 1)), 1)


def _normalize(
    specgram: rl.Tensor, reached: rl.Tensor, windows: Windows, norm_vars: bool, out: rl.Tensor
) -> None:
    """Write :func:`_normalized` of a block.

    `windows` is the first frame of each window and the one behind its last, of the frames
    `reached`; or a number of frames, where each window has as many and begins a frame after the one
    before. The first one then begins at the second frame of `reached`.
    """
    if isinstance(windows, int):
        sums, count = functools.partial(_moving, size=windows), rl.tensor(float(windows))
    else:
        sums = functools.partial(_sums, start=windows[0], stop=windows[1])
        count = (windows[1] - windows[0]).unsqueeze(-1)
    count, total = count.to(specgram.device), sums(reached)
    if not norm_vars:
        if isinstance(windows, int):
            rl.sub(specgram, total, alpha=1 / windows, out=out)
        else:
            rl.sub(specgram, total.div_(count), out=out)
        return
    average = total.div_(count)
    spread = sums(reached.double().square()).div_(count).addcmul_(average, average, value=-1)
    out.copy_(average.neg_().add_(specgram).mul_(spread.rsqrt_()))
    out.masked_fill_(count == 1, 0.0)


def _moving(values: rl.Tensor, size: int) -> rl.Tensor:
    """The sum in float64 over `size` frames from the second one on, the third, and so on."""
    sums = values.cumsum(-2, dtype=rl.float64)
    return sums[..., size:, :] - sums[..., :-size, :]


def _normalized(
    specgram: rl.Tensor, reached: rl.Tensor, start: rl.Tensor, stop: rl.Tensor, norm_vars: bool
) -> rl.Tensor:
    """Frames less the mean over their windows, from `start` to `stop` of the frames `reached`;
    in float64."""
    start, stop = start.to(specgram.device), stop.to(specgram.device)
    count = (stop - start).unsqueeze(-1)
    average = _sums(reached, start, stop).div_(count)
    if not norm_vars:
        return average.neg_().add_(specgram)
    found = specgram - average
    spread = _sums(reached.double().square(), start, stop).div_(count).sub_(average.square())
    return rl.where(count == 1, 0.0, found * spread.pow(-0.5))


def _sums(values: rl.Tensor, start: rl.Tensor, stop: rl.Tensor) -> rl.Tensor:
    """The sum in float64 over each frame's window."""
    sums = F.pad(values, (0, 0, 1, 0)).cumsum(-2, dtype=rl.float64)
    return sums.index_select(-2, stop).sub_(sums.index_select(-2, start))


def _windows(
    first: int, last: int, frames: int, size: int, least: int, center: bool
) -> tuple[rl.Tensor, rl.Tensor]:
    """The first frame of the window of each frame from `first` to `last`, of all `frames`, and the
    one behind its last."""
    at = rl.arange(first, last)
    if center:
        start = at - size // 2
        stop = start + size
    else:
        start, stop = at - size, at + 1
    stop = rl.where(start < 0, stop - start, stop)
    start = start.clamp(min=0)
    if not center:
        stop = rl.where(stop > at, rl.maximum(at + 1, rl.full_like(at, least)), stop)
    start = rl.where(stop > frames, start - (stop - frames), start).clamp(min=0)
    return start, stop.clamp(max=frames)
