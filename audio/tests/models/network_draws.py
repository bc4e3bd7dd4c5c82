"""What networks draw as they are built and in training: the numbers that come after, and first
weights at several seeds. torchaudio's are written down by ci/audio_draws.py."""

from __future__ import annotations

import warnings
from typing import Any

from network_cases import CASES
from network_measures import Arrays, summary

SEEDS = (1, 2, 3)


def _following(torch: Any) -> list[float]:
    return [float(torch.rand(())), float(torch.randn(()))]


def measure(
    torch: Any, models: Any, name: str, faults: tuple[type[Exception], ...] = ()
) -> tuple[dict[str, list[Any]], Arrays]:
    """For each of SEEDS the numbers after building a network, and after a call in evaluation and in
    training (None where it ends in one of `faults`); a summary of its first weights."""
    case = CASES[name]
    positions: dict[str, list[Any]] = {"built": [], "eval": []}
    weights = {}
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = case.build(models)
        positions["built"].append(_following(torch))
        state = [value.detach().numpy() for value in model.state_dict().values()]
        weights[f"{seed}"] = summary(state)
        for mode in ("eval", "train") if case.training else ("eval",):
            model.train(mode == "train")
            torch.manual_seed(seed)
            try:
                _call(torch, model, case.call)
                after = _following(torch)
            except faults:
                after = None
            positions.setdefault(mode, []).append(after)
    return positions, weights


def _call(torch: Any, model: Any, call: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a synthesis that does not end
        call(torch, model)
