"""Draw from every random function under several seeds in both libraries and say how near they are.

Rows are initial weights of layers, initialisers, samplers, masks, data orders and distributions.
For each row and seed the numbers are compared bit by bit; where they differ, in units of the last
place of PyTorch's. Afterwards both generators must stand at the same place, so that what a program
draws next is the same too. Integers, uniforms and masks must be the same bitwise, all else within
4 units; rows that are not stand in ci/pytorch/seeds_known.toml with their reasons.

Usage: python ci/pytorch/seeds.py [WORD ...] [--page FILE]

A WORD chooses the rows whose names contain it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import known_failures
import oracle
from packages import ROOT

KNOWN = Path(__file__).with_name("seeds_known.toml")
PAGE = ROOT / "docs" / "pages" / "seeds.md"
SEEDS = (0, 1, 42, 2**31 + 7, 1234567890123)
LIMIT = 4
# Rows that begin so take no function of a library on their way: they are the same bit by bit.
EXACT = (
    "rand ", "rand_like", "randint", "random_", "randperm", "uniform_", "bernoulli", "multinomial",
    "init.uniform_", "init.xavier_uniform_", "init.kaiming_uniform_",
    "nn.Linear", "nn.Conv", "nn.LSTM", "nn.GRU", "nn.RNN", "nn.Bilinear", "nn.Lazy", "F.dropout",
    "DataLoader", "RandomSampler",
)  # fmt: skip
GROUPS = {
    "generators": "Generators",
    "initialisers": "Initialisers (`nn.init`)",
    "layers": "Initial weights of layers",
    "masks": "Masks and noise in layers",
    "orders": "Data orders",
    "distributions": "Distributions",
    "algorithms": "Randomised algorithms",
}
INTRODUCTION = """\
# Same seed, same numbers

After `manual_seed(n)` Rushlight draws what PyTorch {version} draws on a CPU without vendor
libraries' generators (its generic path), and its generator stands at the same place afterwards;
`get_rng_state` and `set_rng_state` take each other's bytes. The table is generated:

```bash
python3 -m nox -s seeds
```

**{rows} rows: {bitwise} of them bitwise, {near} within {limit} units in the last place (ulp),
{known} further off for the reasons given.** Each row stands for {seeds} seeds
({which}); shapes run from one element to some thousand, across
the sizes at which the samplers change their path.

Where a sample is shifted (`normal_(mean, std)`), or a sum of parts cancels (orthogonal matrices,
the outputs of layers with dropout), a unit is that of the largest part, not of a result near zero.
"""


def flat(value) -> list:
    """All tensors of a result, and its numbers as they are."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    return [value]


def array(value):
    """A result as a NumPy array; bfloat16 widened, which is exact."""
    import numpy as np

    if not hasattr(value, "detach"):
        return np.asarray(value)
    value = value.detach()
    if str(value.dtype).endswith("bfloat16"):
        # Half of its units are compared in float32, whose last place is 2**16 times finer.
        return value.float().numpy(), 2.0**16
    return value.numpy()


def units(found, expected, floor=0.0) -> float:
    """The largest distance in units of the last place of `expected`, or of `floor` where that is
    larger; infinite if unlike."""
    import numpy as np

    found, expected = array(found), array(expected)
    scale = 1.0
    if isinstance(found, tuple) and isinstance(expected, tuple):
        (found, scale), (expected, _) = found, expected
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if found.tobytes() == expected.tobytes():
        return 0.0
    if found.dtype.kind == "c":
        real = found.real.dtype
        found, expected = (np.atleast_1d(part).view(real) for part in (found, expected))
    if found.dtype.kind != "f":
        return float("inf")
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if not np.isfinite(found[~same]).all() or not np.isfinite(expected[~same]).all():
        return float("inf")
    wide = np.longdouble
    gap = np.abs(found[~same].astype(wide) - expected[~same].astype(wide))
    sizes = np.maximum(np.abs(expected[~same]), expected.dtype.type(floor))
    step = np.spacing(sizes).astype(wide) * scale
    return float((gap / step).max()) if gap.size else 0.0


