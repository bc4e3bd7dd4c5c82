"""Calls of `functional` that are compared with torchaudio's recorded results, by name: filters and
effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchaudio_calls import Call, Library, collected, named

BOTH = ("float32", "float64")


def filters() -> Iterator[tuple[str, Call]]:
    """Linear filters of all kinds."""

    def coefficients(L: Library, *shape: int) -> tuple[Any, Any]:
        a = L.wanted(
            L.randn(*shape, seed=8, grad=False) * 0.2 + L.tensor([2.0] + [0.0] * (shape[-1] - 1))
        )
        return a, L.randn(*shape, seed=9)

    yield from named(
        "lfilter",
        [
            lambda L: L.F.lfilter(L.sound(2, 40), *coefficients(L, 3)),
            lambda L: L.F.lfilter(L.sound(2, 40), *coefficients(L, 3), clamp=False),
            lambda L: L.F.lfilter(L.sound(3, 2, 30), *coefficients(L, 2, 5), clamp=False),
            lambda L: L.F.lfilter(L.sound(2, 30), *coefficients(L, 3, 4), False, False),
            lambda L: L.F.lfilter(L.sound(30), *coefficients(L, 1), False),
            lambda L: L.F.lfilter(L.sound(2, 30), L.tensor([1.0, 2.0]), L.tensor([1.0])),
            lambda L: L.F.lfilter(L.sound(2, 30), L.randn(3, 3), L.randn(3, 3)),
            lambda L: L.F.lfilter(L.sound(2, 30), L.randn(2, 3, 1), L.randn(2, 3, 1)),
            lambda L: L.F.lfilter(L.sound(2, 30), L.randn(3, dtype="float32"), L.randn(3)),
        ],
    )
    yield from named(
        "filtfilt",
        [
            lambda L: L.F.filtfilt(L.sound(2, 40), *coefficients(L, 3)),
            lambda L: L.F.filtfilt(L.sound(2, 40), *coefficients(L, 2, 3), clamp=False),
        ],
    )
    yield from named(
        "biquad",
        [
            lambda L: L.F.biquad(L.sound(2, 40), 0.3, 0.2, 0.1, 1.1, -0.2, 0.3),
            lambda L: L.F.biquad(
                L.sound(40), L.tensor(0.4), 0.2, 0.1, L.wanted(L.tensor([1.2])), 0.1, 0
            ),
        ],
    )


BIQUADS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "allpass_biquad": [((8000, 1000.0), {}), ((44100, 300, 2.0), {})],
    "band_biquad": [((8000, 1000.0), {}), ((8000, 1000.0, 0.3), {"noise": True})],
    "bandpass_biquad": [((8000, 1000.0), {}), ((8000, 1000.0, 2.0), {"const_skirt_gain": True})],
    "bandreject_biquad": [((8000, 1000.0), {}), ((8000, 50.0, 3.0), {})],
    "bass_biquad": [((8000, 6.0), {}), ((44100, -9, 200, 1.0), {})],
    "treble_biquad": [((8000, 6.0), {}), ((44100, -9, 2000, 1.0), {})],
    "equalizer_biquad": [((8000, 1000, 6.0), {}), ((44100, 300.0, -12, 2.0), {})],
    "lowpass_biquad": [((8000, 1000), {}), ((16000, 900.0, 2.0), {})],
    "highpass_biquad": [((8000, 1000), {}), ((44100, 300.0, 2.0), {})],
    "deemph_biquad": [((44100,), {}), ((48000,), {}), ((16000,), {})],
    "riaa_biquad": [((44100,), {}), ((48000,), {}), ((88200,), {}), ((96000,), {}), ((8000,), {})],
}


def biquads() -> Iterator[tuple[str, Call]]:
    """Filters by purpose, in both dtypes."""
    for name, given in BIQUADS.items():
        calls = [
            lambda L, name=name, args=args, options=options, dtype=dtype: getattr(L.F, name)(
                L.sound(2, 30, dtype=dtype), *args, **options
            )
            for args, options in given
            for dtype in BOTH
        ]
        yield from named(name, calls)


def effects() -> Iterator[tuple[str, Call]]:
    """Effects, also where they reach their limits."""
    yield from named(
        "gain",
        [
            lambda L: L.F.gain(L.sound(2, 9)),
            lambda L: L.F.gain(L.sound(2, 9), -3.0),
            lambda L: L.F.gain(L.sound(2, 9), 0),
        ],
    )
    yield from named(
        "contrast",
        [
            lambda L: L.F.contrast(L.sound(2, 9)),
            lambda L: L.F.contrast(L.sound(2, 9), 0),
            lambda L: L.F.contrast(L.sound(2, 9), 101),
        ],
    )
    yield from named(
        "dcshift",
        [
            lambda L: L.F.dcshift(L.sound(2, 50, grad=False), 0.3),
            lambda L: L.F.dcshift(L.sound(2, 50, grad=False), 0.4, 0.05),
            lambda L: L.F.dcshift(L.sound(2, 50, grad=False), -0.4, 0.02),
            lambda L: L.F.dcshift(L.sound(2, 50, grad=False), 0.0, 0.02),
            lambda L: L.F.dcshift(L.sound(2, 50, grad=False), -0.7),
        ],
    )
    yield from named(
        "overdrive",
        [
            lambda L: L.F.overdrive(L.sound(2, 50, grad=False)),
            lambda L: L.F.overdrive(L.sound(50, dtype="float32", grad=False), 3, 60),
            lambda L: L.F.overdrive(L.sound(2, 2, 50, grad=False), gain=40, colour=0),
        ],
    )
    yield from named(
        "dither",
        [
            lambda L, d=d, s=s, t=t: L.F.dither(L.sound(3, 60, dtype=t, grad=False), d, s)
            for d in ("TPDF", "RPDF", "GPDF")
            for s in (False, True)
            for t in BOTH
            if d != "GPDF" or not s  # torchaudio writes into the waveform then
        ],
    )
    yield from named(
        "phaser",
        [
            lambda L: L.F.phaser(L.sound(2, 300, grad=False), 8000),
            lambda L: L.F.phaser(L.sound(300, dtype="float32", grad=False), 8000, sinusoidal=False),
            lambda L: L.F.phaser(L.sound(1, 2, 200, grad=False), 16000, 0.6, 0.8, 1.0, 0.2, 2.0),
        ],
    )
    yield from named(
        "flanger",
        [
            lambda L: L.F.flanger(L.sound(2, 300, grad=False), 8000),
            lambda L: L.F.flanger(L.sound(1, 300, dtype="float32", grad=False), 8000, regen=40.0),
            lambda L: L.F.flanger(
                L.sound(1, 4, 200, grad=False),
                8000,
                1.0,
                3.0,
                -30.0,
                90.0,
                8.0,
                40.0,
                "triangular",
                "quadratic",
            ),
            lambda L: L.F.flanger(
                L.sound(3, 200, grad=False),
                11025,
                0.7,
                1.3,
                20.0,
                50.0,
                5.0,
                0.0,
                "sinusoidal",
                "quadratic",
            ),
            lambda L: L.F.flanger(L.sound(5, 40, grad=False), 8000),
            lambda L: L.F.flanger(L.sound(2, 40, grad=False), 8000, modulation="square"),
            lambda L: L.F.flanger(L.sound(2, 40, grad=False), 8000, interpolation="cubic"),
        ],
    )


def speech(L: Library, dtype: str, seed: int = 0, lead: float = 0.8) -> Any:
    """Noise, then a voiced sound at 120 Hz with harmonics, as [1, T] at 8 kHz."""
    torch = L.torch
    noise = L.randn(1, 16000, seed=seed, grad=False) * 0.003
    time = torch.arange(16000, dtype=torch.float64) / 8000
    voice = sum(torch.sin(6.283185307179586 * 120 * k * time) / k for k in range(1, 12))
    return (noise + 0.2 * voice * (time > lead) * (time < 1.7)).to(getattr(torch, dtype))


def voices() -> Iterator[tuple[str, Call]]:
    def kept(L: Library, waveform: Any, **options: Any) -> Any:
        found = L.F.vad(waveform, 8000, **options)
        return L.tensor(found.shape, "int64"), found[..., :4]

    yield from named(
        "vad",
        [
            *[lambda L, t=t: kept(L, speech(L, t)) for t in BOTH],
            lambda L: kept(L, speech(L, "float32")[0], trigger_level=5.0, pre_trigger_time=0.1),
            lambda L: kept(L, speech(L, "float64", lead=1.3), search_time=0.5, allowed_gap=0.1),
            lambda L: kept(
                L,
                speech(L, "float64", lead=1.3),
                measure_freq=25.0,
                measure_duration=0.05,
                noise_reduction_amount=1.0,
                boot_time=0.2,
            ),
            lambda L: kept(
                L, L.torch.cat([speech(L, "float64", 1, 1.2), speech(L, "float64", 2, 1.0)])
            ),
            lambda L: kept(L, L.sound(1, 4000, grad=False) * 0.001),
        ],
    )
    yield from named(
        "detect_pitch_frequency",
        [
            lambda L: L.F.detect_pitch_frequency(speech(L, "float64", lead=0.2), 8000),
            lambda L: L.F.detect_pitch_frequency(
                L.sound(2, 6000, dtype="float32", grad=False), 8000, 0.02, 11, 60, 1000
            ),
            lambda L: L.F.detect_pitch_frequency(L.sound(6000, grad=False), 11025, win_length=6),
        ],
    )
    yield from named(
        "loudness",
        [
            lambda L: L.F.loudness(L.wanted(speech(L, "float64")[:, 6000:7000]), 1000),
            lambda L: L.F.loudness(L.sound(2, 5, 4000, dtype="float32", grad=False), 4000),
            lambda L: L.F.loudness(L.sound(6, 4000, grad=False), 4000),
        ],
    )


CALLS = collected(filters, biquads, effects, voices)
