"""Metrics give the numbers of torchmetrics, jiwer, pyannote.metrics, pystoi and pesq.

`recorded/metrics.json` is made by ci/audio_metrics.py; the signals are drawn with the same seeds.
"""

import itertools
import json
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import metrics
from rushlight_audio.functional import edit_distance
from rushlight_audio.metrics.assignment import best_assignment

HERE = Path(__file__).parent
RECORDED = json.loads((HERE.parent / "recorded" / "metrics.json").read_text())
INPUTS = json.loads((HERE.parent / "recorded" / "metric_inputs.json").read_text())


def signals():
    rl.manual_seed(0)
    target = rl.randn(2, 3, 800)
    return target * 0.7 + 0.3 * rl.randn(2, 3, 800) + 0.1, target


@pytest.mark.parametrize(("name", "options", "values", "gradients"), RECORDED["signals"])
def test_ratios(name, options, values, gradients):
    preds, target = signals()
    preds.requires_grad_()
    found = getattr(metrics, name)(preds, target, **options)
    found.sum().backward()
    np.testing.assert_allclose(found.detach().flatten(), values, rtol=1e-5)
    np.testing.assert_allclose(preds.grad[:, :, ::100].flatten(), gradients, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "best", "values", "order"), RECORDED["orders"])
def test_orders(name, best, values, order):
    preds, target = signals()
    preds = preds[:, [2, 0, 1]]
    function = getattr(metrics, name) if name != "mse" else lambda p, t: ((p - t) ** 2).mean(-1)
    found, orders = metrics.permutation_invariant_training(preds, target, function, best)
    np.testing.assert_allclose(found, values, rtol=1e-5)
    assert orders.tolist() == order
    assert rl.equal(metrics.pit_permutate(preds, orders), preds[:, [1, 2, 0]])


def test_ratios_of_other_shapes():
    for name in dict.fromkeys(each[0] for each in RECORDED["signals"]):
        function = getattr(metrics, name)
        with pytest.raises(ValueError, match=rf"{name}\(\): preds and target must have the same"):
            function(rl.zeros(2, 4), rl.zeros(2, 5))
        with pytest.raises(TypeError, match="must be floating-point"):
            function(rl.zeros(2, 4, dtype=rl.int64), rl.zeros(2, 4))
    with pytest.raises(ValueError, match="filter_length must be positive, got 0"):
        metrics.signal_distortion_ratio(rl.zeros(4), rl.zeros(4), filter_length=0)
    with pytest.raises(ValueError, match=r"eval_func must be 'max' or 'min', got 'mean'"):
        metrics.permutation_invariant_training(rl.zeros(1, 2), rl.zeros(1, 2), print, "mean")


@pytest.mark.parametrize("name", sorted(RECORDED["transcripts"]))
def test_transcripts(name):
    function, expected = getattr(metrics, name), RECORDED["transcripts"][name]
    predictions, references = (list(each) for each in zip(*INPUTS["transcripts"], strict=True))
    found = [function(predictions, references)]
    found += [function(p, r) for p, r in INPUTS["transcripts"]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_edits_are_the_fewest():
    """Against all alignments of short words."""

    def fewest(prediction, reference):
        if not prediction or not reference:
            return len(prediction) + len(reference)
        return min(
            fewest(prediction[1:], reference) + 1,
            fewest(prediction, reference[1:]) + 1,
            fewest(prediction[1:], reference[1:]) + (prediction[0] != reference[0]),
        )

    words = ["".join(word) for n in range(4) for word in itertools.product("ab", repeat=n)]
    for prediction, reference in itertools.product(words, words):
        counts = metrics.edit_counts(prediction, reference)
        assert counts.errors == fewest(prediction, reference)
        assert edit_distance(reference, prediction) == counts.errors
        assert (counts.prediction, counts.reference) == (len(prediction), len(reference))
        assert min(counts.hits, counts.substitutions, counts.deletions, counts.insertions) >= 0


def test_transcripts_that_do_not_fit():
    with pytest.raises(TypeError, match="must both be texts, or both lists"):
        metrics.wer("a", ["a"])
    with pytest.raises(ValueError, match=r"cer\(\): 2 predictions, 1 references"):
        metrics.cer(["a", "b"], ["a"])
    with pytest.raises(ValueError, match=r"wer\(\): the references are empty"):
        metrics.wer("a", "")
    assert metrics.word_information_lost("", "a") == 1.0


OPTIONS = [(0.0, False), (0.25, False), (0.0, True), (0.1, True)]


@pytest.mark.parametrize("number", range(len(INPUTS["turns"]) * len(OPTIONS)))
def test_turns(number):
    (reference, hypothesis), (collar, skip) = (
        INPUTS["turns"][number // len(OPTIONS)],
        OPTIONS[number % len(OPTIONS)],
    )
    found = metrics.diarization_error_rate(reference, hypothesis, collar, skip)
    values = [found.missed, found.false_alarm, found.confusion, found.total]
    np.testing.assert_allclose(values, RECORDED["turns"][number], atol=1e-9)
    assert found.rate == pytest.approx(sum(values[:3]) / values[3])


def test_faulty_turns():
    with pytest.raises(ValueError, match="reference: a turn of 'a' ends at 1.0, before it begins"):
        metrics.diarization_error_rate([(2, 1, "a")], [])
    with pytest.raises(ValueError, match="hypothesis: a turn of 'x' ends at nan"):
        metrics.diarization_error_rate([(0, 1, "a")], [(0, math.nan, "x")])
    with pytest.raises(ValueError, match="the reference has no speech"):
        metrics.diarization_error_rate([], [(0, 1, "x")])
    assert metrics.diarization_error_rate([(0, 1, "a")], []).rate == 1.0


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5), (5, 2), (4, 4)])
def test_assignments_are_the_best(shape):
    random = np.random.default_rng(0)
    for _ in range(20):
        gains = random.uniform(0, 1, shape) * (random.uniform(size=shape) > 0.3)
        pairs = best_assignment(gains)
        small, large = sorted(shape)
        table = gains if shape[0] <= shape[1] else gains.T
        best = max(
            sum(table[i, j] for i, j in enumerate(chosen))
            for chosen in itertools.permutations(range(large), small)
        )
        assert sum(gains[pair] for pair in pairs) == pytest.approx(best)
        assert len({r for r, _ in pairs}) == len({c for _, c in pairs}) == len(pairs)


