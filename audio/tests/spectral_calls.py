"""Calls of `functional` that are compared with torchaudio's recorded results, by name: spectra and
features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchaudio_calls import Call, Library, collected, named


def spectra() -> Iterator[tuple[str, Call]]:
    """Spectrograms and back."""

    def window(L: Library, n: int, dtype: str = "float64") -> Any:
        return L.torch.hann_window(n, dtype=getattr(L.torch, dtype))

    yield from named(
        "spectrogram",
        [
            lambda L: L.F.spectrogram(L.sound(2, 90), 0, window(L, 16), 16, 4, 16, 2.0, False),
            lambda L: L.F.spectrogram(L.sound(2, 90), 3, window(L, 12), 16, 4, 12, 1.0, "window"),
            lambda L: L.F.spectrogram(
                L.sound(2, 90), 0, window(L, 16), 16, None, 16, None, "frame_length", False
            ),
            lambda L: L.F.spectrogram(
                L.sound(90), 0, window(L, 16), 16, 8, 16, 0.7, True, True, "constant", False
            ),
        ],
    )
    yield from named(
        "inverse_spectrogram",
        [
            lambda L: L.F.inverse_spectrogram(
                L.randn(2, 9, 12, dtype="complex128"), None, 0, window(L, 16), 16, 4, 16, False
            ),
            lambda L: L.F.inverse_spectrogram(
                L.randn(9, 12, dtype="complex128"), 40, 2, window(L, 16), 16, 4, 16, "window"
            ),
            lambda L: L.F.inverse_spectrogram(
                L.randn(1, 2, 16, 12, dtype="complex128"),
                30,
                0,
                window(L, 16),
                16,
                4,
                16,
                "frame_length",
                True,
                "reflect",
                False,
            ),
            lambda L: L.F.inverse_spectrogram(
                L.randn(9, 12), None, 0, window(L, 16), 16, 4, 16, False
            ),
        ],
    )
    yield from named(
        "griffinlim",
        [
            lambda L: L.F.griffinlim(
                L.randn(2, 9, 12).abs(), window(L, 16), 16, 4, 16, 2.0, 3, 0.99, None, False
            ),
            lambda L: L.F.griffinlim(
                L.randn(9, 12).abs(), window(L, 16), 16, 4, 16, 1.0, 2, 0.0, 40, True
            ),
            lambda L: L.F.griffinlim(
                L.randn(2, 9, 12, grad=False, dtype="float32").abs(),
                window(L, 16, "float32"),
                16,
                4,
                16,
                2.0,
                2,
                0.5,
                None,
                True,
            ),
            lambda L: L.F.griffinlim(
                L.randn(2, 9, 12).abs(), window(L, 16), 16, 4, 16, 2.0, 3, 1.0, None, False
            ),
        ],
    )

    def advance(L: Library) -> Any:
        return L.torch.linspace(0, 3.14159 * 4, 9, dtype=L.torch.float64).unsqueeze(-1)

    yield from named(
        "phase_vocoder",
        [
            lambda L: L.F.phase_vocoder(L.randn(2, 9, 12, dtype="complex128"), 1.3, advance(L)),
            lambda L: L.F.phase_vocoder(L.randn(9, 12, dtype="complex128"), 0.7, advance(L)),
            lambda L: L.F.phase_vocoder(L.randn(1, 2, 9, 12, dtype="complex128"), 1.0, advance(L)),
        ],
    )
    yield from named(
        "pitch_shift",
        [
            lambda L: L.F.pitch_shift(L.sound(2, 300), 8000, 4, n_fft=64, window=window(L, 64)),
            lambda L: L.F.pitch_shift(L.sound(400), 8000, -3, 24, 64, 48, 12, window(L, 48)),
        ],
    )
    yield from named(
        "spectral_centroid",
        [
            lambda L: L.F.spectral_centroid(L.sound(2, 90), 8000, 2, window(L, 16), 16, 4, 16),
        ],
    )


def features() -> Iterator[tuple[str, Call]]:
    yield from named(
        "compute_deltas",
        [
            lambda L: L.F.compute_deltas(L.randn(2, 3, 12)),
            lambda L: L.F.compute_deltas(L.randn(3, 12), 9, "constant"),
            lambda L: L.F.compute_deltas(L.randn(2, 1, 3, 12), 4),
            lambda L: L.F.compute_deltas(L.randn(3, 12), 2),
        ],
    )
    yield from named(
        "sliding_window_cmn",
        [
            lambda L, c=c, v=v, w=w: L.F.sliding_window_cmn(L.randn(2, 15, 3), w, 4, c, v)
            for c in (False, True)
            for v in (False, True)
            for w in (6, 15, 40)
        ],
    )
    yield from named(
        "sliding_window_cmn of rows",
        [
            lambda L: L.F.sliding_window_cmn(L.randn(15, 3, dtype="float32")),
            lambda L: L.F.sliding_window_cmn(L.randn(2, 2, 15, 3), 7, 3, True, True),
        ],
    )
    yield from named(
        "amplitude_to_DB",
        [
            lambda L: L.F.amplitude_to_DB(L.randn(2, 1, 9, 12).abs(), 10.0, 1e-10, 0.0, 20.0),
            lambda L: L.F.amplitude_to_DB(L.randn(9, 12).abs(), 20.0, 1e-3, 0.5),
        ],
    )
    yield from named("DB_to_amplitude", [lambda L: L.F.DB_to_amplitude(L.randn(9), 2.0, 0.5)])
    yield from named(
        "melscale_fbanks",
        [
            lambda L: L.F.melscale_fbanks(41, 0.0, 4000.0, 10, 8000),
            lambda L: L.F.melscale_fbanks(41, 100.0, 3000.0, 10, 8000, "slaney", "slaney"),
        ],
    )
    yield from named(
        "linear_fbanks",
        [
            lambda L: L.F.linear_fbanks(41, 0.0, 4000.0, 10, 8000),
            lambda L: L.F.linear_fbanks(30, 50.0, 2500.0, 7, 8000),
        ],
    )
    yield from named(
        "create_dct",
        [lambda L: L.F.create_dct(5, 9, "ortho"), lambda L: L.F.create_dct(5, 9, None)],
    )
    yield from named(
        "resample",
        [
            lambda L: L.F.resample(L.sound(2, 90), 16000, 8000),
            lambda L: L.F.resample(
                L.sound(2, 90, dtype="float32"), 3, 7, 10, 0.9, "sinc_interp_kaiser", 12.0
            ),
        ],
    )
    yield from named(
        "mu_law_encoding",
        [
            lambda L: L.F.mu_law_encoding(L.sound(2, 90, grad=False), 256),
            lambda L: L.F.mu_law_encoding(L.tensor([[-1, 0, 1]], "int32"), 32),
        ],
    )
    yield from named(
        "mu_law_decoding",
        [
            lambda L: L.F.mu_law_decoding(L.torch.arange(16), 16),
            lambda L: L.F.mu_law_decoding(L.torch.arange(16, dtype=L.torch.float64), 16),
        ],
    )
    yield from named(
        "preemphasis",
        [lambda L: L.F.preemphasis(L.sound(2, 9)), lambda L: L.F.preemphasis(L.sound(9), 0.5)],
    )
    yield from named(
        "deemphasis",
        [lambda L: L.F.deemphasis(L.sound(2, 9)), lambda L: L.F.deemphasis(L.sound(9), 0.5)],
    )


CALLS = collected(spectra, features)
