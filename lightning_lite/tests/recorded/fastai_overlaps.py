"""Metrics of masks that `test_gathered_metrics.py` compares with fastai's.

`python fastai_overlaps.py` runs them with fastai and writes `fastai_overlaps.json`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

NAMES = ["Dice", "DiceMulti", "JaccardCoeff", "JaccardCoeffMulti"]


def batches(of, classes=2):
    """Three batches of outputs and targets; class 3 of four is nowhere."""
    for number, rows in enumerate((3, 2, 1)):
        count = rows * classes * 20
        values = [math.sin(0.7 * place + number) for place in range(count)]
        output = of.tensor(values).reshape(rows, classes, 4, 5)
        if classes == 4:
            output[:, 3] = -2.0
        target = of.tensor([(place * 7 + number) % 5 % 3 for place in range(rows * 20)])
        yield output, (target % 2 if classes == 2 else target).reshape(rows, 4, 5)


def main():
    """Record fastai's answers."""
    import fastai.vision.all as of
    import torch

    class Learn:
        """What a metric looks at."""

    found = {}
    for name in NAMES:
        metric = getattr(of, name)()
        metric.reset()
        for output, target in batches(torch, 4 if "Multi" in name else 2):
            learn = Learn()
            learn.pred, learn.y = output, target
            metric.accumulate(learn)
        found[name] = float(metric.value)
    Path(__file__).with_suffix(".json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
