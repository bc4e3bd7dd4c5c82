"""Modules for the tests of TorchScript, in the framework that is imported as ``torch``.

``PROGRAM_FRAMEWORK`` in the environment names it. Run as a program, PyTorch compiles every module,
saves it into a folder, and beside it inputs and outputs.
"""

import importlib
import os
import sys
from enum import Enum
from typing import NamedTuple  # noqa: UP035

torch = importlib.import_module(os.environ.get("PROGRAM_FRAMEWORK", "torch"))
nn, F = torch.nn, torch.nn.functional
Tensor = torch.Tensor
MODULES: dict = {}
# Freezing makes parameters constants: not of what they are updated in, or recurrent layers.
UNFROZEN = ("batch_norm", "batch_norm_without_affine", "Counter", "lstm", "gru", "rnn")


def program(*inputs, training=False, traced=False):
    """Keep a module's class with functions that make its inputs."""

    def keep(maker):
        MODULES[maker.__name__] = (maker, inputs, training, traced)
        return maker

    return keep


def numbers(*shape, low=-1.0, high=1.0):
    """Evenly spread numbers of a shape, the same in every framework."""
    count = 1
    for n in shape:
        count *= n
    values = [(i * 37 % 101) / 101 * (high - low) + low for i in range(count)]
    return torch.tensor(values, dtype=torch.float32).reshape(shape)


def set_weights(module):
    """Give parameters and buffers of a module numbers that need no generator."""
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if value.is_floating_point():
                low = 0.5 if "var" in name else -0.5
                value.copy_(numbers(*value.shape, low=low, high=0.5 + (low > 0)))
    return module


@program(lambda: numbers(5, 4))
def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3, bias=False))


@program(lambda: numbers(2, 3, 12, 12))
def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 4, 3, stride=2, groups=2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 5), nn.LogSoftmax(dim=1),
    )  # fmt: skip


@program(lambda: numbers(6, 4), training=True)
def batch_norm():
    return nn.BatchNorm1d(4)


@program(lambda: numbers(2, 3, 5, 5), training=True)
def batch_norm_without_affine():
    return nn.BatchNorm2d(3, affine=False, track_running_stats=False)


@program(lambda: numbers(3, 4, 6))
def norms():
    return nn.Sequential(nn.LayerNorm(6), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4))


@program(lambda: numbers(2, 3, 8))
def convolutions():
    return nn.Sequential(
        nn.Conv1d(3, 4, 3, padding="same"), nn.ConvTranspose1d(4, 2, 3, stride=2), nn.SiLU(),
        nn.AvgPool1d(2), nn.LeakyReLU(0.1), nn.Softplus(), nn.Tanh(), nn.Sigmoid(), nn.ELU(),
    )  # fmt: skip


@program(lambda: numbers(2, 3, 8, 8))
def upsampling():
    return nn.Sequential(
        nn.Upsample(scale_factor=2.0), nn.Upsample(size=(7, 7), mode="bilinear"),
        nn.ReflectionPad2d(1), nn.ZeroPad2d(2), nn.AvgPool2d(3), nn.PixelUnshuffle(2),
    )  # fmt: skip


@program(lambda: torch.tensor([[1, 2, 0], [3, 4, 4]]))
def embeddings():
    return nn.Sequential(nn.Embedding(5, 6, padding_idx=0), nn.Linear(6, 2), nn.Softmax(dim=-1))


class Recurrent(nn.Module):
    def __init__(self, kind, *args, **options):
        super().__init__()
        self.layer = kind(*args, **options)

    def forward(self, x):
        out, state = self.layer(x)
        return self.layer(out[..., :4], state)


@program(lambda: numbers(3, 5, 4))
def lstm():
    return Recurrent(nn.LSTM, 4, 6, 2, batch_first=True, bidirectional=True)


@program(lambda: numbers(5, 3, 4))
def gru():
    return Recurrent(nn.GRU, 4, 6)


@program(lambda: numbers(5, 3, 4))
def rnn():
    return Recurrent(nn.RNN, 4, 6)


@program(lambda: numbers(3, 4))
def cells():
    return Cells()


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTMCell(4, 4), nn.GRUCell(4, 4)

    def forward(self, x):
        h, c = self.lstm(x)
        return self.gru(x, h) + c


@program(lambda: numbers(2, 5, 8))
def encoder_layer():
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


@program(lambda: numbers(5, 2, 8), training=True)
def encoder_layer_in_training():
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", norm_first=True)


@program(lambda: numbers(5, 2, 8), lambda: numbers(6, 2, 8), lambda: numbers(6, 2, 8))
def attention():
    return nn.MultiheadAttention(8, 2)


@program(lambda: numbers(4, 3))
class ControlFlow(nn.Module):
    def forward(self, x):
        total = torch.zeros(3)
        i = 0
        while i < x.size(0):
            row = x[i]
            i += 1
            if bool(row.sum() < -0.9):
                continue
            if i == 4:
                break
            for j in range(row.shape[0]):
                if float(row[j]) > 0:
                    total[j] += row[j]
                else:
                    total = total - 0.1
        return total, i


