"""Small models of dense layers and tables: their steps take well under 5 ms."""

from __future__ import annotations


def mlp(library):
    """784-128-10, batch 64, Adam."""
    nn = library.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    images, labels = library.randn(64, 784), library.randint(0, 10, (64,))
    return model, lambda: nn.functional.cross_entropy(model(images), labels)


def autoencoder(library):
    """784-256-64-256-784, batch 64, mean squared error."""
    nn = library.nn
    sizes = (784, 256, 64, 256, 784)
    layers = []
    for a, b in zip(sizes, sizes[1:]):  # noqa: B905 - neighbours
        layers += [nn.Linear(a, b), nn.ReLU()]
    layers[-1] = nn.Sigmoid()
    model, images = nn.Sequential(*layers), library.rand(64, 784)
    return model, lambda: nn.functional.mse_loss(model(images), images)


def embedding_bag_classifier(library):
    """20,000 words, bags of 32, 64 features, 4 classes, batch 64."""
    nn = library.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(20_000, 64, mode="mean")
            self.head = nn.Linear(64, 4)

        def forward(self, words):
            return self.head(self.bag(words))

    model = Classifier()
    words, labels = library.randint(0, 20_000, (64, 32)), library.randint(0, 4, (64,))
    return model, lambda: nn.functional.cross_entropy(model(words), labels)


def deep_q_network(library):
    """One temporal-difference step: 8 observations, 2 hidden layers of 128, batch 128."""
    nn = library.nn

    def network():
        return nn.Sequential(
            nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 4)
        )

    model, target = network(), network()
    target.load_state_dict(model.state_dict())
    states, following = library.randn(128, 8), library.randn(128, 8)
    actions, rewards = library.randint(0, 4, (128, 1)), library.randn(128)
    done = (library.rand(128) < 0.1).float()

    def loss():
        values = model(states).gather(1, actions).squeeze(1)
        with library.no_grad():
            goal = rewards + 0.99 * (1 - done) * target(following).max(1).values
        return nn.functional.smooth_l1_loss(values, goal)

    return model, loss


def matrix_factorization(library):
    """2,000 users, 3,000 items, 32 factors and biases, batch 1,024."""
    nn = library.nn

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.items = nn.Embedding(2000, 32), nn.Embedding(3000, 32)
            self.user_bias, self.item_bias = nn.Embedding(2000, 1), nn.Embedding(3000, 1)

        def forward(self, users, items):
            product = (self.users(users) * self.items(items)).sum(1)
            return product + self.user_bias(users).squeeze(1) + self.item_bias(items).squeeze(1)

    model = Factors()
    users, items = library.randint(0, 2000, (1024,)), library.randint(0, 3000, (1024,))
    ratings = library.rand(1024) * 5
    return model, lambda: nn.functional.mse_loss(model(users, items), ratings)
