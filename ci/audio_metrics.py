"""Values of torchmetrics, jiwer, pyannote.metrics, pystoi and pesq for rushlight_audio's tests.

Inputs are drawn by torch's generator, which rushlight's equals, or stand in the tests' own files.

Usage: python ci/audio_metrics.py [FOLDER]      in an environment with these libraries
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import jiwer
import pesq
import pystoi
import torch
import torchmetrics.functional.audio as audio
import torchmetrics.functional.text as text
from pyannote.core import Annotation, Segment
from pyannote.metrics.diarization import DiarizationErrorRate

RECORDED = Path(__file__).resolve().parents[1] / "audio" / "tests" / "recorded"
INPUTS = json.loads((RECORDED / "metric_inputs.json").read_text())


def signals():
    """Estimates and targets ``[2, 3, 800]``."""
    torch.manual_seed(0)
    target = torch.randn(2, 3, 800)
    return target * 0.7 + 0.3 * torch.randn(2, 3, 800) + 0.1, target


def of_signals() -> dict:
    preds, target = signals()
    options = (
        ("signal_noise_ratio", {}),
        ("signal_noise_ratio", {"zero_mean": True}),
        ("scale_invariant_signal_noise_ratio", {}),
        ("scale_invariant_signal_distortion_ratio", {}),
        ("scale_invariant_signal_distortion_ratio", {"zero_mean": True}),
        ("source_aggregated_signal_distortion_ratio", {}),
        ("source_aggregated_signal_distortion_ratio", {"scale_invariant": False}),
        ("source_aggregated_signal_distortion_ratio", {"zero_mean": True}),
        ("signal_distortion_ratio", {"filter_length": 64}),
        ("signal_distortion_ratio", {"filter_length": 32, "zero_mean": True}),
        ("signal_distortion_ratio", {"filter_length": 32, "load_diag": 0.1}),
    )
    found = []
    for name, chosen in options:
        wanted = preds.clone().requires_grad_()
        value = getattr(audio, name)(wanted, target, **chosen)
        value.sum().backward()
        part = wanted.grad[:, :, ::100].flatten().tolist()
        found.append([name, chosen, value.flatten().tolist(), part])
    return {"signals": found}


def of_orders() -> dict:
    preds, target = signals()
    preds = preds[:, [2, 0, 1]]
    found = []
    for metric, best in (("scale_invariant_signal_distortion_ratio", "max"), ("mse", "min")):
        function = (
            getattr(audio, metric) if metric != "mse" else lambda p, t: ((p - t) ** 2).mean(-1)
        )
        value, order = audio.permutation_invariant_training(
            preds, target, function, mode="speaker-wise", eval_func=best
        )
        found.append([metric, best, value.tolist(), order.tolist()])
    return {"orders": found}


def of_texts() -> dict:
    pairs = INPUTS["transcripts"]
    predictions, references = zip(*pairs, strict=True)
    functions = {
        "wer": text.word_error_rate,
        "cer": text.char_error_rate,
        # torchmetrics takes the longer text for hits and edits together in these two.
        "match_error_rate": lambda p, r: jiwer.process_words(r, p).mer,
        "word_information_lost": lambda p, r: jiwer.process_words(r, p).wil,
    }
    return {
        "transcripts": {
            name: [
                float(function(list(predictions), list(references))),
                *(float(function([p], [r])) for p, r in pairs),
            ]
            for name, function in functions.items()
        }
    }


def annotation(turns):
    found = Annotation()
    for number, (start, end, speaker) in enumerate(turns):
        found[Segment(start, end), number] = speaker
    return found


def of_turns() -> dict:
    found = []
    for reference, hypothesis in INPUTS["turns"]:
        for collar, skip in ((0.0, False), (0.25, False), (0.0, True), (0.1, True)):
            # Its collar is the sum of both sides.
            metric = DiarizationErrorRate(collar=2 * collar, skip_overlap=skip)
            parts = metric(annotation(reference), annotation(hypothesis), detailed=True)
            names = ("missed detection", "false alarm", "confusion", "total")
            found.append([parts[name] for name in names])
    return {"turns": found}


def speech():
    """Something like speech, and it with noise: ``[2, 16000]`` at 8 kHz."""
    torch.manual_seed(1)
    time = torch.arange(16000) / 8000
    pitch = 2 * torch.pi * (120 * time + 3 * torch.sin(2 * torch.pi * 3 * time))
    voice = sum(torch.sin(k * pitch) / k for k in range(1, 12))
    clean = voice * (1 + torch.sin(2 * torch.pi * 4 * time)) / 8
    clean = torch.stack([clean, clean.flip(0)])
    return clean + torch.tensor([[0.05], [0.3]]) * torch.randn(2, 16000), clean


def of_quality() -> dict:
    preds, target = speech()
    pairs = list(zip(preds.double().numpy(), target.double().numpy(), strict=True))
    return {
        "stoi": [float(pystoi.stoi(t, p, 8000)) for p, t in pairs],
        "extended stoi": [float(pystoi.stoi(t, p, 8000, True)) for p, t in pairs],
        "pesq": [float(pesq.pesq(8000, t, p, "nb")) for p, t in pairs],
    }


def main() -> int:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    found = of_signals() | of_orders() | of_texts() | of_turns() | of_quality()
    (folder / "metrics.json").write_text(json.dumps(found, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
