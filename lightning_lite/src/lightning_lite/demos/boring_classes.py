"""The least model that can be trained, on random data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as rl
from lightning_lite.datamodule import LightningDataModule
from lightning_lite.module import LightningModule
from rushlight import nn
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, Subset


class RandomDataset(Dataset):
    """`length` rows of `size` random numbers."""

    def __init__(self, size: int, length: int) -> None:
        self.len = length
        self.data = rl.randn(length, size)

    def __getitem__(self, index: int) -> Any:
        return self.data[index]

    def __len__(self) -> int:
        return self.len


class RandomDictDataset(RandomDataset):
    """Rows in dictionaries: `a`, and `b`, which is 2 more."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.data[index]
        return {"a": row, "b": row + 2}


class RandomIterableDataset(IterableDataset):
    """`count` rows of `size` random numbers, one after another."""

    def __init__(self, size: int, count: int) -> None:
        self.size, self.count = size, count

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self.count):
            yield rl.randn(self.size)


class RandomIterableDatasetWithLen(RandomIterableDataset):
    """The same, with a length."""

    def __len__(self) -> int:
        return self.count


class BoringModel(LightningModule):
    """One linear layer from 32 to 2, whose outputs should all be 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 2)

    def forward(self, x: Any) -> Any:
        """The layer's output."""
        return self.layer(x)

    def loss(self, preds: Any, labels: Any = None) -> Any:
        """Mean squared distance to `labels`, by default to 1."""
        labels = rl.ones_like(preds) if labels is None else labels
        return nn.functional.mse_loss(preds, labels)

    def step(self, batch: Any) -> Any:
        """The loss of a batch."""
        return self.loss(self(batch))

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss, as `loss`."""
        return {"loss": self.step(batch)}

    def validation_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss, as `x`."""
        return {"x": self.step(batch)}

    def test_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss, as `y`."""
        return {"y": self.step(batch)}

    def configure_optimizers(self) -> Any:
        """SGD whose rate falls to a tenth every epoch."""
        optimizer = rl.optim.SGD(self.parameters(), lr=0.1)
        return [optimizer], [rl.optim.lr_scheduler.StepLR(optimizer, step_size=1)]

    def train_dataloader(self) -> Any:
        """64 rows."""
        return DataLoader(RandomDataset(32, 64))

    def val_dataloader(self) -> Any:
        """64 rows."""
        return DataLoader(RandomDataset(32, 64))

    def test_dataloader(self) -> Any:
        """64 rows."""
        return DataLoader(RandomDataset(32, 64))

    def predict_dataloader(self) -> Any:
        """64 rows."""
        return DataLoader(RandomDataset(32, 64))


class BoringDataModule(LightningDataModule):
    """64 rows of random numbers for each kind of run."""

    def __init__(self) -> None:
        super().__init__()
        self.random_full: Any = RandomDataset(32, 64 * 4)
        self.random_train: Any = None
        self.random_val: Any = None
        self.random_test: Any = None
        self.random_predict: Any = None

    def setup(self, stage: str) -> None:
        """Divide the rows."""
        for number, kind in enumerate(("train", "val", "test", "predict")):
            rows = range(number * 64, (number + 1) * 64)
            setattr(self, f"random_{kind}", Subset(self.random_full, rows))

    def train_dataloader(self) -> Any:
        """The rows for training."""
        return DataLoader(self.random_train)

    def val_dataloader(self) -> Any:
        """The rows for validation."""
        return DataLoader(self.random_val)

    def test_dataloader(self) -> Any:
        """The rows for testing."""
        return DataLoader(self.random_test)

    def predict_dataloader(self) -> Any:
        """The rows for prediction."""
        return DataLoader(self.random_predict)


class BoringDataModuleNoLen(LightningDataModule):
    """Rows that come one after another, without a length."""

    def _loader(self) -> Any:
        return DataLoader(RandomIterableDataset(32, 64))

    train_dataloader = val_dataloader = test_dataloader = predict_dataloader = _loader


class IterableBoringDataModule(LightningDataModule):
    """Two training data sets of rows that come one after another."""

    def train_dataloader(self) -> Any:
        """Two loaders."""
        return [DataLoader(RandomIterableDataset(32, 64)) for _ in range(2)]


class ManualOptimBoringModel(BoringModel):
    """`BoringModel`, which steps its optimizer itself."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """Step; the loss."""
        optimizer = self.optimizers()
        loss = self.step(batch)
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        return loss


class DemoModel(LightningModule):
    """One linear layer from 32 to `out_dim`, trained with Adam to outputs of 0."""

    def __init__(self, out_dim: int = 10, learning_rate: float = 0.02) -> None:
        super().__init__()
        self.l1 = nn.Linear(32, out_dim)
        self.learning_rate = learning_rate

    def forward(self, x: Any) -> Any:
        """The layer's output, without negative numbers."""
        return rl.relu(self.l1(x))

    def training_step(self, batch: Any, batch_nb: int) -> Any:
        """The sum of the outputs, as `loss`."""
        return {"loss": self(batch).sum()}

    def configure_optimizers(self) -> Any:
        """Adam."""
        return rl.optim.Adam(self.parameters(), lr=self.learning_rate)


class Net(nn.Module):
    """A small convolutional network for digits of 28 by 28 pixels: log probabilities of 10."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, 1)
        self.conv2 = nn.Conv2d(32, 64, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        """Log probabilities, `(N, 10)`, of pictures `(N, 1, 28, 28)`."""
        x = rl.relu(self.conv2(rl.relu(self.conv1(x))))
        x = self.dropout1(nn.functional.max_pool2d(x, 2)).flatten(1)
        x = self.fc2(self.dropout2(rl.relu(self.fc1(x))))
        return nn.functional.log_softmax(x, dim=1)
