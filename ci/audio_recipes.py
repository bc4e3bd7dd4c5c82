"""Train the packaged networks of speakers, languages and spoken prompts by the scripts of
``audio/zoo``, once with Rushlight and once with PyTorch and torchaudio, and compare what is learnt.

Both start from the same seed, so from the same first weights, batches, noise and dropout; the
scripts are the same files (`audio_as_torchaudio` names PyTorch's modules as ours). What is compared
are the losses on the way and the share of clips held out that is right.

Usage: python ci/audio_recipes.py both DATA [NAME ...] [--seeds N] [--share N] [--anew]
                                                [--oracle FOLDER]
       python ci/audio_recipes.py run ours|theirs DATA NAME SEED SHARE
       python ci/audio_recipes.py table

DATA holds Debian's packages asterisk-core-sounds-{en,es,fr,it,ru}-wav or is where they are fetched
to; `--share N` trains for every Nth of the steps. Results are kept in
bench/results/audio_recipes.json, the table in audio_recipes.md; what is there is run again with
`--anew`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from oracle_environment import TORCHAUDIO, TORCHAUDIO_FOLDER, oracle

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "audio" / "zoo"
RESULTS = ROOT / "bench" / "results" / "audio_recipes.json"
NAMES = ("speaker", "language", "recognise")
# Percent that ours may be below theirs at the same seed: two of 526 prompts and more are chance.
MARGINS = {"speaker": 1.5, "language": 2.5, "recognise": 5.0}
HEADING = """# Recipes of rushlight_audio's zoo beside PyTorch

The scripts of `audio/zoo`, the same files, seeds, first weights and batches, one thread each, run
once on Rushlight and once on PyTorch 2.9.1 with torchaudio 2.9.1 (`python ci/audio_recipes.py both
DATA`). Percent of what is held out; seconds of the processor with reading and evaluation.
"""


class Tee(io.StringIO):
    """Keeps what is printed and shows it as it comes."""

    def write(self, text: str) -> int:
        sys.stderr.write(text)
        sys.stderr.flush()
        return super().write(text)


def run(which: str, data: str, name: str, seed: int, share: int) -> dict[str, Any]:
    """Train one network in this process: its figures, the losses printed on the way."""
    if which == "theirs":
        importlib.import_module("audio_as_torchaudio").install()
    sys.path.insert(0, str(SCRIPTS))
    framework = importlib.import_module("rushlight")
    framework.set_num_threads(1)
    train = importlib.import_module("train")
    _shorten(share)
    framework.manual_seed(seed)
    begin, shown = time.process_time(), Tee()
    with contextlib.redirect_stdout(shown):
        network, facts = train.NETWORKS[name](data, argparse.Namespace(pyannote=None))
    losses = re.findall(r"step (\d+) of (\d+): loss ([\d.naif-]+)", shown.getvalue())
    return {
        "name": name, "which": which, "seed": seed, "share": share,
        "seconds": round(time.process_time() - begin),
        "parameters": sum(each.numel() for each in network.parameters()),
        "losses": [[int(step), int(steps), float(loss)] for step, steps, loss in losses],
        "figures": facts["_metrics"],
    }  # fmt: skip


def _shorten(share: int) -> None:
    """Have the scripts train for a part of their steps."""
    whole = sys.modules["fitting"].fit
    for module in ("train", "recognition"):
        sys.modules[module].fit = lambda network, loss_of, steps, lr: whole(
            network, loss_of, steps // share, lr
        )


def both(asked: argparse.Namespace) -> int:
    """Train with both libraries, keep the results; 1 where ours has learnt less."""
    folder = Path(asked.oracle) if asked.oracle else TORCHAUDIO_FOLDER
    ready = asked.oracle and not (folder / "installed-by-nox.txt").exists()
    theirs = folder / "bin" / "python" if ready else oracle(folder, TORCHAUDIO)
    programs, rows = {"ours": sys.executable, "theirs": str(theirs)}, read()
    if asked.anew:
        rows = []
    for name in asked.names or NAMES:
        for seed in range(asked.seeds):
            for which, program in programs.items():
                if (name, asked.share, seed, which) in map(key, rows):
                    continue
                words = [program, __file__, "run", which, asked.data, name, str(seed)]
                row = measured([*words, str(asked.share)], which)
                rows.append(row)
                write(rows)
    print(table(rows))
    return 1 if behind(rows) else 0


def measured(command: list[str], which: str) -> dict[str, Any]:
    """The row that a run prints last."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if which == "theirs":
        environment.pop("PYTHONPATH", None)
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(lines.stdout.splitlines()[-1])


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells a row from others."""
    return row["name"], row["share"], row["seed"], row["which"]


def read() -> list[dict[str, Any]]:
    """The rows kept so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.is_file() else []


def write(rows: list[dict[str, Any]]) -> None:
    """Keep rows and their table."""
    rows.sort(key=key)
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    RESULTS.with_suffix(".md").write_text(table(rows))


def pairs(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Our row and theirs of each recipe, share and seed that both have run."""
    theirs = {key(row)[:3]: row for row in rows if row["which"] == "theirs"}
    return [
        (row, theirs[key(row)[:3]])
        for row in sorted(rows, key=key)
        if row["which"] == "ours" and key(row)[:3] in theirs
    ]


def right(figures: dict[str, float]) -> float:
    """Percent that are right: of clips, of words."""
    return figures["accuracy"] if "accuracy" in figures else 100 - figures["wer"]


def behind(rows: list[dict[str, Any]]) -> list[str]:
    """What ours has learnt less of, by the mean over seeds of what is held out."""
    gaps: dict[tuple[str, int], list[float]] = {}
    for ours, theirs in pairs(rows):
        first = next(iter(ours["figures"]))
        gap = right(theirs["figures"][first]) - right(ours["figures"][first])
        gaps.setdefault((ours["name"], ours["share"]), []).append(gap)
    return [name for (name, _), found in gaps.items() if sum(found) / len(found) > MARGINS[name]]


def table(rows: list[dict[str, Any]]) -> str:
    """What both have learnt, in Markdown."""
    lines = [HEADING, "| recipe | seed | steps | held out | Rushlight | PyTorch |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for ours, theirs in pairs(rows):
        start = f"| {ours['name']} | {ours['seed']} | {_steps(ours)} |"
        for name, figures in ours["figures"].items():
            both_ways = right(figures), right(theirs["figures"][name])
            lines.append(f"{start} {name} | {both_ways[0]:.2f} | {both_ways[1]:.2f} |")
        begun = f"loss of the first {ours['losses'][0][0]} steps"
        for each, title in ((0, begun), (-1, "loss at the end")):
            found = ours["losses"][each][2], theirs["losses"][each][2]
            lines.append(f"{start} {title} | {found[0]:.3f} | {found[1]:.3f} |")
        lines.append(f"{start} seconds | {ours['seconds']} | {theirs['seconds']} |")
    return "\n".join(lines) + "\n"


def _steps(row: dict[str, Any]) -> int:
    """All steps of a run, of one part after the other."""
    return sum(steps for step, steps, _ in row["losses"] if step + 50 > steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("both", "run", "table"))
    parser.add_argument("data", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--oracle", help="folder of an environment with torchaudio 2.9.1")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--anew", action="store_true", help="forget the results that are kept")
    if sys.argv[1:2] == ["run"]:
        which, data, name, seed, share = sys.argv[2:]
        print(json.dumps(run(which, data, name, int(seed), int(share))))
        return 0
    asked = parser.parse_args()
    if asked.step == "both":
        return both(asked)
    print(table(read()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
