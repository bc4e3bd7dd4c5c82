"""Calls of `transforms` that are compared with torchaudio's recorded results, by name: what a
module gives and the keys of its state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchaudio_calls import Call, Library, collected, named


def made(L: Library, name: str, *args: Any, given: Any, **options: Any) -> Any:
    """What a module gives for arguments, and its state's keys."""
    module = getattr(L.T, name)(*args, **options)
    return called(module.double(), given)


def single(L: Library, name: str, *args: Any, given: Any, **options: Any) -> Any:
    """The same in float32, for modules whose constants torchaudio computes in float32."""
    module = getattr(L.T, name)(*args, **options).float()
    tensor = given.detach().float()
    return called(module, L.wanted(tensor) if given.requires_grad else tensor)


def called(module: Any, given: Any) -> Any:
    inputs = given if isinstance(given, tuple) else (given,)
    result = module(*inputs)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    return [*outputs, " ".join(module.state_dict())]


def short(L: Library) -> dict[str, Any]:
    """Sizes of small frames, with exact windows."""
    return {"n_fft": 32, "hop_length": 8, "wkwargs": {"dtype": L.torch.float64}}


def spectra() -> Iterator[tuple[str, Call]]:
    """From waveforms to spectra and back."""
    yield from named(
        "Spectrogram",
        [
            lambda L: made(L, "Spectrogram", **short(L), given=L.sound(2, 90)),
            lambda L: made(
                L, "Spectrogram", **short(L), power=None, normalized=True, given=L.sound(90)
            ),
        ],
    )
    yield from named(
        "MelSpectrogram",
        [
            lambda L: single(
                L, "MelSpectrogram", 8000, n_mels=6, f_min=50.0, given=L.sound(2, 90), **short(L)
            ),
            lambda L: single(
                L,
                "MelSpectrogram",
                8000,
                n_mels=5,
                norm="slaney",
                mel_scale="slaney",
                power=1.0,
                given=L.sound(2, 90),
                **short(L),
            ),
        ],
    )
    yield from named(
        "MelScale",
        [lambda L: single(L, "MelScale", 4, 8000, n_stft=17, given=L.randn(2, 17, 5).abs())],
    )
    yield from named(
        "MFCC",
        [
            lambda L: single(
                L, "MFCC", 8000, 4, melkwargs={"n_mels": 7, **short(L)}, given=L.sound(2, 90)
            ),
            lambda L: single(
                L,
                "MFCC",
                8000,
                4,
                norm=None,
                log_mels=True,
                melkwargs={"n_mels": 7, **short(L)},
                given=L.sound(2, 90),
            ),
        ],
    )
    yield from named(
        "LFCC",
        [
            lambda L: single(
                L, "LFCC", 8000, 7, n_lfcc=4, speckwargs=short(L), given=L.sound(2, 90)
            ),
            lambda L: single(
                L,
                "LFCC",
                8000,
                7,
                100.0,
                3000.0,
                4,
                norm=None,
                log_lf=True,
                speckwargs=short(L),
                given=L.sound(2, 90),
            ),
            lambda L: single(L, "LFCC", dct_type=3, given=L.sound(90)),
            lambda L: single(L, "LFCC", n_lfcc=500, given=L.sound(90)),
        ],
    )
    yield from named(
        "InverseSpectrogram",
        [
            lambda L: made(
                L, "InverseSpectrogram", **short(L), given=L.randn(2, 17, 9, dtype="complex128")
            ),
            lambda L: made(
                L,
                "InverseSpectrogram",
                **short(L),
                normalized="frame_length",
                given=(L.randn(17, 9, dtype="complex128"), 50),
            ),
        ],
    )
    yield from named(
        "GriffinLim",
        [
            lambda L: made(
                L, "GriffinLim", n_iter=3, given=L.randn(2, 17, 9, grad=False).abs(), **short(L)
            ),
            lambda L: made(
                L,
                "GriffinLim",
                n_iter=2,
                power=1.0,
                momentum=0.2,
                length=60,
                rand_init=False,
                given=L.randn(17, 9, grad=False).abs(),
                **short(L),
            ),
            lambda L: made(L, "GriffinLim", momentum=1.0, given=L.randn(2, 17, 9)),
        ],
    )
    yield from named(
        "InverseMelScale",
        [
            lambda L: single(
                L, "InverseMelScale", 17, 4, 8000, given=L.randn(2, 4, 5, grad=False).abs()
            ),
            lambda L: single(
                L, "InverseMelScale", 17, 4, 8000, given=L.randn(2, 5, 5, grad=False).abs()
            ),
            lambda L: single(L, "InverseMelScale", 17, 4, 8000, driver="gel", given=L.randn(4, 5)),
        ],
    )
    yield from named(
        "SpectralCentroid",
        [lambda L: made(L, "SpectralCentroid", 8000, **short(L), given=L.sound(2, 90))],
    )


