"""Training loops of the packaged networks: steps with a cosine, and epochs with averaged weights.

The second writes a checkpoint after every epoch and goes on from the newest, so that a run of an
hour or more may be stopped at any time.
"""

from __future__ import annotations

import datetime
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight import nn, optim
from rushlight_text.data import pad_ids
from rushlight_text.models.pretrained import build_model
from rushlight_text.models.pretrained.t5 import shifted
from rushlight_text.zoo.aligned import AlignedTransformer
from rushlight_text.zoo.writers import PAD

Batch = tuple[Any, ...]
Pairs = list[tuple[list[int], list[int]]]
Batches = Callable[[Pairs, int, random.Random], list[Pairs]]


def encoder_decoder(
    width: int, layers: int, heads: int, words: int, longest: int, **options: Any
) -> Any:
    """A small Marian model, embeddings and weights of unit gain at the start."""
    sizes: dict[str, Any] = {"vocab_size": words, "d_model": width, "dropout": 0.0}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": layers, f"{side}_attention_heads": heads}
        sizes[f"{side}_ffn_dim"] = 4 * width
    sizes |= {"max_position_embeddings": longest, "forced_eos_token_id": None}
    sizes |= {"init_std": width**-0.5, **options}
    return build_model({"model_type": "marian"}, "seq2seq-lm", **sizes)


def pair_batches(rows: Pairs, tokens: int, pick: random.Random) -> list[Pairs]:
    """An epoch's batches of about so many target ids, of similar lengths."""
    rows = list(rows)
    pick.shuffle(rows)
    rows.sort(key=lambda row: (len(row[1]), len(row[0])))
    batches, start = [], 0
    while start < len(rows):
        count = max(1, tokens // max(len(rows[start][1]), len(rows[start][0])))
        batches.append(rows[start : start + count])
        start += count
    pick.shuffle(batches)
    return batches


def equal_batches(rows: Pairs, tokens: int, pick: random.Random) -> list[Pairs]:
    """An epoch's batches of about so many target ids, each of targets of one length."""
    groups: dict[int, Pairs] = defaultdict(list)
    for row in rows:
        groups[len(row[1])].append(row)
    batches = []
    for length, group in groups.items():
        pick.shuffle(group)
        count = max(1, tokens // length)
        batches += [group[start : start + count] for start in range(0, len(group), count)]
    pick.shuffle(batches)
    return batches


def tensors(batch: Pairs) -> Batch:
    """Ids, mask and labels of a batch; padding of labels is not counted in the loss."""
    ids, mask = pad_ids([source for source, _ in batch], PAD)
    labels, there = pad_ids([target for _, target in batch])
    return ids, mask, labels.masked_fill(there == 0, -100)


def translation_loss(model: Any, smoothing: float = 0.1) -> Callable[[Pairs], rl.Tensor]:
    """The mean cross entropy of the targets of a batch of an encoder-decoder."""

    def loss_of(batch: Pairs) -> rl.Tensor:
        ids, mask, labels = tensors(batch)
        logits = model(ids, mask, shifted(labels, model.config)).logits
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing
        )

    return loss_of


def aligned_loss(
    model: AlignedTransformer, smoothing: float = 0.1, forget: float = 0.1
) -> Callable[[Pairs], rl.Tensor]:
    """The mean cross entropy of the pieces of a batch; of the pieces before, a share `forget` is
    hidden, so that the network does not lean on what it may have got wrong."""

    def loss_of(batch: Pairs) -> rl.Tensor:
        letters, pieces = (rl.tensor(each) for each in zip(*batch, strict=True))
        before = nn.functional.pad(pieces[:, :-1], (1, 0), value=model.none)
        before = before.masked_fill(rl.rand(before.shape) < forget, model.none)
        logits = model(letters, before)
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), pieces.flatten(), label_smoothing=smoothing
        )

    return loss_of


@dataclass
class Plan:
    """How pairs are learnt: the rate rises over `warm` steps, is constant, and falls to zero along
    a straight line over the last `decay` of `epochs` epochs.

    With `until` (a time of day such as ``"17:05"``) `epochs` is found in the course of training:
    the decay begins when the time that is left is what `decay` epochs take. `stop` ends it after
    so many epochs, before or in the decay. `with_valid`: what is held out to choose a plan is
    learnt, too.
    """

    lr: float
    tokens: int
    epochs: int
    decay: int
    warm: int = 500
    average: float = 0.999
    until: str | None = None
    stop: int | None = None
    with_valid: bool = False

    def rate(self, epoch: float, step: int) -> float:
        """The factor of the rate, `epoch` with its fraction."""
        falling = (self.epochs - epoch) / self.decay
        return max(0.0, min(1.0, falling, (step + 1) / self.warm))

    def look_at_the_clock(self, done: int, took: float) -> None:
        """Fix the number of epochs where the time that is left asks for it."""
        if self.until is None:
            return
        now = datetime.datetime.now()
        hour, minute = map(int, self.until.split(":"))
        left = (now.replace(hour=hour, minute=minute, second=0) - now).total_seconds()
        if left < (self.decay + 1) * took:
            self.epochs, self.until = done + self.decay, None
        else:
            self.epochs = done + self.decay + 1


