"""What a Learner takes for what, and where it is most wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import rushlight as rl
from lightning_lite.easy.data.showing import draw, grid, pyplot, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight import Tensor
    from rushlight.utils.data import Dataset


class Interpretation:
    """Outputs, targets and losses of a Learner's validation data.

    Args:
        outputs: the network's, or shares of classes `(N, C)` or `(N, C, H, W)`.
        targets: as the loss takes them.
        losses: one for each sample `(N,)`.
        vocab: the names of the classes; None where there are none.
        dataset: the samples, for `plot_top_losses`.
    """

    def __init__(
        self,
        outputs: Tensor,
        targets: Tensor,
        losses: Tensor,
        vocab: Sequence[str] | None = None,
        dataset: Dataset | Sequence[Any] | None = None,
    ) -> None:
        self.dataset: Any = dataset
        self.outputs, self.targets, self.losses = outputs, targets, losses
        self.vocab = None if vocab is None else list(vocab)

    @classmethod
    def from_learner(
        cls, learn: Any, ds_idx: int = 1, dl: Any = None, act: Any = None, vocab: Any = None
    ) -> Self:
        """Predict the data of a Learner.

        Args:
            ds_idx: 0 for the training data, 1 for validation.
            dl: another loader.
            act: what is done to outputs, by default the loss's `activation`.
            vocab: the names of the classes, by default those of the Learner's data.

        TypeError for a loss without `reduction`.
        """
        dl = learn._loader_of(cls.__name__, dl, ds_idx)
        outputs, targets, losses = learn.get_preds(dl, with_loss=True, act=act)
        names = _classes(learn, outputs.shape[1]) if vocab is None else vocab
        return cls(outputs, targets, losses, names, getattr(dl, "dataset", None))

    def top_losses(self, k: int | None = None, largest: bool = True) -> tuple[Any, Any]:
        """The `k` largest losses (all by default; `largest=False`: smallest) and their positions in
        the data."""
        found = self.losses.topk(len(self.losses) if k is None else k, largest=largest)
        return found.values, found.indices

    def plot_top_losses(self, dataset: Any = None, k: int = 9, columns: int = 3) -> Any:
        """Draw the pictures of a data set, by default the Learner's, with the `k` largest losses,
        with what they are taken for, what they are, and the loss; matplotlib's figure. Items are
        `(picture, target)` with pictures `(C, H, W)` or `(H, W)`. `plot_top_losses(k)`, as in
        fastai, is taken too."""
        dataset, k = self._samples(dataset, k)
        losses, positions = self.top_losses(min(k, len(self.losses)))
        figure, axes = grid("plot_top_losses", len(positions), columns)
        pairs = zip(losses.tolist(), positions.tolist(), axes, strict=False)
        for loss, position, ax in pairs:
            picture = rl.as_tensor(dataset[position][0]).detach()
            if picture.ndim == 3:
                picture = picture.permute(1, 2, 0) if picture.shape[0] > 1 else picture[0]
            ax.imshow(_shown(picture).numpy(), cmap="gray" if picture.ndim == 2 else None)
            ax.set_title(f"{self._taken(position)} / {loss:.2f}", fontsize=9)
        figure.suptitle("predicted / actual / loss")
        return figure

    def _samples(self, dataset: Any, k: int) -> tuple[Any, int]:
        """The samples to draw, and how many."""
        if isinstance(dataset, int) and self.dataset is not None:
            dataset, k = None, dataset
        dataset = self.dataset if dataset is None else dataset
        if not hasattr(dataset, "__getitem__"):
            raise TypeError(
                f"plot_top_losses: dataset is a {type(dataset).__name__}; expected the data set of "
                "the loader that was predicted, such as learn.valid_dl.dataset"
            )
        return dataset, k

    def _taken(self, position: int) -> str:
        """What a sample is taken for, and what it is."""
        output, target = self.outputs[position], self.targets[position]
        return " / ".join(
            title_of(each.tolist() if each.numel() > 1 else each.item())
            for each in (output, target)
        )


class ClassificationInterpretation(Interpretation):
    """What a classifier takes for what: outputs, targets and losses of validation data.

    `vocab`: the names of the classes; by default their numbers, of a Learner those of its data.
    Other arguments: see `Interpretation`. ValueError where names and classes are not as many.
    """

    def __init__(
        self,
        outputs: Tensor,
        targets: Tensor,
        losses: Tensor,
        vocab: Sequence[str] | None = None,
        dataset: Dataset | Sequence[Any] | None = None,
    ) -> None:
        count = outputs.shape[1]
        names = [str(number) for number in range(count)] if vocab is None else list(vocab)
        super().__init__(outputs, targets, losses, names, dataset)
        self.vocab: list[str] = names
        self.decoded = outputs.argmax(1)
        if len(names) != count:
            raise ValueError(
                f"ClassificationInterpretation: {len(names)} names for {count} classes"
            )

    def _taken(self, position: int) -> str:
        taken, real = self.decoded[position], self.targets[position]
        return f"{self.vocab[int(taken)]} / {self.vocab[int(real)]}"

    def confusion_matrix(self, normalize: bool = False) -> Any:
        """How often each class (row) was taken for each (column), `(C, C)`; with `normalize` as
        shares of the rows."""
        count = len(self.vocab)
        pairs = self.targets * count + self.decoded
        found = rl.bincount(pairs, minlength=count * count).reshape(count, count)
        return found / found.sum(1, keepdim=True).clamp(min=1) if normalize else found

    def most_confused(self, min_val: int = 1) -> list[tuple[str, str, int]]:
        """Pairs of classes that were taken for another at least `min_val` times, the most frequent
        first: what it was, what it was taken for, how often."""
        matrix = self.confusion_matrix().tolist()
        found = [
            (self.vocab[row], self.vocab[column], number)
            for row, numbers in enumerate(matrix)
            for column, number in enumerate(numbers)
            if row != column and number >= min_val
        ]
        return sorted(found, key=lambda each: -each[2])

    def report(self) -> dict[str, dict[str, float]]:
        """Precision, recall, F1 and number of examples of every class."""
        matrix = self.confusion_matrix().double()
        hits, taken, there = matrix.diagonal(), matrix.sum(0), matrix.sum(1)
        found = {}
        for number, name in enumerate(self.vocab):
            hit, seen, real = (float(each[number]) for each in (hits, taken, there))
            found[name] = {
                "precision": hit / seen if seen else 0.0,
                "recall": hit / real if real else 0.0,
                "f1": 2 * hit / (seen + real) if seen + real else 0.0,
                "support": int(real),
            }
        return found

    def print_classification_report(self) -> None:
        """Print precision, recall, F1 and number of examples of every class, as a table."""
        rows = self.report()
        width = max(len(str(name)) for name in (*rows, "class"))
        print(f"{'class':>{width}}  precision  recall      f1  support")
        for name, row in rows.items():
            shares = f"{row['precision']:>9.3f}  {row['recall']:>6.3f}  {row['f1']:>6.3f}"
            print(f"{name!s:>{width}}  {shares}  {row['support']:>7}")

    def plot_confusion_matrix(self, normalize: bool = False, ax: Any = None) -> Any:
        """Draw the confusion matrix; matplotlib's axes. Needs the extra `plot`."""
        plt = pyplot("plot_confusion_matrix")
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        matrix = self.confusion_matrix(normalize).tolist()
        ax.imshow(matrix, cmap="Blues")
        darkest = max(map(max, matrix))
        for row, numbers in enumerate(matrix):
            for column, number in enumerate(numbers):
                color = "white" if number > darkest / 2 else "black"
                text = f"{number:.2f}" if normalize else str(number)
                ax.text(column, row, text, ha="center", va="center", color=color)
        marks = range(len(self.vocab))
        ax.set_xticks(marks, self.vocab, rotation=90)
        ax.set_yticks(marks, self.vocab)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual")
        ax.set_title("confusion matrix")
        return ax


