"""Train a network of images from the command line.

    python -m rushlight_vision.train classification --data photos --model resnet18 --epochs 5

Everything that :func:`rushlight_vision.training.fit` takes is an option; `--finetune` begins with
trained weights and calls :func:`rushlight_vision.training.finetune`.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import Any

from rushlight_vision.datasets import from_folder
from rushlight_vision.training import Settings, finetune, fit
from rushlight_vision.training.settings import EXPORTS
from rushlight_vision.training.tasks import TASKS

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rushlight_vision.train", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("--data", required=True, help="a folder that from_folder reads")
    parser.add_argument("--val-data", help="another folder; default: a split or a fifth of --data")
    parser.add_argument("--model", required=True, help="name of a model, as get_model knows it")
    parser.add_argument("--out", default="runs/train", help="folder of what is written")
    parser.add_argument("--resume", nargs="?", const=True, help="a checkpoint; alone: the last")
    parser.add_argument("--export", nargs="*", choices=EXPORTS, default=["state_dict"])
    parser.add_argument("--on-error", choices=("raise", "skip"), default="raise")
    parser.add_argument("--stop-after", type=int, help="end after this epoch, to go on later")
    parser.add_argument("--finetune", action="store_true", help="from trained weights")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    for field in fields(Settings):
        _add_setting(parser, field)
    return parser


def _add_setting(parser: argparse.ArgumentParser, field: Any) -> None:
    """The option of a setting, of its type and with its default."""
    name = "--" + field.name.replace("_", "-")
    options: dict[str, Any] = {"default": field.default, "help": f"default: {field.default}"}
    if isinstance(field.default, bool):
        options["action"] = argparse.BooleanOptionalAction
    elif isinstance(field.default, tuple):
        options.update(nargs="+", type=float)
    else:
        options["type"] = int if field.default is None else type(field.default)
    parser.add_argument(name, **options)


def main(arguments: list[str] | None = None) -> int:
    """Train as the command line says; 0 if all is well, 2 with a message if something is
    not, 130 after Ctrl-C."""
    given = vars(_parser().parse_args(arguments))
    task, data, on_error = given["task"], given.pop("data"), given["on_error"]
    try:
        opened = from_folder(data, "classification" if task == "similarity" else task, on_error)
        print(opened.report)
        given["mean"], given["std"] = tuple(given["mean"]), tuple(given["std"])
        result = _trained(given, opened)
    except (ValueError, OSError, NotImplementedError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(interrupt, file=sys.stderr)
        return 130
    for row in result.history:
        print(", ".join(f"{name} {value:.4g}" for name, value in row.items()))
    for kind, path in result.files.items():
        print(f"{kind}: {path}")
    return 0


def _trained(given: dict[str, Any], data: Any) -> Any:
    """Train in one part or two."""
    model = given.pop("model")
    if not given.pop("finetune"):
        return fit(model, data, **given)
    if given.pop("resume") or given.pop("stop_after"):
        raise ValueError("--finetune: --resume and --stop-after are of trainings in one part")
    epochs = given.pop("epochs")
    parts = (max(epochs // 3, 1), max(epochs - epochs // 3, 1))
    return finetune(model, data, epochs=parts, **given)


if __name__ == "__main__":
    sys.exit(main())