class Course:
    """A model learning pairs by a plan, with averaged weights and a checkpoint an epoch.

    Args:
        model: what learns.
        plan: its rates and lengths.
        folder: where ``newest.ckpt`` is written and read, and `report` may write more.
        report: called after each epoch with the averaged model and the number of epochs done.
        loss_of: the loss of the model on a batch.
        batches: makes an epoch's batches of the pairs.
    """

    def __init__(
        self,
        model: Any,
        plan: Plan,
        folder: Path,
        report: Callable[[Any, int], str],
        loss_of: Callable[[Pairs], rl.Tensor],
        batches: Batches = pair_batches,
    ):
        self.model, self.plan, self.folder, self.report = model, plan, folder, report
        self.loss_of, self.batches = loss_of, batches
        self.averaged = optim.swa_utils.AveragedModel(
            model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(plan.average)
        )
        self.optimizer = optim.AdamW(
            model.parameters(), plan.lr, betas=(0.9, 0.98), weight_decay=0.01
        )
        self.step = self.epoch = 0
        self.seconds = 0.0
        self.former: list[str] = []  # the recipes of plans that are done

    def run(self, rows: Pairs) -> Any:
        """Learn to the end of the plan; the averaged model, in evaluation mode."""
        self._go_on()
        while self.epoch < min(self.plan.epochs, self.plan.stop or self.plan.epochs):
            clock, begin = time.monotonic(), time.process_time()
            loss = self._one_epoch(rows)
            self.epoch += 1
            self.seconds += time.process_time() - begin
            self.plan.look_at_the_clock(self.epoch, time.monotonic() - clock)
            self._keep()
            said = self.report(self.averaged.module.eval(), self.epoch)
            print(
                f"epoch {self.epoch} of {self.plan.epochs}: {self.step} steps, loss {loss:.4f}, "
                f"{said}, {time.monotonic() - clock:.0f} s",
                flush=True,
            )
        return self.averaged.module.eval()

    def recipes(self) -> list[str]:
        """The options by which the same is trained again, one plan after the other."""
        return [*self.former, self._recipe()]

    def _recipe(self) -> str:
        said = f"--epochs {self.plan.epochs} --decay {self.plan.decay} --lr {self.plan.lr}"
        if self.plan.with_valid:
            said += " --with-valid"
        if self.epoch < self.plan.epochs:
            said += f" --stop {self.epoch}"
        return said

    def _one_epoch(self, rows: Pairs) -> float:
        rl.manual_seed(self.epoch)
        batches = self.batches(rows, self.plan.tokens, random.Random(self.epoch))
        self.model.train()
        total = 0.0
        for number, batch in enumerate(batches):
            factor = self.plan.rate(self.epoch + number / len(batches), self.step)
            for group in self.optimizer.param_groups:
                group["lr"] = self.plan.lr * factor
            loss = self.loss_of(batch)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.averaged.update_parameters(self.model)
            self.step += 1
            total += loss.item()
        return total / len(batches)

    def _keep(self) -> None:
        parts = {"model": self.model, "averaged": self.averaged, "optimizer": self.optimizer}
        state: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
        counts = [self.epoch, self.step, self.seconds, self.plan.epochs, self.recipes()]
        state["counts"] = json.dumps(counts)
        self.folder.mkdir(parents=True, exist_ok=True)
        rl.save(state, self.folder / "writing.ckpt")
        (self.folder / "writing.ckpt").replace(self.folder / "newest.ckpt")

    def _go_on(self) -> None:
        newest = self.folder / "newest.ckpt"
        if not newest.is_file():
            return
        state = rl.load(newest)
        for name in ("model", "averaged", "optimizer"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.step, self.seconds, epochs, recipes = json.loads(state["counts"])
        if self.epoch == epochs < self.plan.epochs:  # that plan is done, this one goes on
            self.former = recipes
        else:
            self.former, self.plan.epochs = recipes[:-1], epochs
        if self.plan.epochs - self.epoch <= self.plan.decay:
            self.plan.until = None  # the decay has begun, its end is fixed
        print(f"goes on from {newest} after {self.epoch} epochs", flush=True)