def speeds() -> Iterator[tuple[str, Call]]:
    """Other speeds and pitches."""
    spectrum = {"dtype": "complex128"}
    yield from named(
        "TimeStretch",
        [
            lambda L: made(
                L, "TimeStretch", 8, 17, 1.2, given=L.randn(2, 17, 9, grad=False, **spectrum)
            ),
            lambda L: made(
                L, "TimeStretch", n_freq=17, given=(L.randn(17, 9, grad=False, **spectrum), 0.8)
            ),
            lambda L: made(L, "TimeStretch", n_freq=17, given=L.randn(17, 9, **spectrum)),
        ],
    )
    yield from named(
        "PitchShift",
        [
            lambda L: made(
                L, "PitchShift", 8, 4, 12, given=L.sound(2, 300, grad=False), **short(L)
            ),
            lambda L: made(
                L, "PitchShift", 8, 0, 12, given=L.sound(2, 300, grad=False), **short(L)
            ),
        ],
    )
    yield from named(
        "Resample",
        [
            lambda L: made(L, "Resample", 16000, 8000, dtype=L.torch.float64, given=L.sound(2, 90)),
            lambda L: made(L, "Resample", 8000, 8000, given=L.sound(2, 90)),
        ],
    )
    lengths = [90, 40]
    yield from named(
        "Speed",
        [
            lambda L: made(L, "Speed", 1000, 0.5, given=L.sound(2, 90, grad=False)),
            lambda L: made(L, "Speed", 1000, 1, given=(L.sound(2, 90), L.tensor(lengths, "int64"))),
        ],
    )

    def perturbed(L: Library) -> Any:
        module = L.T.SpeedPerturbation(1000, [1.0, 0.5, 2.0, 0.25])
        found = [module(L.sound(2, 40, dtype="float32", grad=False))[0] for _ in range(6)]
        return [*found, " ".join(module.state_dict())]

    yield from named("SpeedPerturbation", [perturbed])


def sounds() -> Iterator[tuple[str, Call]]:
    """Waveforms to waveforms."""
    yield from named(
        "Fade",
        [
            lambda L, shape=shape: made(
                L, "Fade", 5, 8, shape, given=L.sound(2, 30, dtype="float32")
            )
            for shape in ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine")
        ],
    )
    yield from named("Fade too long", [lambda L: made(L, "Fade", 50, 8, given=L.sound(2, 30))])
    yield from named(
        "Vol",
        [
            lambda L: made(L, "Vol", 0.7, given=L.sound(2, 9)),
            lambda L: made(L, "Vol", -3.0, "db", given=L.sound(2, 9)),
            lambda L: made(L, "Vol", 2.0, "power", given=L.sound(2, 9)),
            lambda L: made(L, "Vol", -2.0, "power", given=L.sound(2, 9)),
        ],
    )
    yield from named("Loudness", [lambda L: made(L, "Loudness", 1000, given=L.sound(2, 900))])
    yield from named(
        "MuLawEncoding", [lambda L: made(L, "MuLawEncoding", given=L.sound(2, 30, grad=False))]
    )
    yield from named(
        "MuLawDecoding", [lambda L: made(L, "MuLawDecoding", 16, given=L.torch.arange(16))]
    )
    yield from named(
        "AddNoise",
        [
            lambda L: made(
                L,
                "AddNoise",
                given=(L.sound(3, 20), L.sound(3, 20, seed=1), L.randn(3), L.tensor([20, 5, 9])),
            )
        ],
    )
    for name in ("Convolve", "FFTConvolve"):
        yield from named(
            name,
            [
                lambda L, name=name: made(L, name, given=(L.randn(2, 9), L.randn(2, 4, seed=1))),
                lambda L, name=name: made(
                    L, name, "same", given=(L.randn(2, 9), L.randn(2, 4, seed=1))
                ),
                lambda L, name=name: made(L, name, "some", given=(L.randn(2, 9), L.randn(2, 4))),
            ],
        )
    yield from named("Preemphasis", [lambda L: made(L, "Preemphasis", 0.9, given=L.sound(2, 9))])
    yield from named("Deemphasis", [lambda L: made(L, "Deemphasis", 0.9, given=L.sound(2, 9))])

    def trimmed(L: Library) -> Any:
        from filtering_calls import speech

        found = L.T.Vad(8000, search_time=0.6)(speech(L, "float64"))
        return L.tensor(found.shape, "int64"), found[..., :4]

    yield from named("Vad", [trimmed])