class SegmentationInterpretation(Interpretation):
    """Where masks are most wrong: outputs `(N, C, H, W)`, targets `(N, H, W)` and the mean loss of
    the pixels of each sample. Arguments: see `Interpretation`."""

    def plot_top_losses(self, dataset: Any = None, k: int = 3, columns: int = 2) -> Any:
        """Draw the pictures with the `k` largest losses, each with its mask and beside it with the
        mask that was taken for it; matplotlib's figure. Arguments: see `Interpretation`."""
        dataset, k = self._samples(dataset, k)
        losses, positions = self.top_losses(min(k, len(self.losses)))
        figure, axes = grid("plot_top_losses", 2 * len(positions), columns)
        worst = zip(losses.tolist(), positions.tolist(), strict=True)
        for row, (loss, position) in enumerate(worst):
            picture = _shown(rl.as_tensor(dataset[position][0]).detach().float())
            masks = self.targets[position], self.outputs[position].argmax(0)
            for side, (mask, what) in enumerate(zip(masks, ("actual", "predicted"), strict=True)):
                draw(axes[2 * row + side], picture, "mask", mask, f"{what}, loss {loss:.2f}")
        return figure


def _classes(learn: Any, count: int) -> Any:
    """The names of a Learner's `count` classes; None where its data has no such names."""
    vocab = getattr(learn.dls, "vocab", None)
    if isinstance(vocab, list | tuple) and vocab and isinstance(vocab[-1], list):
        vocab = vocab[-1]  # of texts: words, then classes
    return vocab if isinstance(vocab, list) and len(vocab) == count else None


def _shown(picture: Any) -> Any:
    """A picture whose numbers were normalized, spread over 0 to 1; others as they are."""
    low, high = picture.min(), picture.max()
    if not picture.is_floating_point() or (low >= 0 and high <= 1):
        return picture
    return (picture - low) / (high - low).clamp(min=1e-12)
