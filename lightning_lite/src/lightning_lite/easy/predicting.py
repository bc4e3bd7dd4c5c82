"""What a Learner says of data: outputs of loaders, one item in words, pictures of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.printed import texts_shown
from lightning_lite.easy.data.samples import Samples
from lightning_lite.easy.data.showing import draw, grid, title_of
from lightning_lite.easy.data.sounds import sounds_shown
from rushlight import nn


class Predicting:
    """The part of Learner that predicts."""

    dls: Any
    model: Any
    module: Any
    train_dl: Any
    valid_dl: Any

    def _trainer(self, epochs: int, cbs: list[Any]) -> Any:
        raise NotImplementedError("Predicting is a part of Learner")

    def get_preds(
        self,
        dl: Any = None,
        ds_idx: int = 1,
        with_input: bool = False,
        with_decoded: bool = False,
        with_loss: bool = False,
        act: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, ...]:
        """Outputs and targets of the validation data, or of `dl`, each as one tensor; None for the
        targets of `dls.test_dl(items)`, which has none.

        Args:
            dl: a loader, or the number of one of the Learner's, as `ds_idx`.
            ds_idx: 0 for the training data, in the order of its loader, 1 for validation.
            with_input: give the inputs, too, before the outputs.
            with_decoded: give what outputs decide, as numbers, after the targets.
            with_loss: give the loss of each sample, last; it needs targets and a loss layer with
                `reduction`.
            act: what is done to outputs, by default the loss's `activation`: losses of this
                package give shares of classes, those of `rushlight.nn` have none.

        ValueError for another `ds_idx` and for losses without targets, TypeError for a loss without
        `reduction`.
        """
        inputs, outputs, target = self._gather(self._loader_of("get_preds", dl, ds_idx), with_input)
        found: tuple[Any, ...] = (self._activated(outputs) if act is None else act(outputs), target)
        if with_input:
            found = (inputs, *found)
        if with_decoded:
            found = (*found, self._decided(outputs)[1])
        return (*found, self._losses(outputs, target)) if with_loss else found

    def _loader_of(self, what: str, dl: Any, ds_idx: Any) -> Any:
        """A loader that was given, or the Learner's by number, which may come first."""
        if isinstance(dl, int) and not isinstance(dl, bool):
            dl, ds_idx = None, dl
        if ds_idx not in (0, 1):
            raise ValueError(f"{what}: ds_idx={ds_idx!r}; expected 0 (training) or 1")
        return dl if dl is not None else self.valid_dl if ds_idx else self.train_dl

    def _gather(self, dl: Any, with_input: bool = False) -> tuple[Any, Any, Any]:
        """Inputs if they are wanted, outputs as the network gives them, and targets."""
        self.module.keeps_inputs = with_input
        try:
            parts = self._trainer(1, []).predict(self.module, dl)
        finally:
            self.module.keeps_inputs = False
        inputs, outputs, targets = zip(*parts, strict=True)
        return self._joined(inputs), self._joined(outputs), self._joined(targets)

    def _joined(self, parts: Any) -> Any:
        """Parts of batches as one; a tuple of them where a batch has several."""
        if isinstance(parts[0], tuple):
            return tuple(rl.cat(each) for each in zip(*parts, strict=True))
        return None if parts[0] is None else rl.cat(parts)

    def _activated(self, outputs: Any) -> Any:
        """Outputs as the loss reads them."""
        return getattr(self.module.loss_func, "activation", lambda same: same)(outputs)

    def tta(
        self,
        ds_idx: int = 1,
        dl: Any = None,
        n: int = 4,
        item_tfms: Any = None,
        batch_tfms: Any = None,
        beta: float | None = 0.25,
        use_max: bool = False,
    ) -> tuple[Any, Any]:
        """Outputs and targets of samples that are seen several times, changed as in training.

        Args:
            ds_idx: 0 for the training data, 1 for validation.
            dl: another loader, of `dls.test_dl(items)` for example.
            n: how often they are seen with the transforms of training.
            item_tfms, batch_tfms: the transforms of samples and batches; by default the loaders'.
            beta: the weight of the outputs of samples as they are, beside the mean of the others;
                None gives both, the mean first.
            use_max: the largest of all outputs instead of means.

        TypeError without DataLoaders of samples, ValueError for another `ds_idx` or `n` below 1.
        """
        dls = self._loaders("tta")
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"tta: n={n!r}; expected an int from 1 on")
        samples = getattr(getattr(self._loader_of("tta", dl, ds_idx), "dataset", 0), "samples", 0)
        if not isinstance(samples, Samples):
            raise TypeError("tta: dl holds no samples; expected a loader of dls.test_dl(items)")
        changes = {"item_tfms": item_tfms, "batch_tfms": batch_tfms}
        seen = [self._seen(dls.loader_of(samples, 0, **changes)) for _ in range(n)]
        changed = rl.stack([outputs for outputs, _ in seen])
        plain, targets = self._seen(dls.loader_of(samples, 1, **changes))
        if use_max:
            return rl.maximum(plain, changed.amax(0)), targets
        mean = changed.mean(0)
        return (mean, plain) if beta is None else rl.lerp(mean, plain, beta), targets

    def _seen(self, dl: Any) -> tuple[Any, Any]:
        _, outputs, targets = self._gather(dl)
        return self._activated(outputs), targets

    def _losses(self, outputs: Any, targets: Any) -> Any:
        """The loss of each sample `(N,)`."""
        if targets is None:
            raise ValueError("get_preds: with_loss=True needs targets, and test_dl has none")
        with self.loss_not_reduced("get_preds: with_loss=True"):
            parts = targets if isinstance(targets, tuple) else (targets,)
            found = self.module.loss_func(outputs, *parts)
        return found.reshape(len(outputs), -1).mean(1)

    @contextmanager
    def loss_not_reduced(self, what: str = "loss_not_reduced") -> Iterator[None]:
        """Inside of the block the loss gives a number for each target. TypeError for a loss without
        `reduction`, which `what` cannot use."""
        loss = self.module.loss_func
        kind = getattr(loss, "reduction", None)
        if kind is None:
            raise TypeError(
                f"{what} needs a loss with `reduction`, such as nn.CrossEntropyLoss(); "
                f"loss_func has no `reduction`"
            )
        loss.reduction = "none"
        try:
            yield
        finally:
            loss.reduction = kind

    def _loaders(self, what: str) -> DataLoaders:
        if not isinstance(self.dls, DataLoaders):
            raise TypeError(
                f"{what} needs DataLoaders, of DataBlock or ImageDataLoaders; dls is a "
                f"{type(self.dls).__name__}"
            )
        return self.dls

    def predict(self, item: Any, with_input: bool = False) -> tuple[Any, ...]:
        """What an item is, as a person reads it; the same as a tensor; and the output: shares of
        the classes where the loss is cross entropy.

        Args:
            item: what the first getter gives of an item, such as a file.
            with_input: give the input first, as the network saw it: pictures as they are drawn.
        """
        dls = self._loaders("predict")
        inputs, outputs, _ = self._gather(dls.test_dl([item]), with_input)
        shares, decided = self._decided(outputs)
        found = dls.dsets.readers[-1].block.decode(decided[0]), decided[0], shares[0]
        return (self._input_seen(inputs), *found) if with_input else found

    def _input_seen(self, inputs: Any) -> Any:
        """The first sample of a batch of inputs as a person sees it."""
        parts = inputs if isinstance(inputs, tuple) else (inputs,)
        blocks = [reader.block for reader in self.dls.dsets.readers]
        seen = [
            self.dls.pictures_of(part)[0] if block.kind == "image" else block.decode(part[0])
            for part, block in zip(parts, blocks, strict=False)
        ]
        return seen[0] if len(seen) == 1 else tuple(seen)

    def _decided(self, outputs: Any) -> tuple[Any, Any]:
        """Outputs as shares of classes, and targets of them: as the loss says where it is one of
        this package, else by what targets are."""
        loss = self.module.loss_func
        if hasattr(loss, "decodes"):
            shares = loss.activation(outputs)
            return shares, loss.decodes(shares)
        kind = "category" if isinstance(loss, nn.CrossEntropyLoss) else "value"
        if isinstance(self.dls, DataLoaders):
            kind = self.dls.dsets.readers[-1].block.kind
        if kind == "text":
            return outputs, outputs.argmax(-1)
        if kind in ("category", "mask"):
            shares = outputs.softmax(1) if isinstance(loss, nn.CrossEntropyLoss) else outputs
            return shares, outputs.argmax(1)
        if kind == "categories":
            logits = isinstance(loss, nn.BCEWithLogitsLoss)
            shares = outputs.sigmoid() if logits else outputs
            return shares, shares > 0.5
        return outputs, outputs.reshape(len(outputs), -1, 2) if kind == "points" else outputs

    def show_results(
        self,
        max_n: int = 9,
        columns: int = 3,
        trunc_at: int | None = 150,
        spectrogram: bool = False,
    ) -> Any:
        """Show samples of validation with what they are, and what they are taken for: below each
        other above pictures and sounds, masks side by side, and in columns of a table of texts.
        Arguments and what comes back: see `DataLoaders.show_batch`."""
        dls = self._loaders("show_results")
        batch = next(iter(dls.valid))
        if dls.shown_kind == "text":
            _, decided = self._decided(self._gather([[batch]])[1])
            more = [("predicted", decided)]
            return texts_shown(dls.dsets.readers, batch, max_n, trunc_at, more)
        block = dls.target("show_results")
        _, outputs, targets = self._gather([[batch]])
        decided = self._decided(outputs)[1]
        if dls.shown_kind == "audio":
            pairs = zip(targets[:max_n], decided, strict=False)
            titles = ["\n".join(title_of(block.decode(each)) for each in pair) for pair in pairs]
            how = (columns, spectrogram)
            return sounds_shown("show_results", batch[0], titles, dls.sample_rate, how)
        return self._pictures_shown(batch, targets, decided, (max_n, columns))

    def _pictures_shown(self, batch: Any, targets: Any, decided: Any, how: tuple[int, int]) -> Any:
        """Pictures, at most so many, so many side by side, with what they are taken for."""
        dls, (max_n, columns) = self.dls, how
        block, pictures = dls.target("show_results"), dls.pictures_of(batch[0])
        count, masks = min(max_n, len(targets)), block.kind in ("mask", "points")
        figure, axes = grid("show_results", count * (1 + masks), 2 if masks else columns)
        for number in range(count):
            real, taken = block.decode(targets[number]), block.decode(decided[number])
            if masks:
                draw(axes[2 * number], pictures[number], block.kind, real, "actual")
                draw(axes[2 * number + 1], pictures[number], block.kind, taken, "predicted")
                continue
            title = f"{title_of(real)}\n{title_of(taken)}"
            draw(axes[number], pictures[number], block.kind, real, title)
        return figure
