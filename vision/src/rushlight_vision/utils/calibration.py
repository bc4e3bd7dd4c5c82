"""Whether a network is as often right as it says."""

from __future__ import annotations

import rushlight as rl


def calibration(
    scores: rl.Tensor, target: rl.Tensor, bins: int = 15
) -> tuple[float, list[tuple[float, float, int]]]:
    """The expected calibration error (Guo et al., "On Calibration of Modern Neural Networks", 2017)
    of logits (N, classes), and a row for each of `bins` ranges of confidence that has samples: mean
    confidence, share of right answers, number of samples.

    >>> error, rows = calibration(rl.tensor([[9.0, 0], [0, 9]]), rl.tensor([0, 0]))
    >>> round(error, 3), rows[0][1:]
    (0.5, (0.5, 2))

    """
    if bins < 1:
        raise ValueError(f"bins must be 1 at least, got {bins}")
    confidence, said = scores.softmax(1).max(1)
    right = (said == target).double()
    which = (confidence * bins).ceil().long().clamp(1, bins) - 1
    counts = rl.bincount(which, minlength=bins)
    sure = rl.bincount(which, confidence.double(), minlength=bins)
    good = rl.bincount(which, right, minlength=bins)
    error = float((sure - good).abs().sum() / len(target))
    rows = zip(sure.tolist(), good.tolist(), counts.tolist(), strict=True)
    return error, [(a / count, b / count, count) for a, b, count in rows if count]


def fit_temperature(scores: rl.Tensor, target: rl.Tensor, steps: int = 50) -> float:
    """The number by which logits are divided so that they fit best: below 1 for a network that is
    too modest, above for one that is too sure. Answers do not change.

    >>> round(fit_temperature(rl.tensor([[2.0, 0], [2, 0], [2, 0]]), rl.tensor([0, 0, 1])), 1)
    2.9

    """
    log = rl.zeros((), requires_grad=True)
    optimizer = rl.optim.LBFGS([log], max_iter=steps, line_search_fn="strong_wolfe")

    def closure() -> rl.Tensor:
        optimizer.zero_grad()
        loss = rl.nn.functional.cross_entropy(scores.detach() / log.exp(), target)
        loss.backward()
        return loss

    optimizer.step(closure)
    return float(log.detach().exp())
