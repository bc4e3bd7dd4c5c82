"""Saving and moving: state dicts, checkpoints, export.

    rushlight examples run learn_saving

What training found must outlive the process, reach other machines, and sometimes fit another
network. Here you save weights and read them back, stop a training and go on as if nothing had
happened, see why files of strangers can be loaded safely, put weights into a network that has
changed, and hand a model on to somebody who lacks its source. Read [modules and
training](learn_modules.md) first. It takes a few seconds, and leaves runs/learn_saving/ with a
picture and the files.
"""

# %% Save a model: its `state_dict`
# A module's `state_dict()` maps names to tensors: parameters, and buffers such as the running means
# of batch normalisation. Saving that, and not the module, is the habit to have. A file of names and
# numbers can still be read when the class has moved, changed its name, or got another method.
import os
from pathlib import Path

import matplotlib.pyplot as plt

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F

out = Path("runs/learn_saving")
out.mkdir(parents=True, exist_ok=True)
rl.manual_seed(0)


class Bumps(nn.Module):
    """A height for each point of the plane: `[N, 2] -> [N]`."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width),
            nn.BatchNorm1d(width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
        )
        self.head = nn.Linear(width, 1)

    def forward(self, points: rl.Tensor) -> rl.Tensor:
        return self.head(self.body(points)).squeeze(-1)


model = Bumps()
rl.save(model.state_dict(), out / "weights.pt")
for name, tensor in rl.load(out / "weights.pt").items():
    print(f"{name:26} {tuple(tensor.shape)!s:9} {tensor.dtype}")

# %%
# To use them, make the module as before and put them in. Then call `eval()`, lest batch
# normalisation go on counting. The files are PyTorch's: `torch.load` reads these, and `rl.load`
# reads PyTorch's.
again = Bumps()
print(again.load_state_dict(rl.load(out / "weights.pt")))
probe = rl.randn(5, 2)
print("same answers:", rl.equal(model.eval()(probe), again.eval()(probe)))

# %% Checkpoints: a training that goes on
# Weights are not all that training has. Adam keeps two running means for every weight, the schedule
# a count, and the shuffling a random state. A checkpoint is a dict of all of these. Take
# `state_dict()` of everything that has one.


def heights(points: rl.Tensor) -> rl.Tensor:
    """What is to be learnt."""
    return (3 * points[:, 0]).sin() * (2 * points[:, 1]).cos()


class Training:
    """A model, and everything else that changes while it is trained."""

    def __init__(self) -> None:
        self.model = Bumps()
        self.optimizer = rl.optim.AdamW(self.model.parameters(), lr=5e-3)
        self.schedule = rl.optim.lr_scheduler.StepLR(self.optimizer, step_size=100, gamma=0.5)
        self.random = rl.Generator().manual_seed(1)
        self.losses: list[float] = []

    def run(self, steps: int) -> None:
        """Take some steps, each on 256 fresh points."""
        self.model.train()
        for _ in range(steps):
            points = 2 * rl.rand(256, 2, generator=self.random) - 1
            loss = F.mse_loss(self.model(points), heights(points))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.losses.append(loss.item())

    def state_dict(self) -> dict:
        """All of it, as plain types and tensors."""
        parts = {
            name: getattr(self, name).state_dict() for name in ("model", "optimizer", "schedule")
        }
        return {**parts, "random": self.random.get_state(), "losses": self.losses}

    def load_state_dict(self, state: dict) -> None:
        """Go on from there."""
        for name in ("model", "optimizer", "schedule"):
            getattr(self, name).load_state_dict(state[name])
        self.random.set_state(state["random"])
        self.losses = state["losses"]


rl.manual_seed(2)
whole = Training()
whole.run(100)
rl.save(whole.state_dict(), out / "checkpoint.pt")
whole.run(150)

resumed = Training()
resumed.load_state_dict(rl.load(out / "checkpoint.pt"))
resumed.run(150)
pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
print("to the last bit the same weights:", all(rl.equal(a, b) for a, b in pairs))

# %%
# Who saves the weights alone pays for it at first: Adam's means begin at zero, its first steps are
# as large as they can be, and the learning rate is that of the beginning once more.
forgetful = Training()
forgetful.model.load_state_dict(rl.load(out / "checkpoint.pt")["model"])
forgetful.losses = whole.losses[:100]
forgetful.run(150)
for name, training in (("everything", resumed), ("weights alone", forgetful)):
    after = training.losses[100:110]
    print(
        f"{name:13} loss before {training.losses[99]:.4f}, worst of the next ten {max(after):.4f}"
    )

figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, training, style in (
    ("weights alone", forgetful, "-"),
    ("everything", resumed, "-"),
    ("never stopped", whole, ":"),
):
    axis.semilogy(training.losses, style, label=name, color="black" if style == ":" else None)
axis.axvline(99, color="grey", linewidth=0.8)
axis.set(title="Stopped after 100 steps, and resumed", xlabel="step", ylabel="loss", xlim=(60, 200))
axis.legend(title="what was saved")
figure.savefig(out / "resumed.png", dpi=100)

# %% Files of strangers
# A save goes to another file beside the target, which is synced and then renamed: whatever happens,
# the target is the old file or the new one, whole. A file from elsewhere is another matter. A
# pickle can call any function when it is read, and PyTorch's files hold a pickle. `rl.load` has a
# reader of its own which builds data and nothing else. Here a file tries to run a command.


class Trap:
    """What a hostile file can hold: reading it would call a function."""

    def __reduce__(self):
        return os.system, (f"echo caught > {out / 'trapped.txt'}",)


rl.save({"weights": rl.zeros(3), "more": Trap()}, out / "stranger.pt")
try:
    rl.load(out / "stranger.pt")
except Exception as error:
    print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
print("was it called?", (out / "trapped.txt").exists())

# %% Safetensors: files that cannot hold code
# `safetensors` is a format that cannot hold code at all: names, shapes, and bytes. It is what model
# hubs use, and other languages read it. It holds tensors only, so optimizers need a checkpoint.
rl.safetensors.save_file(whole.model.state_dict(), out / "bumps.safetensors")
loaded = rl.safetensors.load_file(out / "bumps.safetensors")
print(len(loaded), "tensors,", (out / "bumps.safetensors").stat().st_size, "bytes")

# %% Into a network that has changed
# Names and shapes must agree, and the error lists all that do not. With `strict=False` names may be
# missing or left over, and the answer says which: read it, for a mistyped prefix leaves every
# weight untouched. Shapes must agree in any case, so drop what has another one yourself. This is
# how a new head is put on a trained body.


class TwoHeights(Bumps):
    """The same body with a head for two heights."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 2)


