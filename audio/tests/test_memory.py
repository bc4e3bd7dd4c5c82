"""Peaks of memory: bounded by input and output, whatever the length of a sound.

Measured are the bytes of arrays beyond the inputs, which NumPy reports to tracemalloc, of calls
that no graph keeps. Scratch of the worker threads is not among them.
"""

from __future__ import annotations

import gc
import tracemalloc
import warnings

import memory_calls
import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T

LENGTH = 600_000
FACTOR = 3.1  # bytes of the peak a byte of input and output, the output included
ROOM = 16 << 20  # bytes of blocks that do not grow with the input

# What needs more, with the reason: factors of their own.
WHOLE_SPECTRA = "a spectrum of overlapping frames of which every frame depends on those before"
TABLES = "a table that is computed once, in float64, without an input that counts"
MORE = {
    "griffinlim": (5.6, "the spectra of two rounds, magnitudes and phases"),
    "GriffinLim": (5.6, "the spectra of two rounds, magnitudes and phases"),
    "pitch_shift": (7.0, WHOLE_SPECTRA),
    "PitchShift": (7.0, WHOLE_SPECTRA),
    "MVDR": (3.6, "complex128 within, as in torchaudio"),
    "merge_tokens": (12.0, "spans are objects of Python, not counted as output"),
    **dict.fromkeys(("blackman_window", "hamming_window", "hann_window"), (8.1, TABLES)),
    **dict.fromkeys(("create_dct", "linear_fbanks", "melscale_fbanks"), (10.2, TABLES)),
}
# Names without a call: modules, a result, what takes sequences of Python, what only raises.
WITHOUT = {"TokenSpan", "compute_kaldi_pitch", "edit_distance", "filtering", "functional"}
CALLS = {**memory_calls.FUNCTIONS, **memory_calls.TRANSFORMS}


def test_every_name_has_a_call():
    called = {name.split()[0] for name in CALLS}
    assert called | WITHOUT == set(F.__all__) | set(T.__all__)
    assert not called & WITHOUT
    assert set(MORE) <= called


@pytest.mark.parametrize("name", CALLS)
def test_the_peak_is_bounded_by_input_and_output(name):
    factor, _ = MORE.get(name, (FACTOR, ""))
    (least, few), (most, many) = (_measured(CALLS[name], n) for n in (LENGTH, 2 * LENGTH))
    assert most <= factor * many + ROOM, f"{most} bytes for {many}"
    assert most - least <= factor * (many - few) + 4096, f"{most - least} more for {many - few}"
    assert most <= 2.1 * least + (1 << 16), f"{least} bytes become {most}"


@pytest.mark.parametrize(
    "name",
    [
        "flanger",
        "overdrive",
        "phase_vocoder",
        "sliding_window_cmn",
        "spectrogram",
        "spectrogram magnitude",
        "spectral_centroid",
        "MFCC",
    ],
)
def test_pieces_are_those_of_the_whole(name):
    call, (given, *rest) = CALLS[name](LENGTH)
    found = call(given, *rest)
    assert not found.requires_grad
    whole = call(given.clone().requires_grad_(), *rest)  # a graph keeps the whole
    assert whole.requires_grad
    rl.testing.assert_close(found, whole.detach(), atol=1e-4, rtol=1e-5)
    assert found.stride() == whole.stride()


def _measured(call, length):
    """The peak in bytes beyond the inputs, and the bytes of input and output."""
    function, given = call(length)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # filters that see no frequency
        function(*given)  # what is compiled and cached at the first call does not count
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            found = function(*given)
            peak = tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()
    return peak, _bytes(given) + _bytes(found)


def _bytes(value):
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes, value))
    return value.numel() * value.element_size() if isinstance(value, rl.Tensor) else 0
