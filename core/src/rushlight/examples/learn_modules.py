"""Modules and training: layers, the loop, learning rates.

    rushlight examples run learn_modules

A network is a function with weights, and training is descent on them. Here you write a layer, put
layers into a network, and write the training loop by hand, as PyTorch's users do. Then you look at
what usually goes wrong: the learning rate, the mode, and a network that learns its examples by
heart. The task is to tell apart three spirals in the plane, which no straight line can. Read
[tensors and autograd](learn_tensors.md) first. It takes ten seconds, and leaves
runs/learn_modules/rates.png and regions.png.
"""

# %% A layer is a function that owns its weights
# A `Module` keeps `Parameter`s: tensors that require grad and that the module lists. Assigning one
# to an attribute registers it, and so does assigning another module. Hence `parameters()` finds all
# weights of a network, however deep they are. This layer is what `nn.Linear` is.
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F

rl.manual_seed(0)


class Affine(nn.Module):
    """`[N, inputs] -> [N, outputs]`, by a matrix and an offset."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(rl.randn(outputs, inputs) / inputs**0.5)
        self.bias = nn.Parameter(rl.zeros(outputs))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        return x @ self.weight.T + self.bias


layer = Affine(2, 3)
for name, parameter in layer.named_parameters():
    print(name, tuple(parameter.shape), "requires grad:", parameter.requires_grad)

# %%
# Why divide by the root of the number of inputs? A sum of `n` products grows like that root.
# Without the division, ten layers of width 100 multiply the signal by `10**10`; with it, the signal
# keeps its size, and so do gradients on their way back. The layers of `rushlight.nn` choose their
# first weights by the same root.
signal = rl.randn(1000, 100)
for scale in (1.0, 100**-0.5):
    x = signal
    for _ in range(10):
        x = x @ (scale * rl.randn(100, 100))
    print(f"weights of size {scale:.1f}: standard deviation {x.std().item():.1e} after ten layers")

# %% Layers make networks
# Layers between which nothing bends are together one matrix. So there are activations in between.
# `nn.Sequential` calls its members one after the other; where a network branches, write a
# `forward`.


def network(width: int = 64, dropout: float = 0.0) -> nn.Module:
    """Points `[N, 2]` -> scores of three classes `[N, 3]`."""
    return nn.Sequential(
        nn.Linear(2, width), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(width, 3),
    )  # fmt: skip


model = network()
print(model)
print(sum(parameter.numel() for parameter in model.parameters()), "weights")

# %% The task: three spirals with noise
# 300 points to learn from, 3,000 to ask about. Keep what you measure apart from what you train on;
# all else is self-deception. Points are standardised already; do that to your data, or the first
# layer has to.


def spirals(count: int, noise: float = 0.15) -> tuple[rl.Tensor, rl.Tensor]:
    """Points `[N, 2]` and their classes `[N]`."""
    labels = rl.arange(count) % 3
    radius = rl.rand(count).sqrt() * 2
    angle = 3 * radius + labels * (2 * rl.pi / 3) + noise * rl.randn(count)
    return rl.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


points, labels = spirals(300)
unseen, answers = spirals(3000)
print(points[:2], labels[:2])

# %% The loss, and what it should be before training
# `cross_entropy` takes scores, not probabilities: it does the softmax itself, in a way that does
# not overflow. A softmax of your own before it is a common mistake, which trains badly instead of
# failing. A network that knows nothing gives three classes about equal chances, and the loss ln 3.
# If yours begins elsewhere, look for the reason before you train.
loss = F.cross_entropy(model(points), labels)
print(f"loss {loss.item():.3f}, of equal chances {rl.tensor(3.0).log().item():.3f}")

# %% One step by hand
# Backward fills `grad` of every parameter; the step subtracts a little of it. That is all of
# `optim.SGD`, as one sees by doing both to the same weights.
by_hand, by_optimizer = network(), network()
by_optimizer.load_state_dict(by_hand.state_dict())
F.cross_entropy(by_hand(points), labels).backward()
with rl.no_grad():
    for parameter in by_hand.parameters():
        parameter -= 0.1 * parameter.grad

optimizer = rl.optim.SGD(by_optimizer.parameters(), lr=0.1)
optimizer.zero_grad()
F.cross_entropy(by_optimizer(points), labels).backward()
optimizer.step()
pairs = zip(by_hand.parameters(), by_optimizer.parameters(), strict=True)
print("the same weights:", all(rl.allclose(a, b) for a, b in pairs))

# %% The training loop: `zero_grad`, `backward`, `step`
# Every epoch visits all points once, in another order, in batches: a gradient of 50 points costs a
# sixth of one of 300 and points nearly the same way. Note the order: clear, forward, backward,
# step. `clip_grad_norm_` bounds the step that one odd batch can cause.


def train(model: nn.Module, rate: float, epochs: int = 60, decay: float = 0.0) -> list[float]:
    """Train in place; the mean loss of each epoch."""
    optimizer = rl.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay)
    model.train()
    losses = []
    for _ in range(epochs):
        total = 0.0
        for rows in rl.randperm(len(points)).split(50):
            loss = F.cross_entropy(model(points[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() * len(rows) / len(points)
        losses.append(total)
    return losses


@rl.no_grad()
def accuracy(model: nn.Module, points: rl.Tensor, labels: rl.Tensor) -> float:
    """The share of points whose highest score is that of their class."""
    model.eval()
    return (model(points).argmax(dim=1) == labels).float().mean().item()


straight, bent = nn.Linear(2, 3), network()
for name, model in (("one linear layer", straight), ("the network", bent)):
    losses = train(model, 1e-2)
    seen, asked = accuracy(model, points, labels), accuracy(model, unseen, answers)
    print(f"{name:16} loss {losses[-1]:.3f}; right: seen {seen:.1%}, unseen {asked:.1%}")

# %% The learning rate
# It matters more than anything else. Too small, and nothing is learnt in time; too large, and steps
# jump from wall to wall. Try powers of ten, and take the largest at which the loss still falls
# smoothly.
rates = {}  # figures vary: at a rate of 1 the least rounding matters
for rate in (1e-4, 1e-3, 1e-2, 1.0):
    rl.manual_seed(1)
    rates[rate] = train(network(), rate)
    print(
        f"rate {rate:<6} loss after 10 epochs {rates[rate][9]:.2f}, after 60 {rates[rate][-1]:.2f}"
    )

# %%
out = Path("runs/learn_modules")
out.mkdir(parents=True, exist_ok=True)
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for rate, losses in rates.items():
    axis.plot(range(1, 61), losses, label=f"rate {rate:g}")
axis.axhline(rl.tensor(3.0).log().item(), color="grey", linestyle=":", label="equal chances")
axis.set(xlabel="epoch", ylabel="mean loss", ylim=(0, 2), title="One network, four learning rates")
axis.legend()
figure.savefig(out / "rates.png", dpi=100)

# %% Modes: train and eval
# Some layers behave differently while training: dropout sets part of its input to zero, batch
# normalisation uses statistics of the batch. `model.eval()` switches that off, `model.train()` on
# again. Forgotten, it gives answers that change from call to call. It has nothing to do with
# `no_grad`: you need both to measure.
model = network(dropout=0.3)
for mode in (model.train, model.eval):
    mode()
    first, second = model(points[:1]), model(points[:1])
    print(f"training {model.training!s:5}: two calls agree: {rl.equal(first, second)}")

# %% Learnt by heart, or understood?
# Labels of real data are wrong now and then. Here almost every fifth is, so that who follows the
# spirals gets 81 % of what is seen right. A wide network that is trained for long does better than
# that, which is worse: its regions bend around single points. Dropout and weight decay make bends
# dear. The gap between what is seen and what is unseen is what they are for, so measure both.
rl.manual_seed(2)
points, labels = spirals(300)
truth = labels
labels = rl.where(rl.rand(300) < 0.25, rl.randint(0, 3, (300,)), truth)  # one in three stays right
print("wrong labels:", (labels != truth).sum().item(), "of 300")
found = {}
for name, dropout, decay in (("plain", 0.0, 0.0), ("dropout and decay", 0.4, 0.3)):
    found[name] = model = network(256, dropout)
    train(model, 1e-2, epochs=300, decay=decay)
    seen, asked = accuracy(model, points, labels), accuracy(model, unseen, answers)
    print(f"{name:18} right: seen {seen:.1%}, unseen {asked:.1%}")

# %%
ticks = rl.linspace(-2.4, 2.4, 200)
plane = rl.cartesian_prod(ticks, ticks)
figure, axes = plt.subplots(1, 2, figsize=(8.5, 4.3), layout="constrained")
for axis, (name, model) in zip(axes, found.items(), strict=True):
    with rl.no_grad():
        regions = model(plane).argmax(dim=1).view(200, 200).T
    axis.pcolormesh(ticks.numpy(), ticks.numpy(), regions.numpy(), cmap="Set2", vmin=0, vmax=7)
    axis.scatter(
        *points.T.numpy(), c=labels.numpy(), cmap="Set2", vmin=0, vmax=7, edgecolor="black"
    )
    axis.set(title=name, aspect="equal", xticks=[], yticks=[])
figure.savefig(out / "regions.png", dpi=100)

# %% Looking inside
# A hook sees what passes a module, without a change to the module. Layers that are always zero
# learn nothing, and activations that grow from layer to layer announce `nan`. The first thing to
# try with a network that does not learn, though, is one batch: it must be able to learn ten
# examples by heart.
seen = {}
handles = [
    layer.register_forward_hook(lambda layer, given, result, name=name: seen.update({name: result}))
    for name, layer in bent.named_modules() if isinstance(layer, nn.ReLU)
]  # fmt: skip
bent(points)
for handle in handles:
    handle.remove()
for name, active in seen.items():
    never = (active <= 0).all(dim=0).sum().item()
    print(f"layer {name}: {(active > 0).float().mean():.2f} of activations are above zero")
    assert never < 64, "all units of a layer are dead"

# %% What next
# [Saving and moving](learn_saving.md) keeps what was learnt. [Data](learn_data.md) replaces the
# loop over `randperm` by a loader. [The Trainer](learn_trainer.md) writes the loop for you, with
# logs, checkpoints and early stopping. Learning-rate schedules are in
# `rushlight.optim.lr_scheduler`; [Same seed, same numbers](seeds.md) says what `manual_seed`
# promises.
