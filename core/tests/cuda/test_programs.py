"""Whole training programs on a CUDA device: equal to the CPU, nothing waits, all of it captured."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn
from rushlight.compiler.cuda import array_code
from rushlight.machine.cuda import runtime

functional = nn.functional


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(10, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.GELU(),
            nn.Linear(32, 5),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)

    @staticmethod
    def batch():
        return rushlight.randn(16, 10), rushlight.randint(0, 5, (16,))


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)])

    def forward(self, x):
        y = self.norms[0](self.first(x)).relu()
        return (x + self.norms[1](self.second(y))).relu()


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.blocks(self.pool(self.stem(x)))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))

    @staticmethod
    def batch():
        return rushlight.randn(4, 3, 16, 16), rushlight.randint(0, 5, (4,))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.projection, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.projection(self.norms[0](x)).chunk(3, -1)
        query, key, value = [
            p.reshape(batch, length, self.heads, -1).transpose(1, 2) for p in parts
        ]
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(batch, length, -1))
        return x + self.down(functional.gelu(self.up(self.norms[1](x))))


class GPT(nn.Module):
    def __init__(self, words=20, width=16, length=8):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(Layer(width, 2), Layer(width, 2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        places = rushlight.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.layers(self.words(tokens) + self.places(places))))

    @staticmethod
    def batch():
        return rushlight.randint(0, 20, (3, 8)), rushlight.randint(0, 20, (3, 8))


OPTIMIZERS = {
    "sgd": lambda p: rushlight.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda p: rushlight.optim.AdamW(p, lr=1e-2, eps=1e-4, capturable=p[0].is_cuda),
}
MODELS = [MLP, ResNet, GPT]


def start(model, device, optimizer):
    """A model with its optimizer, the same on every device."""
    rushlight.manual_seed(0)
    made = model().to(device)
    return made, OPTIMIZERS[optimizer](list(made.parameters()))


def batches(model, count, device):
    """The same batches on every device."""
    rushlight.manual_seed(1)
    return [tuple(t.to(device) for t in model.batch()) for _ in range(count)]


def step(model, optimizer, x, y):
    """One training step; its loss."""
    optimizer.zero_grad(set_to_none=False)
    scores = model(x)
    loss = functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def train(model, device, optimizer, count=4):
    """Losses and parameters after some steps."""
    made, optimizer = start(model, device, optimizer)
    losses = [step(made, optimizer, *batch) for batch in batches(model, count, device)]
    return [loss.item() for loss in losses], [p.detach().cpu() for p in made.state_dict().values()]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_is_that_of_the_cpu(model, optimizer):
    losses, parameters = train(model, "cpu", optimizer)
    found, there = train(model, "cuda", optimizer)
    assert found == pytest.approx(losses, rel=1e-4)
    for a, b in zip(parameters, there, strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_a_step_waits_for_nothing_and_is_made_of_kernels(model):
    made, optimizer = start(model, "cuda", "sgd")
    data = batches(model, 4, "cuda")
    for batch in data[:2]:
        step(made, optimizer, *batch)
    counters = runtime.current().counters
    before, code = counters.snapshot(), array_code.functions.copy()
    for batch in data[2:]:
        step(made, optimizer, *batch)
    since = counters.since(before)
    assert since["synchronizations"] == since["copies_in"] == since["copies_out"] == 0
    assert since["compilations"] == 0
    assert not array_code.functions - code, "a step ran array code"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_a_captured_step_is_the_eager_one(model, optimizer):
    expected, _ = train(model, "cuda", optimizer, 6)
    made, optimizer = start(model, "cuda", optimizer)
    data = batches(model, 6, "cuda")
    held = [t.clone() for t in data[0]]
    found = []

    def fill(batch):
        for target, value in zip(held, batch, strict=True):
            target.copy_(value)

    stream = rushlight.cuda.Stream()
    with rushlight.cuda.stream(stream):
        for batch in data[:3]:
            fill(batch)
            found.append(step(made, optimizer, *held).item())
    graph = rushlight.cuda.CUDAGraph()
    with rushlight.cuda.graph(graph):
        loss = step(made, optimizer, *held)
    counters = runtime.current().counters
    for batch in data[3:]:
        fill(batch)
        before = counters.snapshot()
        graph.replay()
        assert counters.since(before)["launches"] == 0, "a replay is one launch of a graph"
        found.append(loss.item())
    assert found == expected


def test_low_precision_training_goes_down():
    made, optimizer = start(MLP, "cuda", "adamw")
    (batch,) = batches(MLP, 1, "cuda")
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        with rushlight.autocast("cuda", dtype=rushlight.bfloat16):
            loss = functional.cross_entropy(made(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_recurrent_layers_train():
    def losses(device):
        rushlight.manual_seed(0)
        layer = nn.LSTM(3, 4).to(device)
        optimizer = rushlight.optim.SGD(layer.parameters(), lr=0.1)
        value = rushlight.randn(5, 2, 3).to(device)
        found = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = layer(value)[0].square().mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    assert losses("cuda") == pytest.approx(losses("cpu"), rel=1e-4)


def test_compiled_chains_are_one_kernel_each_way():
    def activation(a, b):
        return ((a * b + 1).relu() * 2).tanh() - a

    def gradients(function, device):
        rushlight.manual_seed(0)
        a, b = rushlight.randn(300).to(device).requires_grad_(), rushlight.randn(300).to(device)
        counters = runtime.current().counters
        function(a, b).sum().backward()
        a.grad = None
        before = counters.snapshot()
        result = function(a, b)
        launches = counters.since(before)["launches"]
        result.sum().backward()
        return [result.detach().cpu(), a.grad.cpu()], launches

    expected, _ = gradients(activation, "cpu")
    found, launches = gradients(rushlight.compile(activation), "cuda")
    assert launches == 1
    for a, b in zip(expected, found, strict=True):
        rushlight.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
