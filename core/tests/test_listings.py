"""Programs people know from PyTorch run as written, the import's name changed."""

import gzip
import struct

import numpy as np
import pytest

import rushlight
import rushlight as torch
import rushlight.nn as nn
import rushlight.optim as optim
from rushlight.utils.data import DataLoader, TensorDataset


def test_tensor_creation_and_device():
    x = torch.tensor([[1, 2], [3, 4]])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    y = torch.rand(2, 2).to(device)
    assert (x + y).shape == torch.Size([2, 2]) and y.device == device


def test_polynomial_derivative_is_eight():
    x = torch.tensor(3.0, requires_grad=True)
    y = x**2 + 2 * x + 1
    y.backward()
    assert x.grad == 8.0


class SimpleNet(nn.Module):
    def __init__(self):
        super(SimpleNet, self).__init__()  # noqa: UP008 - the listing as people wrote it
        self.fc1 = nn.Linear(784, 128)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = x.view(-1, 784)
        return self.fc2(self.relu(self.fc1(x)))


def test_first_weights_are_torchs():
    real = pytest.importorskip("torch")
    rushlight.manual_seed(0)
    real.manual_seed(0)
    ours, theirs = nn.Linear(784, 128), real.nn.Linear(784, 128)
    np.testing.assert_array_equal(ours.weight.detach().numpy(), theirs.weight.detach().numpy())
    np.testing.assert_array_equal(ours.bias.detach().numpy(), theirs.bias.detach().numpy())


def test_training_loop():
    torch.manual_seed(0)
    centres = torch.randn(10, 784)
    labels = torch.randint(0, 10, (320,))
    images = (centres[labels] + 0.5 * torch.randn(320, 784)).reshape(320, 1, 28, 28)
    train_loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)
    model = SimpleNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.001)
    for _ in range(5):
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(data), target)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(images).argmax(dim=1) == labels).float().mean()
    assert accuracy.item() > 0.95 and loss.item() < 0.5


def test_whole_training_runs_agree_with_torch():
    real = pytest.importorskip("torch")
    images = np.random.default_rng(0).standard_normal((64, 1, 12, 12)).astype(np.float32)
    labels = np.random.default_rng(1).integers(0, 4, 64)
    losses = []
    for library in (rushlight, real):
        library.manual_seed(0)
        layers = library.nn
        model = layers.Sequential(
            layers.Conv2d(1, 4, 3, padding=1), layers.BatchNorm2d(4), layers.ReLU(),
            layers.MaxPool2d(2), layers.Flatten(), layers.Dropout(0.2), layers.Linear(144, 4),
        )  # fmt: skip
        optimizer = library.optim.Adam(model.parameters(), lr=0.01)
        x, y = library.tensor(images), library.tensor(labels)
        steps = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = layers.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            steps.append(loss.item())
        losses.append(steps)
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_idx_files_of_mnist_read_as_tensors(tmp_path):
    pixels = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 2, 28, 28) + pixels.tobytes()))
    raw = gzip.decompress(path.read_bytes())
    found = torch.frombuffer(bytearray(raw[16:]), dtype=torch.uint8).reshape(2, 28, 28)
    np.testing.assert_array_equal(found.numpy(), pixels)


@pytest.mark.parametrize("name", ["clamp_", "layer_norm", "load", "FloatTensor", "logaddexp"])
def test_names_found_late_are_found_once(name):
    found = getattr(rushlight, name)
    assert vars(rushlight)[name] is found is getattr(rushlight, name)