def scored(seed=0, size=500):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, size)
    scores = np.round(random.normal(size=size) + labels, 1)
    return rl.from_numpy(scores), rl.from_numpy(labels)


def test_equal_error_rate():
    curve = pytest.importorskip("sklearn.metrics").roc_curve
    for seed in range(5):
        scores, labels = scored(seed)
        false, found, _ = curve(labels.numpy(), scores.numpy(), drop_intermediate=False)
        fine = np.linspace(0, 1, 200001)
        rates = np.interp(fine, false, found)
        expected = fine[np.argmin(np.abs(1 - rates - fine))]
        rate, threshold = metrics.equal_error_rate(scores, labels)
        assert rate == pytest.approx(expected, abs=1e-5)
        accepted = scores >= threshold
        assert abs((~accepted & (labels == 1)).sum() / labels.sum() - rate).item() < 0.05
        cost = metrics.minimum_detection_cost(scores, labels, 0.1, 10, 1)
        plain = 10 * 0.1 * (1 - found) + 0.9 * false
        assert cost == pytest.approx(plain.min() / 0.9)


def test_scores_that_do_not_fit():
    with pytest.raises(ValueError, match=r"scores and labels must both be \[N\]"):
        metrics.equal_error_rate(rl.zeros(3), rl.zeros(4))
    with pytest.raises(ValueError, match="labels of both kinds, got 3 of 3"):
        metrics.minimum_detection_cost(rl.zeros(3), rl.ones(3))
    with pytest.raises(ValueError, match="must not be NaN"):
        metrics.equal_error_rate(rl.tensor([1.0, rl.nan]), rl.tensor([0, 1]))
    assert metrics.equal_error_rate(rl.tensor([1.0, 2.0]), rl.tensor([1, 0]))[0] == 1.0
    assert metrics.equal_error_rate(rl.tensor([1.0, 1.0]), rl.tensor([1, 0]))[0] == 0.5


def test_mel_cepstral_distortion():
    rl.manual_seed(0)
    first, second = rl.randn(2, 9, 13), rl.randn(2, 9, 13)
    expected = []
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        each = [
            10 / math.log(10) * math.sqrt(2 * sum((x - y) ** 2 for x, y in zip(u, v, strict=True)))
            for u, v in zip([r[1:] for r in a], [r[1:] for r in b], strict=True)
        ]
        expected.append(sum(each) / len(each))
    np.testing.assert_allclose(metrics.mel_cepstral_distortion(first, second), expected, rtol=1e-6)
    slow = first[0].repeat_interleave(3, 0)
    assert metrics.mel_cepstral_distortion(slow, first[0], align=True).item() == 0
    one = metrics.mel_cepstral_distortion(slow, second[0], skip_energy=False, align=True)
    other = metrics.mel_cepstral_distortion(second[0], slow, skip_energy=False, align=True)
    assert one.item() == pytest.approx(other.item(), rel=1e-6)
    with pytest.raises(ValueError, match="align=True takes other lengths"):
        metrics.mel_cepstral_distortion(slow, first[0])
    with pytest.raises(ValueError, match="with align both must be"):
        metrics.mel_cepstral_distortion(first, second, align=True)


