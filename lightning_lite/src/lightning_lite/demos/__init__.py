"""Small models and data for trying things out; upstream's examples and tests import them.

They import the public classes only. Begin reading at `boring_classes.py`.
"""

from lightning_lite.lazy import attach

HOMES = {
    "BoringDataModule": "demos.boring_classes",
    "BoringModel": "demos.boring_classes",
    "DemoModel": "demos.boring_classes",
    "LightningLSTM": "demos.lstm",
    "LightningTransformer": "demos.transformer",
    "SequenceSampler": "demos.lstm",
    "SimpleLSTM": "demos.lstm",
    "Transformer": "demos.transformer",
    "WikiText2": "demos.transformer",
}
__all__ = sorted(HOMES)
__getattr__ = attach(__name__, HOMES)
