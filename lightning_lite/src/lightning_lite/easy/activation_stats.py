"""ActivationStats: means, deviations and histograms of what layers give while they learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.easy.data.showing import pyplot
from rushlight import nn

BINS, LARGEST = 40, 10.0  # of histograms
NEAR_ZERO = 0.05
KINDS = ("mean", "std", "near_zero")


class ActivationStats(Callback):
    """Notes the mean, the standard deviation and the share of values up to 0.05 of every layer's
    output, for each batch of a training.

    `with_hist`: also their histogram, 40 bins from 0 to 10; `modules`: which layers, by default all
    that have parameters of their own, in the order of the network, with `include_paramless` all
    without layers inside; `every`: only each so-many-th batch. `stats` has a list for each batch,
    with a dict for each layer.

    >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> ActivationStats(modules=[net[1]], every=10).every
    10
    """

    def __init__(
        self,
        with_hist: bool = False,
        modules: Sequence[nn.Module] | None = None,
        every: int | None = None,
        include_paramless: bool = False,
    ) -> None:
        super().__init__()
        if every is not None and every < 1:
            raise ValueError(f"ActivationStats: every={every!r}; expected None or an int from 1 on")
        self.with_hist, self.every, self.include_paramless = with_hist, every, include_paramless
        self._given = modules
        self.modules: list[nn.Module] = []
        self.stats: list[list[dict[str, Any]]] = []
        self._row: list[dict[str, Any]] | None = None
        self._hooks: list[Any] = []

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Watch the layers; earlier statistics are forgotten."""
        network = getattr(pl_module, "model", pl_module)
        self.modules = self._leaves(network) if self._given is None else list(self._given)
        self.stats = []
        self._hooks = [
            each.register_forward_hook(self._noting(n)) for n, each in enumerate(self.modules)
        ]

    def _leaves(self, network: nn.Module) -> list[nn.Module]:
        leaves = [each for each in network.modules() if not any(True for _ in each.children())]
        return [
            each
            for each in leaves
            if self.include_paramless or any(True for _ in each.parameters())
        ]

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at this batch, if it is one of those."""
        if self.every is None or trainer.fit_loop.total_batch_idx % self.every == 0:
            self._row = [{} for _ in self.modules]

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Keep what was seen."""
        if self._row is not None:
            self.stats.append(self._row)
            self._row = None

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Watch no more."""
        for hook in self._hooks:
            hook.remove()
        self._hooks, self._row = [], None

    def _noting(self, number: int) -> Any:
        def note(module: nn.Module, inputs: Any, output: Any) -> None:
            if self._row is not None and module.training and isinstance(output, rl.Tensor):
                self._row[number] = self._of(output.detach().float())

        return note

    def _of(self, values: rl.Tensor) -> dict[str, Any]:
        found: dict[str, Any] = {
            "mean": values.mean().item(),
            "std": values.std().item(),
            "near_zero": values.le(NEAR_ZERO).float().mean().item(),
        }
        if self.with_hist:
            found["hist"] = values.cpu().histc(BINS, 0, LARGEST)
        return found

    def layer_stats(self, idx: int) -> list[list[float]]:
        """Means, standard deviations and shares near zero of a layer, each by batch."""
        return [[row[idx][kind] for row in self.stats] for kind in KINDS]

    def hist(self, idx: int) -> rl.Tensor:
        """The logarithms of one plus a layer's histograms, `(40, batches)`. TypeError without
        ``with_hist=True``."""
        if not self.with_hist:
            raise TypeError("ActivationStats.hist: none were noted; expected with_hist=True")
        return rl.stack([row[idx]["hist"] for row in self.stats]).t().log1p()

    def plot_layer_stats(self, idx: int) -> Any:
        """Draw what :meth:`layer_stats` gives; matplotlib's figure. Needs the extra `plot`."""
        figure, axes = pyplot("plot_layer_stats").subplots(
            1, len(KINDS), figsize=(12, 3), layout="constrained"
        )
        for ax, kind, values in zip(axes, KINDS, self.layer_stats(idx), strict=True):
            ax.plot(values)
            ax.set_title(kind.replace("_", " "))
            ax.set_xlabel("batch")
        return figure

    def color_dim(self, idx: int, ax: Any = None) -> Any:
        """Draw a layer's histograms as colours, batches from left to right; matplotlib's axes.
        Needs the extra `plot`."""
        if ax is None:
            ax = pyplot("color_dim").subplots(figsize=(10, 5), layout="constrained")[1]
        ax.imshow(self.hist(idx).numpy(), origin="lower", aspect="auto")
        ax.set_xlabel("batch")
        ax.set_ylabel("bin")
        return ax