other = TwoHeights()
try:
    other.load_state_dict(loaded)
except RuntimeError as error:
    print(str(error).splitlines()[1].strip())
kept = {name: tensor for name, tensor in loaded.items() if not name.startswith("head.")}
print(other.load_state_dict(kept, strict=False))

# %% To other devices and dtypes
# A file remembers the device of its tensors. `map_location="cpu"` reads what was saved on a GPU
# where there is none. The device `"meta"` has shapes and no data: look at a large file in no time.
# Make a module under `rl.device("meta")` and load with `assign=True`, and it is never filled twice.
shapes = rl.load(out / "weights.pt", map_location="meta")
print(shapes["body.3.weight"].shape, shapes["body.3.weight"].device)
with rl.device("meta"):
    hollow = Bumps()
hollow.load_state_dict(loaded, assign=True)
print("filled:", rl.equal(hollow.eval()(probe), whole.model.eval()(probe)))

# %%
# Half of the bytes, and what that costs: `bfloat16` has the range of `float32` with 8 bits of
# precision, `float16` has 11 bits and overflows above 65,504. Train in `float32` (or under
# `autocast`), and halve for keeping or answering.
exact = whole.model.eval()(probe)
for dtype in (rl.float16, rl.bfloat16):
    halved = {name: t.to(dtype) if t.is_floating_point() else t for name, t in loaded.items()}
    rl.safetensors.save_file(halved, out / "half.safetensors")
    half = Bumps()
    half.load_state_dict(rl.safetensors.load_file(out / "half.safetensors"))
    off = (half.eval()(probe) - exact).abs().max() / exact.abs().max()
    size = (out / "half.safetensors").stat().st_size / (out / "bumps.safetensors").stat().st_size
    print(
        f"{dtype!s:18} {size:.0%} of the bytes; wrong by {off:.1e} of the largest answer"
    )  # figures vary

# %% To somebody without the source
# A state dict needs the class. `rl.export` records what the model computes, as a graph of basic
# operations with the weights, and writes it to a file which PyTorch reads as well. Say which sizes
# may change; the rest is fixed.
batch = rl.export.Dim("batch", min=2)
program = rl.export.export(whole.model, (probe,), dynamic_shapes=({0: batch},))
rl.export.save(program, out / "bumps.pt2")
taken = rl.export.load(out / "bumps.pt2").module()
more = rl.randn(1000, 2)
print("same answers:", rl.allclose(taken(more), whole.model(more), atol=1e-6))
calls = [node for node in program.graph.nodes if node.op == "call_function"]
print([node.target.__name__.split(".")[0] for node in calls])

# %% What next
# [Checkpoints](checkpoints.md) promises what a file cannot do to you, and how fast loading is.
# [Exported programs](export.md) and [ONNX](onnx.md) are ways to other engines. [The
# Trainer](learn_trainer.md) writes checkpoints and resumes from them, in the middle of an epoch if
# need be. [Data](learn_data.md) shows that loaders have a state, too.
