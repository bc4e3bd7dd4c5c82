"""Fourier transforms and windows."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight.onnx._operators.dtypes import dtype_of
from rushlight.onnx._operators.registry import number, operator


@operator()
def DFT(x, dft_length=None, axis=None, inverse=0, onesided=0, opset=20, **attributes):
    dim = attributes.get(
        "axis", 1 if axis is None and opset < 20 else -2 if axis is None else int(number(axis))
    )
    dim = dim % x.ndim if dim >= 0 else dim + x.ndim
    length = None if dft_length is None else int(number(dft_length))
    if inverse and onesided:
        whole = rl.view_as_complex(x.contiguous())
        return rl.fft.irfft(whole, length, dim).unsqueeze(-1)
    values = rl.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)
    found = rl.fft.ifft(values, length, dim) if inverse else rl.fft.fft(values, length, dim)
    if onesided:
        found = found.narrow(dim, 0, found.shape[dim] // 2 + 1)
    return rl.view_as_real(found).to(x.dtype)


@operator()
def STFT(signal, frame_step, window=None, frame_length=None, onesided=1):
    step = int(number(frame_step))
    length = int(number(frame_length)) if frame_length is not None else window.shape[0]
    values = (
        rl.view_as_complex(signal.contiguous()) if signal.shape[-1] == 2 else signal.squeeze(-1)
    )
    frames = values.unfold(1, length, step)
    frames = frames if window is None else frames * window
    found = rl.fft.fft(frames, length, -1)
    if onesided:
        found = found[..., : length // 2 + 1]
    return rl.view_as_real(found)


def _window(size, output_datatype, periodic, shares):
    count = int(number(size))
    places = rl.arange(count, dtype=rl.float64)
    angle = 2 * math.pi * places / (count if periodic else max(1, count - 1))
    total = sum(
        ((-1) ** n * share * rl.cos(n * angle) for n, share in enumerate(shares)), 0 * places
    )
    return total.to(dtype_of(output_datatype))


@operator()
def HannWindow(size, output_datatype=1, periodic=1):
    return _window(size, output_datatype, periodic, (0.5, 0.5))


@operator()
def HammingWindow(size, output_datatype=1, periodic=1):
    return _window(size, output_datatype, periodic, (25 / 46, 1 - 25 / 46))


@operator()
def BlackmanWindow(size, output_datatype=1, periodic=1):
    return _window(size, output_datatype, periodic, (0.42, 0.5, 0.08))


@operator()
def MelWeightMatrix(bins, length, rate, low, high, output_datatype=1):
    count, size, rate, low, high = (number(v) for v in (bins, length, rate, low, high))
    first, last = (2595 * math.log10(1 + f / 700) for f in (low, high))
    steps = [first + n * (last - first) / (count + 2) for n in range(count + 2)]
    places = [int((size + 1) * 700 * (10 ** (m / 2595) - 1) // rate) for m in steps]
    found = rl.zeros(size // 2 + 1, count)
    for band in range(count):
        left, middle, right = places[band : band + 3]
        if middle == left:
            found[middle, band] = 1
        for k in range(left, middle + 1 if middle != left else left):
            found[k, band] = (k - left) / (middle - left)
        for k in range(middle, right):
            if right != middle:
                found[k, band] = (right - k) / (right - middle)
    return found.to(dtype_of(output_datatype))
