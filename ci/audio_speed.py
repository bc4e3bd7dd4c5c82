"""How long functions, transforms and networks of rushlight_audio take beside torchaudio's, one
thread each.

Both run in processes of their own, in turn; what counts is the time of the processor, the least of
several rounds. Prints a table in Markdown.

Usage: python ci/audio_speed.py PYTHON [NAME ...]     PYTHON: of an environment with torchaudio
       python ci/audio_speed.py PYTHON --targets      the calls that have a target, and a file:
                                                      bench/results/audio_speed.md
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from alternating import least_seconds

RESULTS = Path(__file__).resolve().parents[1] / "bench" / "results" / "audio_speed.md"
# Twice torchaudio's speed in the geometric mean of these, none of them slower.
TARGETS = (
    *("Spectrogram", "MelSpectrogram", "MFCC", "Resample, 44.1 to 16 kHz, 60 s", "lfilter"),
    *("lfilter with gradients", "rnnt_loss with gradient, (4, 200, 41, 100)"),
    *("ctc_loss with gradient, (200, 4, 30)", "forced_align, 400 labels, 3,000 frames"),
    *("wav2vec2_base, 2 s", "wav2vec2_base, 10 s", "Conformer, 4 layers, (4, 200, 80)"),
)
HEADING = """# rushlight_audio beside torchaudio 2.9.1

Milliseconds of the processor of one call, one thread, the least of {} rounds of both libraries in
turn in processes of their own, on {} (`python ci/audio_speed.py PYTHON --targets`). {}

"""
ROUNDS = 2  # of both libraries in turn
SECONDS = 0.15  # for each call and round


def spectral(torch: Any, audio: Any) -> dict[str, Callable[[], Any]]:
    """Spectrograms and what follows from them, of 10 s at 16 kHz."""
    F, T = audio.functional, audio.transforms
    sound = torch.randn(1, 160000)
    spectrum = torch.randn(1, 201, 800, dtype=torch.complex64)
    magnitude, window = spectrum.abs(), torch.hann_window(400)
    transforms = {
        "Spectrogram": T.Spectrogram(),
        "MelSpectrogram": T.MelSpectrogram(),
        "MelSpectrogram, 80 bands": T.MelSpectrogram(16000, 1024, hop_length=256, n_mels=80),
        "MFCC": T.MFCC(),
        "SpectralCentroid": T.SpectralCentroid(16000),
    }
    calls = {name: lambda t=each: t(sound) for name, each in transforms.items()}
    wanted = torch.randn(1, 160000, requires_grad=True)
    mel = transforms["MelSpectrogram"]
    calls["MelSpectrogram with gradient"] = lambda: mel(wanted).sum().backward()
    calls["compliance.kaldi.fbank, 80 bands"] = lambda: audio.compliance.kaldi.fbank(
        sound, num_mel_bins=80
    )
    calls["compliance.kaldi.mfcc"] = lambda: audio.compliance.kaldi.mfcc(sound)
    sizes = window, 400, 200, 400
    calls["griffinlim, 8 rounds"] = lambda: F.griffinlim(
        magnitude, *sizes, 2.0, 8, 0.99, None, False
    )
    calls["inverse_spectrogram"] = lambda: F.inverse_spectrogram(spectrum, None, 0, *sizes, False)
    advance = torch.linspace(0, 628.0, 201).unsqueeze(1)
    calls["phase_vocoder"] = lambda: F.phase_vocoder(spectrum, 1.3, advance)
    calls["pitch_shift by an octave, 2 s"] = lambda: F.pitch_shift(sound[:, :32000], 16000, 12)
    calls["compute_deltas"] = lambda: F.compute_deltas(magnitude)
    calls["sliding_window_cmn"] = lambda: F.sliding_window_cmn(magnitude.transpose(1, 2), 300)
    calls["amplitude_to_DB"] = lambda: F.amplitude_to_DB(magnitude, 10.0, 1e-10, 0.0, 80.0)
    augment = T.SpecAugment(2, 30, 2, 10)
    calls["SpecAugment"] = lambda: augment(magnitude)
    return calls


def filtering(torch: Any, audio: Any) -> dict[str, Callable[[], Any]]:
    """Filters, resampling and effects."""
    F, T = audio.functional, audio.transforms
    sound, minute = torch.randn(1, 160000), torch.randn(1, 44100 * 60)
    pair, impulse = torch.randn(2, 160000) * 0.3, torch.randn(1, 8000)
    a, b = torch.tensor([1.0, -1.5, 0.7]), torch.tensor([0.1, 0.2, 0.1])
    wanted, weights = sound.clone().requires_grad_(), a.clone().requires_grad_()

    resampling = T.Resample(44100, 16000)

    def filtered() -> None:
        F.lfilter(wanted, weights, b, clamp=False).sum().backward()

    return {
        "Resample, 44.1 to 16 kHz, 60 s": lambda: resampling(minute),
        "resample, 16 to 8 kHz": lambda: F.resample(sound, 16000, 8000),
        "resample, 8 to 16 kHz": lambda: F.resample(sound, 8000, 16000),
        "lfilter": lambda: F.lfilter(sound, a, b),
        "lfilter with gradients": filtered,
        "filtfilt": lambda: F.filtfilt(sound, a, b),
        "lowpass_biquad": lambda: F.lowpass_biquad(sound, 16000, 1000.0),
        "overdrive": lambda: F.overdrive(pair),
        "contrast": lambda: F.contrast(pair),
        "dither": lambda: F.dither(pair),
        "preemphasis": lambda: F.preemphasis(sound),
        "deemphasis": lambda: F.deemphasis(sound),
        "mu_law_encoding": lambda: F.mu_law_encoding(pair, 256),
        "fftconvolve with 8,000": lambda: F.fftconvolve(sound, impulse),
        "convolve with 64": lambda: F.convolve(sound, impulse[:, :64]),
        "add_noise": lambda: F.add_noise(sound, sound, torch.tensor([3.0])),
        "loudness": lambda: F.loudness(pair, 16000),
        "detect_pitch_frequency": lambda: F.detect_pitch_frequency(sound, 16000),
        "vad, 2 s": lambda: F.vad(pair[:, :32000] * 0.01, 16000),
    }


def labelling(torch: Any, audio: Any) -> dict[str, Callable[[], Any]]:
    """Transducers, alignment, beamforming."""
    F, T = audio.functional, audio.transforms
    scores = torch.randn(4, 200, 41, 100, requires_grad=True)
    labels = torch.randint(0, 99, (4, 40)).to(torch.int32)
    lengths = [torch.full((4,), each, dtype=torch.int32) for each in (200, 40)]
    log_probs = torch.randn(1, 3000, 30).log_softmax(-1)
    targets = torch.randint(1, 29, (1, 400)).to(torch.int32)
    spectra, mask = torch.randn(1, 4, 201, 300, dtype=torch.complex64), torch.rand(1, 201, 300)

    beamformer = T.MVDR()

    def transduced() -> None:
        F.rnnt_loss(scores, labels, *lengths).backward()
        scores.grad = None

    return {
        "rnnt_loss with gradient, (4, 200, 41, 100)": transduced,
        "forced_align, 400 labels, 3,000 frames": lambda: F.forced_align(log_probs, targets),
        "MVDR, 4 channels, 300 frames": lambda: beamformer(spectra, mask, 1 - mask),
        "psd": lambda: F.psd(spectra, mask),
        "edit_distance of 100 letters": lambda: F.edit_distance("kitten" * 17, "sitting" * 14),
    }


def networks(torch: Any, audio: Any) -> dict[str, Callable[[], Any]]:
    """A loss of networks' outputs, and the networks."""
    outputs = torch.randn(200, 4, 30, requires_grad=True)
    labels, lengths = torch.randint(1, 30, (4, 40)), torch.full((4,), 40)
    frames, ctc_loss = torch.full((4,), 200), torch.nn.functional.ctc_loss

    def heard() -> None:
        ctc_loss(outputs.log_softmax(-1), labels, frames, lengths).backward()
        outputs.grad = None

    def forward(network: Any, *inputs: Any) -> Callable[[], Any]:
        def call() -> Any:
            with torch.no_grad():
                return network(*inputs)

        return call

    base = audio.models.wav2vec2_base().eval()
    conformer = audio.models.Conformer(80, 4, 256, 4, 31).eval()
    features = torch.randn(4, 200, 80), torch.full((4,), 200)
    return {
        "ctc_loss with gradient, (200, 4, 30)": heard,
        "wav2vec2_base, 2 s": forward(base, torch.randn(1, 32000)),
        "wav2vec2_base, 10 s": forward(base, torch.randn(1, 160000)),
        "Conformer, 4 layers, (4, 200, 80)": forward(conformer, *features),
    }