def compare(call, floor) -> tuple[float, bool]:
    """The largest distance over all seeds, and whether the generators end at the same place."""
    import torch

    import rushlight

    worst, together = 0.0, True
    for seed in SEEDS:
        torch.manual_seed(seed)
        rushlight.manual_seed(seed)
        expected, found = flat(call(torch)), flat(call(rushlight))
        if len(expected) != len(found):
            return float("inf"), False
        for a, b in zip(found, expected, strict=True):
            worst = max(worst, units(a, b, floor))
        states = rushlight.get_rng_state().numpy(), torch.get_rng_state().numpy()
        together &= states[0].tobytes() == states[1].tobytes()
    return worst, together


def verdict(row: dict) -> str:
    """What the table says of a row."""
    if "error" in row:
        return f"fails: {row['error']}"
    if row["units"] == 0:
        return "bitwise"
    return "differs" if row["units"] == float("inf") else f"{max(row['units'], 1):.0f} ulp"


def examine(name: str, group: str, call, floor: float) -> dict:
    """One row of the table."""
    row = {"name": name, "group": group}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row["units"], row["together"] = compare(call, floor)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
        row["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        row["units"], row["together"] = float("inf"), False
    exact = name.startswith(EXACT) and not name.endswith(" dropout")
    row["good"] = row["units"] <= (0 if exact else LIMIT) and row["together"]
    return row


def write_page(path: Path, rows: list[dict]) -> None:
    """Write the tables."""
    reasons = known_failures.reasons(KNOWN)
    lines = [
        INTRODUCTION.format(
            version=oracle.VERSION,
            rows=len(rows),
            bitwise=sum(r["units"] == 0 and r["good"] for r in rows),
            near=sum(r["units"] > 0 and r["good"] for r in rows),
            known=sum(not r["good"] for r in rows),
            limit=LIMIT,
            seeds=len(SEEDS),
            which=", ".join(map(str, SEEDS)),
        )
    ]
    for group, title in GROUPS.items():
        chosen = [row for row in rows if row["group"] == group]
        if not chosen:
            continue
        lines += [f"\n## {title}\n", "| name | same seed | next draw |", "| --- | --- | --- |"]
        for row in chosen:
            reason = f": {reasons[row['name']]}" if row["name"] in reasons else ""
            after = "same" if row["together"] else "differs"
            lines.append(f"| `{row['name']}` | {verdict(row)}{reason} | {after} |")
    lines.append(f"\nMeasured with Python {platform.python_version()}, PyTorch {oracle.VERSION}.")
    path.write_text("\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--page", type=Path, help=f"write the table here, such as {PAGE.name}")
    arguments = parser.parse_args()
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): the seeds were NOT compared")
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import seeds_rows
    import torch

    torch.set_num_threads(1)
    rows = []
    for group, name, call, floor in seeds_rows.rows():
        if arguments.words and not any(word in name for word in arguments.words):
            continue
        row = examine(name, group, call, floor)
        rows.append(row)
        if not row["good"]:
            after = "" if row["together"] else ", generators part"
            print(f"{name}: {verdict(row)}{after}", flush=True)
    bitwise = sum(row["units"] == 0 and row["good"] for row in rows)
    good = sum(row["good"] for row in rows)
    print(f"\n--- seeds: {len(rows)} rows, {bitwise} bitwise, {good - bitwise} within {LIMIT} ulp")
    failing = [row["name"] for row in rows if not row["good"]]
    if arguments.page:
        write_page(arguments.page, rows)
    return 1 if known_failures.surprises(KNOWN, failing, [row["name"] for row in rows]) else 0


if __name__ == "__main__":
    sys.exit(main())