def features() -> Iterator[tuple[str, Call]]:
    """Spectrograms to spectrograms."""
    yield from named(
        "AmplitudeToDB",
        [
            lambda L: made(L, "AmplitudeToDB", top_db=20.0, given=L.randn(2, 9, 12).abs()),
            lambda L: made(L, "AmplitudeToDB", "magnitude", given=L.randn(2, 9, 12).abs()),
        ],
    )
    yield from named(
        "ComputeDeltas",
        [lambda L: made(L, "ComputeDeltas", 7, "constant", given=L.randn(2, 3, 12))],
    )
    yield from named(
        "SlidingWindowCmn",
        [lambda L: made(L, "SlidingWindowCmn", 6, 3, True, True, given=L.randn(2, 15, 3))],
    )
    for name in ("FrequencyMasking", "TimeMasking"):
        yield from named(
            name,
            [
                lambda L, name=name: made(L, name, 6, given=L.randn(3, 9, 12)),
                lambda L, name=name: made(L, name, 6, True, given=(L.randn(3, 2, 9, 12), 0.5)),
            ],
        )
    yield from named(
        "SpecAugment",
        [
            lambda L: made(L, "SpecAugment", 2, 5, 2, 4, given=L.randn(3, 9, 12)),
            lambda L: made(L, "SpecAugment", 2, 9, 1, 4, False, 0.3, True, given=L.randn(3, 9, 12)),
            lambda L: made(L, "SpecAugment", 1, 9, 1, 4, given=L.randn(9, 12)),
        ],
    )

    def loss(L: Library) -> Any:
        lengths = [L.tensor(each, "int32") for each in ([6, 4, 1], [4, 2, 0])]
        scores, labels = L.randn(3, 6, 5, 7, dtype="float32"), L.torch.ones(3, 4).to(L.torch.int32)
        return L.T.RNNTLoss(2, reduction="sum")(scores, labels, *lengths)

    yield from named("RNNTLoss", [loss])


def arrays() -> Iterator[tuple[str, Call]]:
    """Beamforming."""

    def spectrum(L: Library, *lead: int) -> Any:
        return L.randn(*lead, 3, 5, 12, dtype="complex128")

    def mask(L: Library, *shape: int, seed: int = 1) -> Any:
        return L.randn(*shape, seed=seed).abs()

    yield from named(
        "PSD",
        [
            lambda L: made(L, "PSD", given=(spectrum(L, 2), mask(L, 2, 5, 12))),
            lambda L: made(L, "PSD", True, False, given=(spectrum(L, 2), mask(L, 2, 3, 5, 12))),
        ],
    )

    def covariance(L: Library) -> Any:
        return L.F.psd(L.randn(2, 3, 5, 12, dtype="complex128", seed=3))

    yield from named(
        "SoudenMVDR",
        [
            lambda L: made(
                L, "SoudenMVDR", given=(spectrum(L, 2), covariance(L), covariance(L), 1)
            ),
        ],
    )
    yield from named(
        "RTFMVDR",
        [
            lambda L: made(
                L,
                "RTFMVDR",
                given=(spectrum(L, 2), L.randn(2, 5, 3, dtype="complex128"), covariance(L), 1),
            ),
        ],
    )
    yield from named(
        "MVDR",
        [
            lambda L: made(
                L, "MVDR", 1, given=(spectrum(L, 2), mask(L, 2, 5, 12), mask(L, 2, 5, 12, seed=2))
            ),
            lambda L: made(
                L,
                "MVDR",
                solution="stv_evd",
                given=(
                    spectrum(L).detach(),
                    mask(L, 5, 12).detach(),
                    mask(L, 5, 12, seed=2).detach(),
                ),
            ),
            lambda L: made(
                L,
                "MVDR",
                solution="stv_power",
                given=(spectrum(L), mask(L, 5, 12), mask(L, 5, 12, seed=2)),
            ),
            lambda L: made(L, "MVDR", multi_mask=True, given=(spectrum(L), mask(L, 3, 5, 12))),
            lambda L: made(L, "MVDR", solution="stv", given=(spectrum(L), mask(L, 5, 12))),
            lambda L: made(L, "MVDR", given=(spectrum(L).real, mask(L, 5, 12))),
            lambda L: made(L, "MVDR", given=(spectrum(L)[0], mask(L, 5, 12))),
        ],
    )

    def online(L: Library) -> Any:
        module = L.T.MVDR(online=True)
        found = [
            module(
                L.randn(2, 3, 5, 12, dtype="complex128", seed=n, grad=False),
                *(L.randn(2, 5, 12, seed=n + s, grad=False).abs() for s in (7, 8)),
            )
            for n in range(3)
        ]
        return [*found, module.mask_sum_s, module.psd_n]

    yield from named("MVDR online", [online])


CALLS = collected(spectra, speeds, sounds, features, arrays)