@program(lambda: numbers(4, 3), lambda: 2)
class EarlyReturn(nn.Module):
    def forward(self, x, n: int):
        if n > 3:
            return x * 2
        for i in range(n):
            if i == 1:
                return x + i
        return x


@program(lambda: numbers(4, 3))
class Containers(nn.Module):
    def forward(self, x) -> tuple[Tensor, dict[str, int], list[Tensor], list[float]]:
        parts = [x[0], x[1] * 2]
        parts.append(x.sum(0))
        parts.insert(0, x[2])
        last = parts.pop()
        table: dict[str, int] = {}
        table["rows"] = x.size(0)
        table["columns"] = x.size(-1)
        if "rows" in table:
            table["sum"] = table["rows"] + table.get("absent", 5)
        names = list(table.keys())
        names.sort()
        table["names"] = len(names)
        floats = [float(v) / 2 for v in table.values()]
        both = floats[:2] + floats[-1:]
        both.reverse()
        squares = [i * i for i in range(5)]
        table["squares"] = squares[0] + squares[1] + squares[-1]
        stacked = torch.stack(parts) + last
        return stacked, table, parts, both


@program(lambda: numbers(4, 3))
class Optionals(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias: Tensor | None = None
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x, mask: Tensor | None = None, n: int | None = 3):
        if mask is not None:
            x = x * mask
        elif n is not None and n > 2:
            x = x + n
        if self.bias is not None:
            x = x + self.bias
        return x * self.scale


class Point(NamedTuple):
    x: Tensor
    n: int


@program(lambda: numbers(4, 3))
class Tuples(nn.Module):
    def forward(self, x):
        point = Point(x, 3)
        first, second = x[0], x[1]
        first, second = second, first
        return point.x * point.n + first, (point, (second, 1)), point[1]


@program(lambda: numbers(4, 3), lambda: "Name")
class Strings(nn.Module):
    def forward(self, x, name: str):
        text = f"{name} has {x.size(0)} rows"
        other = f"{name.upper()} {1.5}"
        words = text.split(" ")
        joined = "-".join(words)
        return text, other, words, joined, name.replace("a", "b"), name[1:3], len(name)


class Colour(Enum):
    RED = 1
    BLUE = 2


@program(lambda: numbers(4, 3))
class Enums(nn.Module):
    def __init__(self):
        super().__init__()
        self.colour = Colour.BLUE

    def forward(self, x):
        if self.colour == Colour.RED:
            return x
        return x * self.colour.value


@program(lambda: numbers(4, 3))
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)])
        self.named = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.ReLU()})
        self.register_buffer("steps", torch.tensor(2.0))
        self.sizes = [1, 2, 3]

    def extra(self, x, by: float = 2.0):
        return x * by + self.sizes[1]

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for _name, layer in self.named.items():
            x = layer(x)
        x = self.extra(x) + self.extra(x, by=3.0) + self.layers[0].weight.sum()
        return x * self.steps


class Account:
    def __init__(self, start: int):
        self.total = start
        self.steps: list[int] = []

    def add(self, n: int) -> int:
        self.total += n
        self.steps.append(n)
        return self.total


@program(lambda: numbers(4, 3))
class Objects(nn.Module):
    def forward(self, x):
        account = Account(3)
        account.add(4)
        account.add(5)
        return x + account.total, account.steps


def double(x, times: int = 2):
    return x * times


def clipped(x, low: float, high: float | None = None):
    if high is None:
        return torch.clamp(x, min=low)
    return torch.clamp(x, low, high)


@program(lambda: numbers(4, 3))
class Functions(nn.Module):
    def forward(self, x):
        x = double(x) + double(x, times=3)
        x = clipped(x, -0.5) + clipped(x, 0.0, 0.5)
        x = F.relu(x) + F.softmax(x, dim=1) + F.dropout(x, 0.5, self.training)
        x = F.pad(x, [1, 1]) - F.layer_norm(F.pad(x, (1, 1)), [5])
        return F.normalize(x, dim=1) + F.cosine_similarity(x, x * 2, dim=0)


@program(lambda: numbers(4, 6))
class Indexing(nn.Module):
    def forward(self, x):
        a = x[1:3, ::2]
        b = x[..., -1]
        c = x[:, None, 0]
        d = x[x > 0]
        e = x[torch.tensor([0, 2]), 1]
        y = x.clone()
        y[0] = 1.0
        y[1:3, 2] = x[0, 1]
        y[y < -0.5] = 0
        y[0] += 2
        return a, b, c, d, e, y, x.t(), x.view(2, -1).shape[1], x.size()


@program(lambda: numbers(4, 6))
class Operators(nn.Module):
    def forward(self, x):
        n = x.size(0)
        m = n // 3 + n % 3 - 2.0**3 + (n << 1)
        ratio = n / 8
        flag = (n > 2 and m < 100) or not (n == 4)
        y = -x * ratio + m - 1.5 / (x.abs() + 1)
        z = (x @ x.t()) ** 2
        w = torch.where(x > 0, x, y) if flag else x
        return y, z, w, m, ratio, flag, min(n, m), max(1.5, ratio), abs(m), round(2.5), int(3.7)


