"""Metrics that `test_metrics.py` compares with fastai's, for given outputs and targets.

`python fastai_metrics.py` runs them with fastai and scikit-learn and writes `fastai_metrics.json`.
"""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

SIZES = (9, 6, 1)  # rows of the batches
WEIGHTS = [0.5 + (number * 7) % 5 / 2 for number in range(sum(SIZES))]


def _scores(of, columns, ties=False):
    values = [math.sin(1.3 * index + 0.2 * index**1.5) for index in range(sum(SIZES) * columns)]
    if ties:
        values = [round(2 * each) / 2 for each in values]
    return of.tensor(values).reshape(sum(SIZES), columns)


def _numbers(of, columns, most):
    values = [(index * 5 + index**2 // 3) % 7 % most for index in range(sum(SIZES) * columns)]
    return of.tensor(values).reshape(sum(SIZES), columns)


def _words(of):
    """Outputs that are right more often than not."""
    target = of.tensor([(index * index // 2) % 5 for index in range(16 * 8)]).reshape(16, 8)
    output = of.zeros(16, 8, 6)
    for row in range(16):
        for column in range(8):
            word = int(target[row, column]) if (row + column) % 5 else 5
            output[row, column, word] = 1.0
    return output, target


def data(of, kind):
    """All outputs and targets of a kind."""
    if kind in ("two", "two ties", "two missing"):
        target = _numbers(of, 1, 2)[:, 0]
        return _scores(of, 2, "ties" in kind), target * 0 if "missing" in kind else target
    if kind in ("four", "four ties", "four missing"):
        output, target = _scores(of, 4, "ties" in kind), _numbers(of, 1, 4)[:, 0]
        return output, target % 2 if "missing" in kind else target
    if kind in ("labels", "label ties", "label missing"):
        output, target = _scores(of, 3, "ties" in kind), _numbers(of, 3, 2)
        if "missing" in kind:
            target[:, 1], output[:, 1] = 0, -5.0
        return output, target
    if kind == "one label":
        return _scores(of, 1), _numbers(of, 1, 2)
    if kind == "two labels":
        return _scores(of, 2), _numbers(of, 2, 2)
    if kind == "words":
        return _words(of)
    if kind == "other words":
        output, target = _words(of)
        return output[:, :6], target
    output, target = _scores(of, 1), _scores(of, 2)[:, :1] + 0.1 * _numbers(of, 1, 5)
    if kind == "number ties":
        output = _scores(of, 1, True)
    if kind == "constant":
        target = target * 0 + 2
    if kind == "exact":
        output = target
    return output + 1.5, target + 1.5 if kind != "constant" else target


def batches(of, kind):
    """The batches of a kind."""
    output, target = data(of, kind)
    start = 0
    for size in SIZES:
        yield output[start : start + size], target[start : start + size]
        start += size


def _cases():
    """What is compared: metric, arguments, kinds of data."""
    weighted = {"sample_weight": WEIGHTS}
    averages = [{"average": each} for each in ("micro", "macro", "weighted", None)]
    four = ("four", "four ties", "four missing")
    by_label = [
        *((options, ("two", "two missing")) for options in ({}, weighted, {"pos_label": 0})),
        *((options, four) for options in averages),
        ({"average": "macro", "labels": [1, 3]}, four),
        ({"average": "weighted", **weighted}, ("four",)),
        ({}, ("four",)),
        ({"average": "samples"}, ("four",)),
        ({"pos_label": 5}, ("two",)),
    ]
    multi = ("labels", "label ties", "label missing")
    by_column = [
        *((options, multi) for options in [{}, *averages, {"average": "samples"}]),
        ({"average": "samples", **weighted}, ("labels",)),
        ({"average": "micro", **weighted}, ("labels",)),
        ({"labels": [0, 2], "thresh": 0.6}, multi),
        ({"thresh": 0.2, "sigmoid": False}, multi),
        ({"average": "binary"}, ("labels", "one label")),
    ]
    for name in ("F1Score", "FBeta", "Precision", "Recall", "Jaccard"):
        more = {"beta": 2.0} if name == "FBeta" else {}
        for options, kinds in by_label:
            yield name, {**more, **options}, kinds
        for options, kinds in by_column:
            yield f"{name}Multi", {**more, **options}, kinds
    yield "FBeta", {"beta": 0.5, "average": "macro"}, four
    plain = ("two", "two missing", *four)
    for options in ({}, weighted):
        yield "MatthewsCorrCoef", options, plain
        yield "HammingLoss", options, plain
        yield "HammingLossMulti", options, multi
        yield "BrierScore", options, ("two", "two missing", "four missing")
        yield "BrierScoreMulti", options, (*multi, "one label", "two labels")
        for adjusted in (False, True):
            # scikit-learn divides by 0 for targets of one class.
            kinds = four if adjusted else plain
            yield "BalancedAccuracy", {"adjusted": adjusted, **options}, kinds
        for weights in (None, "linear", "quadratic"):
            yield "CohenKappa", {"weights": weights, **options}, plain
        yield "R2Score", options, ("numbers", "constant", "exact")
        yield "ExplainedVariance", options, ("numbers", "constant", "exact")
    yield "MatthewsCorrCoefMulti", {}, ("one label",)
    yield "BrierScore", {"pos_label": 0}, ("two",)
    yield "BrierScoreMulti", {"pos_label": 0}, ("one label",)
    yield "CohenKappa", {"labels": [2, 0, 1], "weights": "linear"}, ("four",)
    yield "CohenKappa", {"labels": [7, 8]}, ("four",)
    yield from _ranking(weighted, averages, multi)
    for options in ({}, {"nan_policy": "omit"}):
        yield "SpearmanCorrCoef", options, ("numbers", "number ties", "constant")
    yield "PearsonCorrCoef", {}, ("numbers", "number ties", "constant", "exact")
    yield "PearsonCorrCoef", {"dim_argmax": -1}, ("four",)
    yield "CorpusBLEUMetric", {}, ("words", "other words")


def _ranking(weighted, averages, multi):
    samples = {"average": "samples"}
    for options in ({}, weighted, {"max_fpr": 0.3}, {"max_fpr": 1.0}, {"max_fpr": 2.0}):
        yield "RocAucBinary", options, ("two", "two ties", "two missing")
    yield "RocAucBinary", {}, ("four",)
    for options in [*averages, {"average": "macro", **weighted}, {"max_fpr": 0.3}]:
        yield "RocAuc", options, ("four", "four ties")
    for average in ("macro", "weighted", "micro"):
        yield "RocAuc", {"multi_class": "ovo", "average": average}, ("four", "four ties")
    yield "RocAuc", {}, ("four missing",)
    for name in ("RocAucMulti", "APScoreMulti"):
        for options in [{}, *averages, samples, {"average": "weighted", **weighted}]:
            yield name, options, multi
        yield name, {"average": "samples", **weighted}, multi
    yield "RocAucMulti", {"max_fpr": 0.4}, multi
    for options in ({}, weighted, {"pos_label": 0}, {"pos_label": 3}):
        yield "APScoreBinary", options, ("two", "two ties", "two missing")
    yield "APScoreBinary", {}, ("four",)
    yield "APScoreMulti", {"pos_label": 0}, ("labels",)


CASES = {
    f"{name} {kind} {json.dumps(options)[1:-1]}".replace(json.dumps(WEIGHTS), "..."): (
        name,
        options,
        kind,
    )
    for name, options, kinds in _cases()
    for kind in kinds
}
# Functions of a batch, and instances: their values of each batch.
FUNCTIONS = {
    "accuracy": "four", "error_rate": "four ties", "top_k_accuracy": "four", "mse": "numbers",
    "accuracy_multi": "labels", "mae": "numbers", "msle": "numbers", "rmse": "numbers",
    "exp_rmspe": "numbers",
}  # fmt: skip
OPTIONS = {"top_k_accuracy": {"k": 2}, "accuracy_multi": {"thresh": 0.3, "sigmoid": False}}


def stepped(outputs, targets, thresh):
    """The F1 score of one label at a threshold, for `optim_metric`."""
    taken, real = outputs.reshape(-1) > thresh, targets.reshape(-1) > 0
    both, sums = float((taken & real).sum()), float(taken.sum() + real.sum())
    return 2 * both / sums


def smooth(outputs, targets, thresh):
    """A function with one extreme."""
    return float(((outputs.reshape(-1) - targets.reshape(-1) - thresh) ** 2).mean())


SEARCHES = [
    ("stepped", "one label", (-1.0, 1.0), {}),
    ("stepped", "one label", (0.3, 0.4), {"get_x": True}),
    ("smooth", "numbers", (-2.0, 3.0), {"do_neg": False, "get_x": True}),
    ("smooth", "numbers", (1.0, 3.0), {"do_neg": False, "get_x": True}),
]


def plain(value):
    """A number or several."""
    return value.tolist() if hasattr(value, "tolist") else value


def main():
    """Record fastai's answers; "ValueError" where it raises one."""
    import fastai.metrics as of
    import torch

    warnings.simplefilter("ignore")

    class Learn:
        """What a metric looks at."""

        training = False
        to_detach = staticmethod(lambda each: each)

    found = {}
    for case, (name, options, kind) in CASES.items():
        try:
            metric = getattr(of, name)(**options)
            metric.reset()
            for output, target in batches(torch, kind):
                learn = Learn()
                learn.pred, learn.y = output, target
                metric.accumulate(learn)
            found[case] = [metric.name, plain(metric.value)]
        except ValueError as error:
            found[case] = ["ValueError", str(error)[:60]]
    for name, kind in FUNCTIONS.items():
        call, options = getattr(of, name), OPTIONS.get(name, {})
        found[name] = [plain(call(*each, **options)) for each in batches(torch, kind)]
    for number, (name, kind, bounds, options) in enumerate(SEARCHES):
        call = of.optim_metric(globals()[name], "thresh", bounds, **options)
        value = call(*data(torch, kind))
        found[f"search {number}"] = (
            [float(each) for each in value] if options.get("get_x") else float(value)
        )
    Path(__file__).with_suffix(".json").write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