def test_warping_is_the_cheapest():
    from rushlight_audio.metrics.cepstra import _warped

    def cheapest(costs, row, column):
        if (row, column) == (0, 0):
            return costs[0, 0]
        before = [(row - 1, column), (row, column - 1), (row - 1, column - 1)]
        reach = [cheapest(costs, r, c) for r, c in before if r >= 0 and c >= 0]
        return costs[row, column] + min(reach)

    random = np.random.default_rng(0)
    for rows, columns in ((1, 1), (1, 4), (4, 1), (4, 5), (5, 3)):
        costs = random.uniform(size=(rows, columns))
        first, second = _warped(costs)
        assert costs[first, second].sum() == pytest.approx(cheapest(costs, rows - 1, columns - 1))


def test_real_time_factor():
    now = itertools.count()
    calls = []
    factor = metrics.real_time_factor(
        calls.append, rl.zeros(1, 8000), 16000, repeats=2, clock=lambda: next(now) * 0.25
    )
    assert factor == 0.5  # a quarter of a second for half a second
    assert len(calls) == 3
    with pytest.raises(ValueError, match="repeats must be positive"):
        metrics.real_time_factor(calls.append, rl.zeros(1), 1, repeats=0)


def speech():
    rl.manual_seed(1)
    time = rl.arange(16000) / 8000
    pitch = 2 * rl.pi * (120 * time + 3 * rl.sin(2 * rl.pi * 3 * time))
    voice = sum(rl.sin(k * pitch) / k for k in range(1, 12))
    clean = voice * (1 + rl.sin(2 * rl.pi * 4 * time)) / 8
    clean = rl.stack([clean, clean.flip(0)])
    return clean + rl.tensor([[0.05], [0.3]]) * rl.randn(2, 16000), clean


def test_intelligibility():
    pytest.importorskip("pystoi")
    preds, target = speech()
    for extended, name in ((False, "stoi"), (True, "extended stoi")):
        found = metrics.short_time_objective_intelligibility(preds, target, 8000, extended)
        # pystoi adds a little noise in the extended variant.
        np.testing.assert_allclose(found, RECORDED[name], atol=2e-3)


def test_quality():
    pytest.importorskip("pesq")
    preds, target = speech()
    found = metrics.perceptual_evaluation_speech_quality(preds, target, 8000, "nb")
    np.testing.assert_allclose(found, RECORDED["pesq"], rtol=1e-3)


def test_the_libraries_are_asked(monkeypatch):
    """What they get, with stand-ins for them."""
    stoi = types.SimpleNamespace(stoi=lambda x, y, fs, extended: fs + x.sum() - y.sum() + extended)
    pesq = types.SimpleNamespace(pesq=lambda fs, x, y, mode: fs + x.sum() - y.sum())
    monkeypatch.setitem(sys.modules, "pystoi", stoi)
    monkeypatch.setitem(sys.modules, "pesq", pesq)
    preds, target = rl.zeros(2, 1, 4), rl.ones(2, 1, 4)
    found = metrics.short_time_objective_intelligibility(preds, target, 16000, True)
    assert found.tolist() == [[16005.0], [16005.0]]
    found = metrics.perceptual_evaluation_speech_quality(preds, target, 8000, "nb")
    assert found.tolist() == [[8004.0], [8004.0]]
    monkeypatch.setitem(sys.modules, "pystoi", None)
    with pytest.raises(ImportError, match=r"needs pystoi: pip install rushlight-audio\[quality\]"):
        metrics.short_time_objective_intelligibility(preds, target, 8000)
    for fs, mode, message in (
        (8000, "wb", "mode must be 'nb', or 'wb' with 16000, got 'wb'"),
        (22050, "nb", "fs must be 8000 or 16000, got 22050"),
    ):
        with pytest.raises(ValueError, match=message):
            metrics.perceptual_evaluation_speech_quality(preds, target, fs, mode)


@pytest.mark.parametrize("name", ["equal_error_rate", "minimum_detection_cost"])
def test_scores_that_are_no_tensors(name):
    metric, scores = getattr(metrics, name), rl.tensor([0.9, 0.1])
    with pytest.raises(TypeError, match="scores must be a tensor, not list"):
        metric([0.9, 0.1], scores)
    with pytest.raises(TypeError, match="labels must be a tensor, not list"):
        metric(scores, [1, 0])
