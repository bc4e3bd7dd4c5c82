"""RichModelSummary: the table of layers, drawn by rich."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.model_summary import ModelSummary
from lightning_lite.utilities.model_summary import ModelSummary as Summary


class RichModelSummary(ModelSummary):
    """Prints the layers of the model with rich. `summarize_kwargs` go to `rich.table.Table`.

    Raises ModuleNotFoundError where rich is not installed.
    """

    def __init__(self, max_depth: int = 1, **summarize_kwargs: Any) -> None:
        try:
            import rich  # noqa: F401
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "RichModelSummary needs rich: pip install rushlight-lightning-lite[rich]"
            ) from error
        super().__init__(max_depth)
        self._table_options = summarize_kwargs

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Print the table."""
        from rich.console import Console
        from rich.table import Table

        summary = Summary(pl_module, self.max_depth)
        options = {"header_style": "bold", **self._table_options}
        table = Table(**options)
        columns = summary.columns()
        for title in columns:
            table.add_column(title, justify="right" if title == "params" else "left")
        for row in zip(*columns.values(), strict=True):
            table.add_row(*row)
        console = Console()
        console.print(table)
        console.print("\n".join(summary.totals()))