@program(lambda: numbers(4, 6))
class Dtypes(nn.Module):
    def forward(self, x):
        y = torch.zeros(2, 3, dtype=torch.float64, device=x.device)
        z = torch.arange(6, dtype=x.dtype).to(torch.int64)
        w = torch.full([2, 2], 1.5).to(y.dtype) + y.sum()
        same = x.dtype == torch.float32
        return y, z, w, same, x.to(y), x.half().float(), torch.tensor([1, 2]), x.device.type


@program(lambda: numbers(4, 6))
class Reductions(nn.Module):
    def forward(self, x):
        values, indices = x.max(dim=1)
        low = torch.min(x)
        top = torch.topk(x, 2)
        s, order = torch.sort(x, dim=0, descending=True)
        pieces = torch.chunk(x, 2, dim=1)
        rows = x.split([1, 3])
        mean = x.mean((0, 1))
        var = x.var(dim=1, unbiased=False)
        both = torch.cat([pieces[0], pieces[1]], 1)
        return values, indices, low, top[0], s, order, rows[1], mean, var, both, x.unbind(1)[2]


@program(lambda: numbers(4, 3))
class Raises(nn.Module):
    def forward(self, x):
        assert x.dim() == 2, "two dimensions"
        if x.size(1) != 3:
            raise ValueError(f"expected 3 columns, got {x.size(1)}")
        return x


class Counter(nn.Module):
    history: list[float]

    def __init__(self):
        super().__init__()
        self.count = 0
        self.history = []
        self.table = {"a": 1.5}

    def forward(self, x):
        self.count += 1
        self.history.append(float(x.sum()))
        self.table["b"] = 2.0
        return x * self.count + self.table["a"], len(self.history)


program(lambda: numbers(4, 3))(Counter)


@program(lambda: numbers(4, 3))
class Any(nn.Module):
    def describe(self, value: int | str | list[int]) -> str:
        if isinstance(value, int):
            return "int"
        elif isinstance(value, str):
            return value
        else:
            return "list"

    def forward(self, x):
        return self.describe(1) + self.describe("a") + self.describe([1, 2])


@program(lambda: numbers(4, 3))
class NoGrad(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            y = self.fc(x)
        return y + self.fc(x)


@program(lambda: numbers(4, 3), lambda: torch.tensor([0, 2, 1, 1]))
class Losses(nn.Module):
    def __init__(self):
        super().__init__()
        self.entropy = nn.CrossEntropyLoss(label_smoothing=0.1)
        self.squares = nn.MSELoss()
        self.binary = nn.BCEWithLogitsLoss()

    def forward(self, x, target):
        loss = self.entropy(x, target) + self.squares(x, x * 2) + F.l1_loss(x, x + 1)
        loss = loss + self.binary(x, torch.sigmoid(x)) + F.nll_loss(F.log_softmax(x, 1), target)
        return (
            loss
            + F.smooth_l1_loss(x, x * 3)
            + F.kl_div(x, torch.softmax(x, 1), reduction="batchmean")
        )


@program(lambda: numbers(2, 3, 12, 12), traced=True)
class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2) + torch.ones(4, 1, 1)
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        y = F.adaptive_avg_pool2d(y, 1).flatten(1)
        z = y.view(y.size(0), -1) * torch.tensor([1.0, 2.0, 3.0, 4.0])
        return self.fc(z), {"y": y}["y"][:, 1:3]


@program(lambda: numbers(5, 2, 4), traced=True)
class TracedLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 3)
        self.layer = nn.TransformerEncoderLayer(4, 2, 8)

    def forward(self, x):
        out, (h, c) = self.rnn(x)
        return out, h, c, self.layer(x)


def build(name):
    """A module of the list with its inputs."""
    maker, inputs, training, traced = MODULES[name]
    module = set_weights(maker()).train(training)
    return module, [make() for make in inputs], traced


def plain(value):
    """Results as checkpoints hold them."""
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def main(folder):
    """Compile, run and save every module."""
    failed = {}
    for name in MODULES:
        module, inputs, traced = build(name)
        try:
            compiled = (
                torch.jit.trace(module, tuple(inputs), check_trace=False, strict=False)
                if traced
                else torch.jit.script(module)
            )
            torch.jit.save(compiled, f"{folder}/{name}.pt", _extra_files={"note": name})
            if name not in UNFROZEN:
                frozen = torch.jit.freeze(compiled.eval())
                torch.jit.save(frozen, f"{folder}/{name}.frozen.pt")
                compiled.train(module.training)
            results = [plain(compiled(*inputs)) for _ in range(2)]
            torch.save((inputs, results), f"{folder}/{name}.results.pt")
        except Exception as error:  # noqa: BLE001 - shown together
            failed[name] = f"{type(error).__name__}: {str(error)[:600]}"
    for name, text in failed.items():
        print(name, text)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
