"""Tables of what ci/gpu_check.py measured on a device: its rows as one JSON file and one page.

Usage: python bench/gpu_results.py FOLDER NAME     (writes bench/results/gpu_NAME.json and .md)
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
STAGES = ("environment", "models", "models_torch", "kernels", "products", "overhead", "capture")


def read(folder: Path) -> dict[str, list[dict]]:
    """The rows of every stage that ran."""
    found = {}
    for stage in STAGES:
        path = folder / f"{stage}.jsonl"
        if path.exists():
            found[stage] = [json.loads(line) for line in path.read_text().splitlines()]
    return found


def table(head: list[str], rows: list[list]) -> list[str]:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def steps(rows: dict) -> list[str]:
    """Training steps beside PyTorch's, and geometric means of the ratios."""
    key = lambda row: (row["what"], row["precision"], row["kind"])  # noqa: E731
    peer = {key(row): row for row in rows["models_torch"] if "seconds" in row}
    lines, ratios = [], {}
    for row in rows["models"]:
        other = peer.get(key(row))
        if "seconds" not in row or other is None:
            continue
        ratio = other["seconds"] / row["seconds"]
        ratios.setdefault(row["kind"], []).append(ratio)
        times = [f"{1e3 * r['seconds']:.3g} ms" for r in (row, other)]
        lines.append([*key(row), *times, f"{ratio:.2f}"])
    means = {k: math.exp(sum(map(math.log, v)) / len(v)) for k, v in ratios.items()}
    said = ", ".join(f"{kind} {mean:.2f}" for kind, mean in means.items())
    head = ["network", "precision", "step", "ours", "PyTorch", "ratio"]
    return [*table(head, lines), "", f"Geometric means of PyTorch's time over ours: {said}."]


def kernels(rows: list[dict]) -> list[str]:
    """Rates of the kernels."""
    lines = []
    for row in rows:
        rate = row.get("gigabytes_per_second")
        rate = f"{rate:.0f} GB/s" if rate else f"{row.get('tflops', 0):.1f} TFLOP/s"
        if row.get("seconds"):
            lines.append([row["what"], row["dtype"], f"{1e6 * row['seconds']:.0f} us", rate])
    return table(["kernel", "dtype", "time", "rate"], lines)


def products(rows: list[dict]) -> list[str]:
    """TFLOP/s of products of matrices, and how many were held against float64."""
    fast = [r for r in rows if r["what"] == "speed" and "tflops" in r]
    dtypes = list(dict.fromkeys(r["dtype"] for r in fast))
    shapes = list(dict.fromkeys(tuple(r["shape"]) for r in fast))
    rate = {(tuple(r["shape"]), r["dtype"]): f"{r['tflops']:.1f}" for r in fast}
    lines = [[" x ".join(map(str, s)), *(rate.get((s, d), "") for d in dtypes)] for s in shapes]
    right = [r for r in rows if r["what"] == "accuracy" and isinstance(r.get("error"), float)]
    return [
        *table(["batch x m x n x k, TFLOP/s", *dtypes], lines), "",
        f"{len(right)} products of all dtypes, transposes and epilogues agree with float64.",
    ]  # fmt: skip


def overhead(rows: list[dict]) -> list[str]:
    """Host microseconds of small operations."""
    rows = [r for r in rows if "microseconds" in r]
    peer = {r["what"]: r["microseconds"] for r in rows if r["library"] == "torch"}
    lines = [
        [r["what"], f"{r['microseconds']:.1f}", f"{peer.get(r['what'], math.nan):.1f}"]
        for r in rows
        if r["library"] == "rushlight"
    ]
    return table(["operation, host microseconds", "ours", "PyTorch"], lines)


def page(rows: dict) -> str:
    """The page of one device."""
    facts = {row["what"]: row for row in rows["environment"]}
    versions, device = facts["versions"], facts["device"]
    words = ("torch", "cupy-cuda13x", "nvidia-cudnn-cu13", "nvidia-cublas")
    said = ", ".join(f"{word} {versions[word]}" for word in words if versions.get(word))
    captured = [row for row in rows.get("capture", []) if "equal_bits" in row]
    equal = sum(row["equal_bits"] for row in captured)
    parts = [
        [f"# On a GPU: {device['name']}", "", f"Python {versions['python']}, {said}.", ""],
        ["## Training steps", "", *steps(rows), ""],
        [f"{equal} of {len(captured)} captured steps give an eager one's bits.", ""],
        ["## Kernels", "", *kernels(rows["kernels"]), ""],
        ["## Products", "", *products(rows["products"]), ""],
        ["## Host time", "", *overhead(rows["overhead"])],
    ]  # fmt: skip
    return "\n".join(line for part in parts for line in part) + "\n"


def main() -> int:
    """Write both files."""
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    rows, name = read(Path(sys.argv[1])), sys.argv[2]
    (RESULTS / f"gpu_{name}.json").write_text(json.dumps(rows, indent=1) + "\n")
    (RESULTS / f"gpu_{name}.md").write_text(page(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
