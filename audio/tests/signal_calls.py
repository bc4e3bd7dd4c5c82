"""Calls of `functional` that are compared with torchaudio's recorded results, by name: several
signals, labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchaudio_calls import Call, Library, collected, named


def sums() -> Iterator[tuple[str, Call]]:
    """Convolutions, noise, speed."""
    for name in ("convolve", "fftconvolve"):
        yield from named(
            name,
            [
                *[
                    lambda L, n=name, m=m: getattr(L.F, n)(L.randn(2, 9), L.randn(2, 4, seed=1), m)
                    for m in ("full", "valid", "same")
                ],
                *[
                    lambda L, n=name, m=m: getattr(L.F, n)(
                        L.randn(2, 1, 4), L.randn(1, 3, 9, seed=1), m
                    )
                    for m in ("full", "valid", "same")
                ],
                lambda L, n=name: getattr(L.F, n)(L.randn(9), L.randn(30, seed=1)),
                lambda L, n=name: getattr(L.F, n)(L.randn(2, 9), L.randn(9, seed=1)),
                lambda L, n=name: getattr(L.F, n)(L.randn(2, 9), L.randn(3, 9, seed=1)),
                lambda L, n=name: getattr(L.F, n)(L.randn(9), L.randn(9, seed=1), "half"),
            ],
        )
    yield from named(
        "add_noise",
        [
            lambda L: L.F.add_noise(
                L.sound(2, 3, 20), L.sound(2, 3, 20, seed=1), L.randn(2, 3, seed=2)
            ),
            lambda L: L.F.add_noise(
                L.sound(3, 20), L.sound(3, 20, seed=1), L.randn(3), L.tensor([20, 5, 9], "int64")
            ),
            lambda L: L.F.add_noise(L.sound(3, 20), L.sound(3, 21), L.randn(3)),
            lambda L: L.F.add_noise(L.sound(3, 20), L.sound(20), L.randn(3)),
            lambda L: L.F.add_noise(L.sound(3, 20), L.sound(3, 20), L.randn(1, 3)),
        ],
    )
    yield from named(
        "speed",
        [
            lambda L: L.F.speed(L.sound(2, 90), 1000, 1.1),
            lambda L: L.F.speed(L.sound(2, 90), 1000, 0.9, L.tensor([90, 33], "int32")),
            lambda L: L.F.speed(L.sound(2, 90), 1000, 1.25, L.tensor([90, 33.5])),
        ],
    )
    yield from named(
        "mask_along_axis",
        [
            lambda L: L.F.mask_along_axis(L.randn(2, 9, 12), 5, 0.5, 1),
            lambda L: L.F.mask_along_axis(L.randn(9, 12, dtype="float32"), 8, 0.5, 1, 0.4),
            lambda L: L.F.mask_along_axis(L.randn(2, 2, 9, 12), 0, 0.5, 2),
            lambda L: L.F.mask_along_axis(L.randn(2, 9, 12), 5, 0.5, 0),
            lambda L: L.F.mask_along_axis(L.randn(2, 9, 12), 5, 0.5, 1, 1.5),
            lambda L: L.F.mask_along_axis(L.randn(12), 5, 0.5, 0),
        ],
    )
    yield from named(
        "mask_along_axis_iid",
        [
            lambda L: L.F.mask_along_axis_iid(L.randn(3, 9, 12), 5, 0.5, 1),
            lambda L: L.F.mask_along_axis_iid(L.randn(3, 2, 9, 12), 8, L.tensor(0.5), 3, 0.4),
            lambda L: L.F.mask_along_axis_iid(L.randn(9, 12), 5, 0.5, 1),
            lambda L: L.F.mask_along_axis_iid(L.randn(3, 9, 12), 5, 0.5, 0),
        ],
    )


def arrays() -> Iterator[tuple[str, Call]]:
    """Beamforming."""

    def spectrum(L: Library, *lead: int, seed: int = 0) -> Any:
        return L.randn(*lead, 3, 5, 12, dtype="complex128", seed=seed)

    def covariance(L: Library, seed: int) -> Any:
        made = L.randn(2, 5, 3, 12, dtype="complex128", seed=seed, grad=False)
        return L.wanted(L.torch.matmul(made, made.conj().transpose(-2, -1)))

    one = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    yield from named(
        "psd",
        [
            lambda L: L.F.psd(spectrum(L, 2)),
            lambda L: L.F.psd(spectrum(L), L.randn(5, 12, seed=1).abs()),
            lambda L: L.F.psd(spectrum(L, 2), L.randn(2, 5, 12, seed=1).abs(), False),
            lambda L: L.F.psd(spectrum(L, 2), L.randn(2, 5, 11, seed=1).abs(), False),
        ],
    )
    yield from named(
        "mvdr_weights_souden",
        [
            lambda L: L.F.mvdr_weights_souden(covariance(L, 0), covariance(L, 1), 0),
            lambda L: L.F.mvdr_weights_souden(
                covariance(L, 0), covariance(L, 1), L.tensor(one), False
            ),
            lambda L: L.F.mvdr_weights_souden(
                covariance(L, 0), covariance(L, 1), 2, True, 0.1, 0.2
            ),
            lambda L: L.F.mvdr_weights_souden(covariance(L, 0).real, covariance(L, 1), 2),
            lambda L: L.F.mvdr_weights_souden(covariance(L, 0)[0], covariance(L, 1), 2),
            lambda L: L.F.mvdr_weights_souden(covariance(L, 0), covariance(L, 1), 2.0),
        ],
    )
    yield from named(
        "mvdr_weights_rtf",
        [
            lambda L: L.F.mvdr_weights_rtf(
                L.randn(2, 5, 3, dtype="complex128"), covariance(L, 1), 0
            ),
            lambda L: L.F.mvdr_weights_rtf(L.randn(2, 5, 3, dtype="complex128"), covariance(L, 1)),
            lambda L: L.F.mvdr_weights_rtf(
                L.randn(2, 5, 3, dtype="complex128"), covariance(L, 1), L.tensor(one), False
            ),
            lambda L: L.F.mvdr_weights_rtf(L.randn(2, 5, 3), covariance(L, 1), 0),
            lambda L: L.F.mvdr_weights_rtf(L.randn(5, 3, dtype="complex128"), covariance(L, 1), 0),
        ],
    )

    def of_any_phase(L: Library) -> Any:
        vector = L.F.rtf_evd(covariance(L, 0).detach())
        return vector / vector[..., :1] * vector[..., :1].abs()

    yield from named("rtf_evd", [of_any_phase, lambda L: L.F.rtf_evd(covariance(L, 0).real)])
    yield from named(
        "rtf_power",
        [
            *[
                lambda L, n=n: L.F.rtf_power(covariance(L, 0), covariance(L, 1), 1, n)
                for n in (0, 2, 3, 5)
            ],
            lambda L: L.F.rtf_power(covariance(L, 0).detach(), covariance(L, 1).detach(), 1, 1),
            lambda L: L.F.rtf_power(
                covariance(L, 0), covariance(L, 1), L.tensor(one), diagonal_loading=False
            ),
        ],
    )
    yield from named(
        "apply_beamforming",
        [
            lambda L: L.F.apply_beamforming(L.randn(2, 5, 3, dtype="complex128"), spectrum(L, 2)),
            lambda L: L.F.apply_beamforming(L.randn(5, 3, dtype="complex128"), spectrum(L)),
            lambda L: L.F.apply_beamforming(L.randn(5, 2, dtype="complex128"), spectrum(L)),
            lambda L: L.F.apply_beamforming(L.randn(5, 3), spectrum(L)),
        ],
    )


def labels() -> Iterator[tuple[str, Call]]:
    """Transducers, alignment, distances."""

    def transducer(L: Library, seed: int, **options: Any) -> Any:
        scores = L.randn(3, 6, 5, 7, seed=seed, dtype="float32")
        if not options.get("fused_log_softmax", True):
            scores = scores.log_softmax(-1)
        names = L.torch.randint(0, 6, (3, 4), generator=L.torch.Generator().manual_seed(seed))
        lengths = [L.tensor(each, "int32") for each in ([6, 4, 1], [4, 2, 0])]
        return L.F.rnnt_loss(scores, names.to(L.torch.int32), *lengths, **options)

    yield from named(
        "rnnt_loss",
        [
            lambda L: transducer(L, 0),
            lambda L: transducer(L, 1, reduction="none"),
            lambda L: transducer(L, 2, reduction="sum", blank=6, clamp=0.1),
            lambda L: transducer(L, 3, fused_log_softmax=False),
            lambda L: transducer(L, 3, reduction="most"),
            lambda L: transducer(L, 3, blank=7),
        ],
    )

    def aligned(
        L: Library, given: list[int], steps: int = 9, precision: float = 1e6, **options: Any
    ) -> Any:
        scores = L.randn(1, steps, 5, dtype="float32", grad=False) * precision
        scores = L.wanted(scores.round() / precision)
        return L.F.forced_align(scores, L.tensor([given], "int32"), **options)

    yield from named(
        "forced_align",
        [
            lambda L: aligned(L, [1, 2, 3]),
            lambda L: aligned(L, [1, 1, 4, 4], precision=1),
            lambda L: aligned(L, [2], precision=0.5),
            lambda L: aligned(L, [1, 2, 3, 2, 1, 3, 3, 1]),
            lambda L: aligned(L, [0, 2, 3], blank=4),
            lambda L: aligned(L, [1, 2], blank=2),
            lambda L: aligned(L, [1, 6]),
            lambda L: aligned(L, [1, 1, 1], 4),
            lambda L: aligned(L, [1, 2], blank=5),
            lambda L: aligned(
                L,
                [1, 2],
                target_lengths=L.tensor([2], "int32"),
                input_lengths=L.tensor([9], "int32"),
            ),
        ],
    )

    def merged(L: Library, tokens: list[int], **options: Any) -> Any:
        spans = L.F.merge_tokens(
            L.tensor(tokens, "int64"), L.randn(len(tokens), grad=False), **options
        )
        return [[s.token, s.start, s.end, s.score, len(s)] for s in spans]

    yield from named(
        "merge_tokens",
        [
            lambda L: merged(L, [0, 1, 1, 0, 1, 2, 2, 3]),
            lambda L: merged(L, [1, 1, 2], blank=2),
            lambda L: L.F.merge_tokens(L.randn(3, 3), L.randn(3)),
            lambda L: L.F.merge_tokens(L.randn(3), L.randn(4)),
        ],
    )
    yield from named(
        "edit_distance",
        [
            lambda L: L.F.edit_distance("kitten", "sitting"),
            lambda L: L.F.edit_distance([], [1, 2]),
            lambda L: L.F.edit_distance(["a", "b"], ["b", "a", "c"]),
        ],
    )

    def spread(L: Library, seed: int) -> Any:
        made = L.randn(4, 9, seed=seed, grad=False)
        return L.wanted(made @ made.T)

    yield from named(
        "frechet_distance",
        [
            lambda L: L.F.frechet_distance(
                L.randn(4), spread(L, 1), L.randn(4, seed=2), spread(L, 3)
            ),
            lambda L: L.F.frechet_distance(
                L.randn(4, 1), spread(L, 1), L.randn(4, seed=2), spread(L, 3)
            ),
        ],
    )


CALLS = collected(sums, arrays, labels)
