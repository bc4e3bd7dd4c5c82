"""Metrics of sound: errors of transcripts, of separated and enhanced signals, of speakers.

One file for each subject.
"""

from rushlight_audio.metrics.cepstra import mel_cepstral_distortion
from rushlight_audio.metrics.diarization import DiarizationErrors, diarization_error_rate
from rushlight_audio.metrics.distortion import (
    scale_invariant_signal_distortion_ratio,
    signal_distortion_ratio,
    source_aggregated_signal_distortion_ratio,
)
from rushlight_audio.metrics.noise import scale_invariant_signal_noise_ratio, signal_noise_ratio
from rushlight_audio.metrics.permutations import permutation_invariant_training, pit_permutate
from rushlight_audio.metrics.quality import (
    perceptual_evaluation_speech_quality,
    short_time_objective_intelligibility,
)
from rushlight_audio.metrics.speed import real_time_factor
from rushlight_audio.metrics.transcripts import (
    EditCounts,
    cer,
    edit_counts,
    match_error_rate,
    wer,
    word_information_lost,
)
from rushlight_audio.metrics.verification import equal_error_rate, minimum_detection_cost

__all__ = [
    "DiarizationErrors",
    "EditCounts",
    "cer",
    "diarization_error_rate",
    "edit_counts",
    "equal_error_rate",
    "match_error_rate",
    "mel_cepstral_distortion",
    "minimum_detection_cost",
    "perceptual_evaluation_speech_quality",
    "permutation_invariant_training",
    "pit_permutate",
    "real_time_factor",
    "scale_invariant_signal_distortion_ratio",
    "scale_invariant_signal_noise_ratio",
    "short_time_objective_intelligibility",
    "signal_distortion_ratio",
    "signal_noise_ratio",
    "source_aggregated_signal_distortion_ratio",
    "wer",
    "word_information_lost",
]
