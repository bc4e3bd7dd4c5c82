"""What a Learner says of data: outputs of loaders, one item in words, pictures of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.printed import texts_shown
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
        with_decoded: bool = False,
        with_loss: bool = False,
        act: Callable[[Any], Any] | None = None,
    ) -> tuple[Any, ...]:
        """Outputs and targets of the validation data, or of `dl`, each as one tensor; None for the
        targets of `dls.test_dl(items)`, which has none.

        `ds_idx`: 0 for the training data, in the order of its loader; as in fastai it may come
        first. `act`: what is done to outputs. `with_decoded` adds what outputs decide, as numbers;
        `with_loss` the loss of each sample, which needs targets and a loss layer with `reduction`.
        """
        if isinstance(dl, int) and not isinstance(dl, bool):
            dl, ds_idx = None, dl
        if ds_idx not in (0, 1):
            raise ValueError(f"get_preds: ds_idx={ds_idx!r}; expected 0 (training) or 1")
        usual = self.valid_dl if ds_idx else self.train_dl
        trainer = self._trainer(1, [])
        pairs = trainer.predict(self.module, usual if dl is None else dl)
        parts, targets = zip(*pairs, strict=True)
        outputs = rl.cat(parts)
        target: Any = None
        if isinstance(targets[0], tuple):
            target = tuple(rl.cat(each) for each in zip(*targets, strict=True))
        elif targets[0] is not None:
            target = rl.cat(targets)
        found: tuple[Any, ...] = (outputs if act is None else act(outputs), target)
        if with_decoded:
            found = (*found, self._decided(outputs)[1])
        return (*found, self._losses(outputs, target)) if with_loss else found

    def _losses(self, outputs: Any, targets: Any) -> Any:
        """The loss of each sample `(N,)`."""
        if targets is None:
            raise ValueError("get_preds: with_loss=True needs targets, and test_dl has none")
        loss = self.module.loss_func
        kind = getattr(loss, "reduction", None)
        if kind is None:
            raise TypeError(
                "get_preds: the loss has no `reduction`; use a loss layer such as "
                "nn.CrossEntropyLoss() for with_loss=True"
            )
        loss.reduction = "none"
        try:
            found = loss(outputs, *(targets if isinstance(targets, tuple) else (targets,)))
        finally:
            loss.reduction = kind
        return found.reshape(len(outputs), -1).mean(1)

    def _loaders(self, what: str) -> DataLoaders:
        if not isinstance(self.dls, DataLoaders):
            raise TypeError(
                f"{what} needs DataLoaders, of DataBlock or ImageDataLoaders; dls is a "
                f"{type(self.dls).__name__}"
            )
        return self.dls

    def predict(self, item: Any) -> tuple[Any, Any, Any]:
        """What an item is, as a person reads it; the same as a tensor; and the output: shares of
        the classes where the loss is cross entropy."""
        dls = self._loaders("predict")
        outputs, _ = self.get_preds(dls.test_dl([item]))
        shares, decided = self._decided(outputs)
        return dls.dsets.readers[-1].block.decode(decided[0]), decided[0], shares[0]

    def _decided(self, outputs: Any) -> tuple[Any, Any]:
        """Outputs as shares of classes, and targets of them."""
        loss = self.module.loss_func
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
            _, decided = self._decided(self.get_preds([[batch]])[0])
            more = [("predicted", decided)]
            return texts_shown(dls.dsets.readers, batch, max_n, trunc_at, more)
        block = dls.target("show_results")
        outputs, targets = self.get_preds([[batch]])
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
