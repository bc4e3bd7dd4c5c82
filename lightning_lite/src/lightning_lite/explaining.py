"""What a trainer will do, as text: the loop with its hooks in order, and who acts in each."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.checkpoint import Checkpoint
from lightning_lite.feeding import INFINITE
from lightning_lite.hooks import WRITE_LAST, overrides
from lightning_lite.module import LightningModule

# The loop: depth, and a hook, a step of the module ("training_step!" is always there), or a
# heading in brackets. `{}` are filled in from the trainer.
FIT = """\
0 configure_callbacks
0 prepare_data
0 setup
0 configure_model
0 configure_optimizers!
0 on_fit_start
0 [validation: {sanity} batches, before training]
1 on_sanity_check_start
1 validation_step
1 on_sanity_check_end
0 on_train_start
0 [for each of {epochs} epochs]
1 on_train_epoch_start
1 [for each of {batches} batches]
2 on_before_batch_transfer
2 transfer_batch_to_device
2 on_after_batch_transfer
2 on_train_batch_start
2 training_step!
2 on_before_zero_grad
2 optimizer_zero_grad
2 on_before_backward
2 backward
2 on_after_backward
2 [after every {accumulate}: optimizer step]
3 on_before_optimizer_step
3 configure_gradient_clipping
3 optimizer_step
3 lr_scheduler_step
2 on_train_batch_end
2 [{when}: validation, {val} batches]
3 on_validation_start
3 on_validation_epoch_start
3 on_validation_batch_start
3 validation_step
3 on_validation_batch_end
3 on_validation_epoch_end
3 on_validation_end
1 on_train_epoch_end
0 on_train_end
0 on_fit_end
0 teardown"""
BASES = (LightningModule, Callback)


def actors(trainer: Any, module: Any, hook: str) -> list[str]:
    """Who acts in a hook, in order; who writes checkpoints comes last."""
    using = [each for each in trainer.callbacks if overrides(each, Callback, hook)]
    late = [each for each in using if hook in WRITE_LAST and isinstance(each, Checkpoint)]
    before = [type(each).__name__ for each in using if each not in late]
    own = [type(module).__name__] if overrides(module, LightningModule, hook) else []
    data = trainer.datamodule
    if data is not None and hasattr(type(data), hook) and _own_method(data, hook):
        own.insert(0, type(data).__name__)
    return [*before, *own, *(type(each).__name__ for each in late)]


def _own_method(datamodule: Any, hook: str) -> bool:
    from lightning_lite.datamodule import LightningDataModule

    return overrides(datamodule, LightningDataModule, hook)


def _number(value: float | None) -> str:
    return "?" if value is None or value == INFINITE else str(int(value))


def _words(trainer: Any, lengths: dict[str, float | None]) -> dict[str, str]:
    """What the headings say."""
    epochs, interval = trainer.max_epochs, trainer.val_check_interval
    accumulate = trainer.accumulate_grad_batches
    when = "at the epoch's end"
    if isinstance(interval, int):
        when = f"after every {interval} batches"
    elif interval != 1.0:
        when = f"after every {interval:g} of the epoch"
    every = trainer.check_val_every_n_epoch
    if every not in (None, 1):
        when += f", every {every} epochs"
    return {
        "epochs": "?" if epochs in (None, -1) else str(epochs),
        "batches": _number(lengths["train"]),
        "val": _number(lengths["val"]),
        "sanity": _number(trainer.limits.sanity_val),
        "accumulate": "batch" if accumulate == 1 else f"{accumulate} batches",
        "when": when,
    }


def explain(trainer: Any, module: Any, lengths: dict[str, float | None]) -> str:
    """The loop that `fit` will run, with everyone who acts in it.

    `lengths`: batches of an epoch and of a validation by "train" and "val"; None where they are not
    known, 0 where there are none.
    """
    words, lines = _words(trainer, lengths), []
    lines.append(
        f"fit of {type(module).__name__} on {trainer.root_device}, precision {trainer.precision}"
    )
    validates = lengths["val"] != 0 and overrides(module, LightningModule, "validation_step")
    for row in FIT.splitlines():
        depth, _, name = row.partition(" ")
        indent = "  " * (int(depth) + 1)
        if name.startswith("["):
            lines.append(f"{indent}{name[1:-1].format(**words)}")
            continue
        if "validation" in name and not validates:
            continue
        found = actors(trainer, module, name.removesuffix("!"))
        if found or name.endswith("!"):
            lines.append(f"{indent}{name.removesuffix('!'):<30} {', '.join(found)}".rstrip())
    return "\n".join(_without_empty(lines))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_empty(lines: list[str]) -> list[str]:
    """Without validations in which nobody acts."""
    kept = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if "validation: " not in line and ": validation" not in line:
            kept.append(line)
        elif _depth(following) > _depth(line):
            kept.append(line)
    return kept
