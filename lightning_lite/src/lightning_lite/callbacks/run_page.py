"""RunPage: a run's folder explains itself: settings, environment, state of the sources, curves."""

from __future__ import annotations

import datetime
import html
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import rushlight
from lightning_lite._version import __version__
from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.curves import picture
from lightning_lite.configuration import is_plain, plain_form
from lightning_lite.random_state import SEED_VARIABLE
from lightning_lite.utilities.model_summary import ModelSummary

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;"
    "color:#222;background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "table{border-collapse:collapse}td,th{padding:.15em .8em .15em 0;text-align:left;"
    "vertical-align:top}pre{background:#f4f4f4;padding:1em;overflow-x:auto;font-size:13px}"
    "figure{display:inline-block;margin:0 1em 1em 0}figcaption{font-weight:600}"
)


class RunPage(Callback):
    """Writes `run.json` when training begins and `index.html` after every epoch, into `dirpath` (by
    default the logger's folder): hyper-parameters, the Trainer's settings, versions, seed, the
    commit and changes of the sources, the layers, curves of all logged values, checkpoints, and how
    the run ended. The page is one file without scripts; it needs no network and no library.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=1, callbacks=[RunPage()])
    """

    def __init__(self, dirpath: str | os.PathLike | None = None) -> None:
        self.dirpath = dirpath
        self.curves: dict[str, list[tuple[int, float]]] = {}
        self.facts: dict[str, Any] = {}
        self._folder: Path | None = None

    def state_dict(self) -> dict[str, Any]:
        """The curves so far."""
        return {"curves": {name: [list(p) for p in each] for name, each in self.curves.items()}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the curves."""
        curves = state_dict["curves"]
        self.curves = {name: [(int(s), float(v)) for s, v in each] for name, each in curves.items()}

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Write what is known beforehand."""
        self._folder = Path(self.dirpath or trainer.log_dir or trainer.default_root_dir)
        self.facts = {
            "model": type(pl_module).__name__,
            "began": datetime.datetime.now().isoformat(timespec="seconds"),
            "command": " ".join(sys.argv),
            "hyper-parameters": _plain(pl_module.hparams),
            "trainer": settings_of(trainer),
            "environment": environment(),
            "sources": sources(),
            "layers": str(ModelSummary(pl_module, max_depth=-1)),
            "status": "running",
        }
        self._write(trainer)

    def _note(self, trainer: Any) -> None:
        step = trainer.state.progress.logged_steps
        for name, value in trainer.logged_metrics.items():
            points, number = self.curves.setdefault(name, []), float(value)
            if points and points[-1][1] == number:
                continue  # not logged since
            if points and points[-1][0] == step:
                points.pop()
            points.append((step, number))

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note what is logged at this step."""
        every = trainer.log_every_n_steps
        if every and (trainer.state.progress.logged_steps + 1) % every == 0:
            self._note(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Draw the page again."""
        self._note(trainer)
        self._write(trainer)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Say that the run ended by an error."""
        if self._folder is not None:
            self.facts["status"] = f"ended by {type(exception).__name__}: {exception}"
            self._write(trainer)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Say that the run is over."""
        self._note(trainer)
        self.facts["status"] = "finished"
        self.facts["ended"] = datetime.datetime.now().isoformat(timespec="seconds")
        self._write(trainer)

    def _write(self, trainer: Any) -> None:
        folder = self._folder or Path(trainer.default_root_dir)
        folder.mkdir(parents=True, exist_ok=True)
        progress = trainer.state.progress
        self.facts["progress"] = {"epochs": progress.epoch, "steps": progress.optimizer_steps}
        self.facts["checkpoints"] = [
            path
            for each in trainer.checkpoint_callbacks
            if (path := getattr(each, "best_model_path", ""))
        ]
        text = json.dumps(self.facts, indent=2, ensure_ascii=False, default=str)
        for name, content in (("run.json", text), ("index.html", page(self.facts, self.curves))):
            aside = folder / f".{name}.{os.getpid()}.part"
            aside.write_text(content, encoding="utf-8")
            aside.replace(folder / name)


def _plain(hparams: Any) -> dict[str, Any]:
    found = {name: plain_form(value) for name, value in hparams.items()}
    return {name: value if is_plain(value) else repr(value) for name, value in found.items()}


def settings_of(trainer: Any) -> dict[str, Any]:
    """The Trainer's settings that shape a training."""
    names = (
        *("max_epochs", "min_epochs", "max_steps", "precision", "accumulate_grad_batches"),
        *("gradient_clip_val", "gradient_clip_algorithm", "val_check_interval"),
        *("check_val_every_n_epoch", "log_every_n_steps", "limit_train_batches"),
        *("limit_val_batches", "deterministic"),
    )
    found = {name: getattr(trainer, name) for name in names}
    found["device"] = str(trainer.root_device)
    found["callbacks"] = [type(each).__name__ for each in trainer.callbacks]
    return found


def environment() -> dict[str, Any]:
    """Versions, the machine, and the seed."""
    return {
        "python": platform.python_version(),
        "rushlight": rushlight.__version__,
        "lightning_lite": __version__,
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "seed": os.environ.get(SEED_VARIABLE),
    }


def _git(*words: str) -> str | None:
    """What git says of the current folder; None without git or outside of a repository."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def sources() -> dict[str, Any]:
    """The commit and the changed files of the repository that the run began in."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {"commit": None}
    changed = (_git("status", "--porcelain") or "").splitlines()
    return {"commit": commit, "branch": _git("branch", "--show-current"), "changed": changed[:50]}


def _table(facts: dict[str, Any]) -> str:
    rows = [
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(_words(value))}</td></tr>"
        for name, value in facts.items()
    ]
    return f"<table>{''.join(rows)}</table>"


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def page(facts: dict[str, Any], curves: dict[str, list[tuple[int, float]]]) -> str:
    """The page of a run."""
    overall = {name: value for name, value in facts.items() if isinstance(value, str | list)}
    layers = overall.pop("layers", "")
    figures = "".join(
        f"<figure><figcaption>{html.escape(name)}</figcaption>{picture(points)}</figure>"
        for name, points in sorted(curves.items())
        if points and name not in ("epoch", "step")
    )
    tables = "".join(
        f"<h2>{html.escape(name)}</h2>{_table(value)}"
        for name, value in facts.items()
        if isinstance(value, dict) and value
    )
    title = html.escape(str(facts.get("model", "run")))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style><h1>{title}</h1>{_table(overall)}<h2>curves</h2>{figures}"
        f"{tables}<h2>layers</h2><pre>{html.escape(str(layers))}</pre></html>\n"
    )
