"""Calls of `compliance.kaldi` that are compared with torchaudio's recorded results, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchaudio_calls import Call, Library, collected, named

FRAMES: list[dict[str, Any]] = [
    {},
    {"window_type": "hamming", "raw_energy": False, "energy_floor": 0.0},
    {"window_type": "blackman", "blackman_coeff": 0.4, "remove_dc_offset": False},
    {"window_type": "rectangular", "preemphasis_coefficient": 0.0, "frame_shift": 7.0},
    {"window_type": "hanning", "round_to_power_of_two": False, "snip_edges": False},
    {"snip_edges": False, "frame_length": 8.0, "subtract_mean": True, "frame_shift": 12.0},
    {"dither": 2.0, "channel": 1, "energy_floor": 1e9},
    {"min_duration": 10.0},
    {"channel": 2},
    {"frame_length": 500.0},
    {"frame_length": -1.0},
    {"frame_shift": 0.0},
    {"preemphasis_coefficient": 2.0},
    {"round_to_power_of_two": False, "frame_length": 23.1},
]
BANDS: list[dict[str, Any]] = [
    {"num_mel_bins": 8, "use_energy": True},
    {"num_mel_bins": 8, "use_energy": True, "htk_compat": True, "subtract_mean": True},
    {"num_mel_bins": 8, "low_freq": 100.0, "high_freq": 3000.0, "vtln_warp": 1.1},
    {"num_mel_bins": 8, "vtln_warp": 0.9, "vtln_high": 3500.0, "vtln_low": 200.0, "low_freq": 50.0},
    {"num_mel_bins": 8, "high_freq": -400.0, "snip_edges": False, "dither": 1.0},
    {"num_mel_bins": 3},
    {"low_freq": 5000.0},
    {"vtln_warp": 1.2, "vtln_low": 5.0},
]
SUMS: list[dict[str, Any]] = [{"use_log_fbank": False}, {"use_power": False}]
CEPSTRA: list[dict[str, Any]] = [
    {"num_ceps": 5, "cepstral_lifter": 0.0},
    {"num_ceps": 8, "num_mel_bins": 8, "htk_compat": True},
    {"num_ceps": 9, "num_mel_bins": 8},
]


def frames() -> Iterator[tuple[str, Call]]:
    """Features of every setting; those of mel bands, which torchaudio computes in float32, in
    float32."""

    def call(name: str, options: dict[str, Any]) -> Call:
        def called(L: Library) -> Any:
            exact = name == "spectrogram"
            waveform = L.sound(2, 600, dtype="float64" if exact else "float32", grad=False) * 1000
            if exact or "num_mel_bins" in options:
                waveform = L.wanted(waveform)
            function = getattr(L.audio.compliance.kaldi, name)
            return function(waveform, sample_frequency=8000.0, **options)

        return called

    for name, settings in (
        ("spectrogram", FRAMES),
        ("fbank", [*FRAMES, *BANDS, *SUMS]),
        ("mfcc", [FRAMES[0], *FRAMES[4:6], *BANDS, *CEPSTRA]),
    ):
        yield from named(name, [call(name, each) for each in settings])


def scales() -> Iterator[tuple[str, Call]]:
    """Mel filters and warping."""

    def kaldi(L: Library) -> Any:
        return L.audio.compliance.kaldi

    banks = [(8, 64, 8000.0, 20.0, 0.0), (5, 128, 16000.0, 100.0, -500.0)]
    warps = [(100.0, -500.0, 1.0), (100.0, -500.0, 1.2), (200.0, 3000.0, 0.8)]
    yield from named(
        "get_mel_banks",
        [
            lambda L, bank=bank, warp=warp: kaldi(L).get_mel_banks(*bank, *warp)
            for bank in banks
            for warp in warps
        ],
    )
    mels = [1.0, 50.0, 1000.0, 3000.0, 3900.0]
    yield from named("mel_scale", [lambda L: kaldi(L).mel_scale(L.wanted(L.tensor(mels)))])
    yield from named("mel_scale_scalar", [lambda L: kaldi(L).mel_scale_scalar(440.0)])
    yield from named(
        "inverse_mel_scale", [lambda L: kaldi(L).inverse_mel_scale(L.wanted(L.tensor(mels)))]
    )
    yield from named(
        "inverse_mel_scale_scalar", [lambda L: kaldi(L).inverse_mel_scale_scalar(440.0)]
    )
    for name in ("vtln_warp_freq", "vtln_warp_mel_freq"):
        yield from named(
            name,
            [
                lambda L, name=name, warp=warp: getattr(kaldi(L), name)(
                    *(100.0, 3500.0, 20.0, 4000.0), warp, L.tensor(mels)
                )
                for warp in (0.9, 1.2)
            ],
        )
    yield from named(
        "vtln_warp_freq out of range",
        [
            lambda L: kaldi(L).vtln_warp_freq(10.0, 3500.0, 20.0, 4000.0, 1.1, L.tensor(mels)),
            lambda L: kaldi(L).vtln_warp_freq(100.0, 4500.0, 20.0, 4000.0, 1.1, L.tensor(mels)),
        ],
    )


CALLS = collected(frames, scales)
