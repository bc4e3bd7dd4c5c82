"""The bag of embeddings: its numbers, and that it learns."""

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.utils.data import DataLoader
from rushlight_text.data import collate_bags
from rushlight_text.models import EmbeddingBagClassifier


def test_forward_is_mean_then_linear():
    rl.manual_seed(0)
    model = EmbeddingBagClassifier(10, 4, 3)
    ids, offsets, _ = collate_bags([([1, 2, 2], 0), ([9], 0)])
    table = model.embedding.weight
    pooled = rl.stack([table[rl.tensor([1, 2, 2])].mean(0), table[9]])
    expected = pooled @ model.fc.weight.T + model.fc.bias
    assert rl.allclose(model(ids, offsets), expected, atol=1e-6)
    assert model(rl.tensor([[1, 2], [3, 4]])).shape == (2, 3)


def test_padding_counts_nothing():
    model = EmbeddingBagClassifier(10, 4, 3, padding_idx=0)
    padded = model(rl.tensor([[5, 6, 0, 0]]))
    assert rl.allclose(padded, model(rl.tensor([[5, 6]])), atol=1e-6)
    assert model.embedding.weight[0].tolist() == [0.0] * 4


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="num_class must be positive, got 0"):
        EmbeddingBagClassifier(10, 4, 0)


def test_learns_which_words_count():
    # Label 1 exactly when one of the ids 1 to 4 occurs among neutral ones; batches of both forms.
    rl.manual_seed(0)
    ids = rl.randint(10, 50, (400, 8))
    labels = (rl.arange(400) % 2).tolist()
    rows = ids.tolist()
    for place, label in enumerate(labels):
        if label:
            rows[place][place % 8] = 1 + place % 4
    pairs = list(zip(rows, labels, strict=True))
    loader = DataLoader(pairs[:300], batch_size=20, shuffle=True, collate_fn=collate_bags)
    model = EmbeddingBagClassifier(50, 8, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    for _ in range(10):
        for batch, offsets, targets in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch, offsets), targets).backward()
            optimizer.step()
    batch, offsets, targets = collate_bags(pairs[300:])
    right = (model(batch, offsets).argmax(1) == targets).sum().item()
    assert right >= 98, f"{right} of 100 right"
