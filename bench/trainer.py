"""What `Trainer.fit` adds to a step over a plain loop: lightning_lite, and Lightning on PyTorch.

Both loops train the same module, one small layer, so that steps are short. Time of the process on
one thread, the least of a few runs, medians over rounds in which the two libraries take turns.

Usage: python bench/trainer.py [PYTHON] [--rounds 5]     writes results/trainer.json and trainer.md
       PYTHON: of an environment with torch and lightning; without it lightning_lite alone is timed
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

STEPS, FIRST, RUNS = 3200, 200, 3  # steps of a run, those that are not timed, runs of a process
WAYS = ("by hand", "Trainer", "Trainer with bar and CSV")
RESULTS = Path(__file__).parent / "results"


class Clock:
    """Seconds of the process between two steps."""

    def __init__(self):
        self.begin = self.end = 0.0

    def tick(self, step):
        """To be called in every step."""
        if step == FIRST:
            self.begin = time.process_time()
        elif step == STEPS - 1:
            self.end = time.process_time()

    def microseconds(self):
        """For a step."""
        return 1e6 * (self.end - self.begin) / (STEPS - 1 - FIRST)


def library(which):
    """(framework, the Trainer's package with its `loggers`) of ours or of theirs."""
    if which == "ours":
        import lightning_lite
        import lightning_lite.loggers
        import rushlight

        return rushlight, lightning_lite
    import lightning.pytorch
    import torch

    return torch, lightning.pytorch


class Batches:
    """The same batch in every step: what loading costs is not the question."""

    def __init__(self, framework):
        self.batch = framework.randn(4, 8), framework.randn(4, 8)

    def __iter__(self):
        return itertools.repeat(self.batch, STEPS)

    def __len__(self):
        return STEPS


def network(framework, package, clock, logs=False):
    """The module that both loops train."""

    class Net(package.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = framework.nn.Linear(8, 8)

        def training_step(self, batch, batch_idx):
            clock.tick(batch_idx)
            inputs, targets = batch
            loss = framework.nn.functional.mse_loss(self.layer(inputs), targets)
            if logs:
                self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return framework.optim.SGD(self.parameters(), lr=0.01)

    return Net()


def by_hand(framework, package):
    """Microseconds of a step in a plain loop over the module."""
    clock = Clock()
    module = network(framework, package, clock)
    optimizer = module.configure_optimizers()
    for number, batch in enumerate(Batches(framework)):
        loss = module.training_step(batch, number)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return clock.microseconds()


def by_trainer(framework, package, logs):
    """Microseconds of a step in ``Trainer.fit``, without bar and files or with both."""
    clock = Clock()
    module = network(framework, package, clock, logs)
    with tempfile.TemporaryDirectory() as folder:
        logger = package.loggers.CSVLogger(folder) if logs else False
        trainer = package.Trainer(
            max_steps=STEPS, max_epochs=-1, logger=logger, enable_checkpointing=False,
            enable_progress_bar=logs, enable_model_summary=False, accelerator="cpu",
        )  # fmt: skip
        trainer.fit(module, Batches(framework))
    return clock.microseconds()


def timed(which):
    """The least microseconds of each way."""
    framework, package = library(which)
    framework.set_num_threads(1)
    calls = (
        lambda: by_hand(framework, package),
        lambda: by_trainer(framework, package, False),
        lambda: by_trainer(framework, package, True),
    )
    rounds = [[call() for call in calls] for _ in range(RUNS)]
    return dict(zip(WAYS, map(min, zip(*rounds, strict=True)), strict=True))


def process(python, which):
    """What a process of one library finds."""
    command = [python, __file__, "--of", which]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def summary(rounds):
    """Medians over the rounds: a step by hand, and what each way of the Trainer adds to it."""
    hand, *others = WAYS
    added = {way: statistics.median(r[way] - r[hand] for r in rounds) for way in others}
    return {hand: statistics.median(r[hand] for r in rounds), **added}


def table(found):
    """The summaries in Markdown."""
    hand, *others = WAYS
    lines = [f"| library | {hand}, us | " + " | ".join(f"{way} adds, us" for way in others) + " |"]
    lines.append("| --- " * (2 + len(others)) + "|")
    for name, values in found.items():
        cells = [f"{values[way]:.1f}" for way in WAYS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--of", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        for name in ("lightning_lite", "lightning", "lightning.pytorch"):
            logging.getLogger(name).setLevel(logging.ERROR)
        warnings.simplefilter("ignore")
        print("\n" + json.dumps(timed(options.of)))
        return
    programs = {"ours": sys.executable} | ({"theirs": options.python} if options.python else {})
    names = {"ours": "lightning_lite", "theirs": "Lightning on PyTorch"}
    rounds = {which: [] for which in programs}
    for _ in range(options.rounds):
        for which, python in programs.items():
            rounds[which].append(process(python, which))
    found = {names[which]: summary(of_one) for which, of_one in rounds.items()}
    report = table(found)
    print(report)
    (RESULTS / "trainer.json").write_text(json.dumps({"rounds": rounds, **found}, indent=1) + "\n")
    (RESULTS / "trainer.md").write_text(f"# What a Trainer adds to a step\n\n{report}")


if __name__ == "__main__":
    main()