def measure(theirs: bool, names: list[str]) -> int:
    """Print the seconds of each call."""
    warnings.simplefilter("ignore")
    if theirs:
        import torch
        import torchaudio as audio
    else:
        import rushlight as torch
        import rushlight_audio as audio
    torch.set_num_threads(1)
    torch.manual_seed(0)
    found = {}
    for part in (spectral, filtering, labelling, networks):
        for name, call in part(torch, audio).items():
            if not names or name in names or any(word in name for word in set(names) - {*TARGETS}):
                found[name] = _seconds(call)
    print(json.dumps(found))
    return 0


def _seconds(call: Callable[[], Any]) -> float:
    call()
    call()
    least, spent = math.inf, 0.0
    while spent < SECONDS:
        count, begin = 0, time.process_time()
        while time.process_time() - begin < SECONDS / 10:
            call()
            count += 1
        took = time.process_time() - begin
        least, spent = min(least, took / count), spent + took
    return least


def main() -> int:
    if sys.argv[1] in ("ours", "theirs"):
        return measure(sys.argv[1] == "theirs", sys.argv[2:])
    names = [*TARGETS] if sys.argv[2:] == ["--targets"] else sys.argv[2:]
    best = least_seconds(sys.argv[1], lambda which: [__file__, which, *names], ROUNDS)
    text = table(best)
    print(text)
    if sys.argv[2:] == ["--targets"]:
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
        note = "Other work ran on the machine meanwhile." if busy > 0.6 else ""
        RESULTS.write_text(HEADING.format(ROUNDS, processor(), note).replace(" \n", "\n") + text)
    return 0


def table(best: dict[str, dict[str, float]]) -> str:
    """Rows of all calls, and the geometric mean of ratios, in Markdown."""
    lines = ["| call | torchaudio, ms | Rushlight, ms | ratio |", "| --- | --- | --- | --- |"]
    ratios = []
    for name, ours in best["ours"].items():
        ratios.append(best["theirs"][name] / ours)
        row = best["theirs"][name] * 1000, ours * 1000, ratios[-1]
        lines.append("| {} | {:.3g} | {:.3g} | {:.2f} |".format(name, *row))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return "\n".join([*lines, "", f"Geometric mean {mean:.2f}, least {min(ratios):.2f}.", ""])


def processor() -> str:
    """What the processor calls itself."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))


if __name__ == "__main__":
    raise SystemExit(main())
