"""Tensors and autograd: views, broadcasting, gradients.

    rushlight examples run learn_tensors

A tensor is NumPy's array with one thing added: it can remember how it was computed, and so say how
a result would change if its inputs did. This is all that training a network needs. Here you make
tensors, see when they share memory, let autograd differentiate ordinary Python, and use it to find
the lowest point of a curved valley: by descent, and by Newton's method with second derivatives. You
should know Python and NumPy. It takes a few seconds, and leaves runs/learn_tensors/valley.png.
"""

# %% Arrays, and three habits that differ
# `import rushlight as rl` reads best in new programs; `import rushlight as torch` makes old ones
# run. Nearly everything of NumPy has its name or a near one here. Three habits differ: floats are
# `float32` unless you ask (networks do not need more, and it is twice as fast), the axis is called
# `dim`, and reductions along one return the indices as well where there are any to return.
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import rushlight as rl

table = rl.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
print(table.dtype, tuple(table.shape), "mean of columns", table.mean(dim=0))
largest = table.max(dim=1)
print("largest of rows", largest.values, "in columns", largest.indices)

# %%
# `rl.tensor` copies. `rl.from_numpy` and `tensor.numpy()` do not: both sides see the same memory.
# That costs nothing, and it surprises everybody once.
array = np.zeros(4)
shared, copied = rl.from_numpy(array), rl.tensor(array)
array[0] = 7
print("shared", shared, "copied", copied)

# %% Views: other shapes of the same memory
# Slices, `view`, `transpose` and `expand` move no data: they make a tensor with other strides, the
# steps in memory from one element to the next along each dimension. Writing to a view therefore
# writes to what it is a view of.
grid = rl.arange(12).view(3, 4)
column, flipped = grid[:, 1], grid.T
column += 100
print(grid)
print("strides", grid.stride(), "transposed", flipped.stride(), flipped.is_contiguous())

# %%
# `view` refuses where no strides can express the new shape, and says so; `reshape` copies instead.
# Use `view` where a silent copy would be a mistake.
try:
    flipped.view(12)
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(flipped.reshape(12))

# %% Broadcasting, as in NumPy
# Dimensions are aligned from the right, and those of size 1 are repeated without being copied. All
# distances between two sets of points take one line and no loop: `[5, 1, 2] - [1, 3, 2] -> [5, 3,
# 2]`.
rl.manual_seed(0)
points, centres = rl.randn(5, 2), rl.tensor([[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]])
distances = (points[:, None] - centres[None]).norm(dim=-1)
print(distances)
print("nearest centre of each point", distances.argmin(dim=1))

# %% Gradients of ordinary Python
# Mark an input with `requires_grad`, compute with it, and call `backward` on the result: each
# input's `grad` is then the derivative of the result by it. Loops and branches need nothing
# special. Only the operations that ran are recorded, so what is differentiated is the path that was
# taken.


def swing(x: rl.Tensor) -> rl.Tensor:
    """Iterate a map as often as it takes to leave the unit interval."""
    while x.abs() < 1:
        x = x.exp() - 0.5 * x.sin()
    return x


x = rl.tensor(-0.4, dtype=rl.float64, requires_grad=True)
y = swing(x)
y.backward()
step = 1e-6
with rl.no_grad():
    measured = (swing(x + step) - swing(x - step)) / (2 * step)
print(
    f"value {y.item():.6f}, slope by autograd {x.grad.item():.6f}, measured {measured.item():.6f}"
)

# %%
# The record is a graph which you can walk. Each node knows the operation that made its tensor, and
# the nodes whose gradients it will pass on to; a leaf ends in `AccumulateGrad`, which adds to
# `grad`.
node, path = y.grad_fn, []
while node is not None:
    path.append(node.name())
    node = node.next_functions[0][0] if node.next_functions else None
print(" <- ".join(path))

# %% Gradients add up
# `backward` adds to `grad` and does not replace it. So one can sum over parts of a batch that do
# not fit into memory together. It is also the best known mistake of beginners, for a loop that does
# not clear gradients walks on with the sum of all earlier ones. PyTorch's habit is
# `optimizer.zero_grad()`.
weight = rl.tensor(2.0, requires_grad=True)
for attempt in range(3):
    (weight**2).backward()
    print("after", attempt + 1, "calls:", weight.grad.item())
weight.grad = None

# %%
# Where nothing is to be learnt, say so: under `rl.no_grad()` nothing is recorded, and `detach()`
# gives a tensor without history. Changing a leaf in place while it is being recorded would make its
# own history false; that is refused.
try:
    weight += 1
except RuntimeError as error:
    print("refused:", error)
with rl.no_grad():
    weight += 1
print("now", weight.item(), "and still a leaf:", weight.is_leaf)

# %% Down into a valley
# Rosenbrock's function is a curved valley whose lowest point is (1, 1). Its walls are steep and its
# floor nearly level, which is what loss surfaces of networks are like as well. Plain descent
# follows the negative gradient, and nearly stops where the floor is level. With momentum it keeps
# part of its speed: it swings from wall to wall at first, and then gathers speed along the floor.


def valley(at: rl.Tensor) -> rl.Tensor:
    """Rosenbrock's function of a point, or of points along the last dimension."""
    a, b = at.unbind(-1)
    return (1 - a) ** 2 + 100 * (b - a**2) ** 2


def descend(rate: float, momentum: float, steps: int) -> rl.Tensor:
    """The points that gradient descent visits, one a row."""
    at = rl.tensor([-1.2, 1.0], requires_grad=True)
    speed, visited = rl.zeros(2), []
    for _ in range(steps):
        visited.append(at.detach().clone())
        (slope,) = rl.autograd.grad(valley(at), at)
        speed = momentum * speed - rate * slope
        with rl.no_grad():
            at += speed
    return rl.stack(visited)


plain, heavy = descend(1e-3, 0.0, 1000), descend(1e-3, 0.9, 1000)
for name, visited in (("plain", plain), ("momentum", heavy)):
    print(
        f"{name:8} after 100 steps {valley(visited[100]):.4f}, after 999 {valley(visited[999]):.6f}"
    )

# %% Second derivatives: Newton's method
# A gradient is itself computed by recorded operations, so it can be differentiated again.
# `rl.func.hessian` turns a function into the function of its second derivatives. With them,
# Newton's method knows how the slope bends, and needs six steps where descent needs thousands.
# Networks have too many weights for it: a million of them have a Hessian of 10^12 entries.
at = rl.tensor([-1.2, 1.0], dtype=rl.float64)
newton = [at]
for number in range(1, 7):
    slope, bend = rl.func.grad(valley)(at), rl.func.hessian(valley)(at)
    at = at - rl.linalg.solve(bend, slope)
    newton.append(at)
    print(f"step {number}: height {valley(at).item():12.6f} at ({at[0]:.4f}, {at[1]:.4f})")

# %%
# Tensors on their way to Matplotlib need no conversion but `numpy()`; one with history wants
# `detach()` first, as in PyTorch.
out = Path("runs/learn_tensors")
out.mkdir(parents=True, exist_ok=True)
across, along = rl.linspace(-1.6, 1.6, 161), rl.linspace(-3.5, 2.0, 276)
heights = valley(rl.stack(rl.meshgrid(across, along, indexing="xy"), dim=-1))
leaps: rl.Tensor = rl.stack(newton)
figure, axis = plt.subplots(figsize=(7.5, 5.2), layout="constrained")
axis.contourf(across.numpy(), along.numpy(), heights.log10().numpy(), 24, cmap="Blues")
for visited, colour, name in (
    (plain, "black", "descent, 1,000 steps"),
    (heavy, "tab:orange", "with momentum, 1,000 steps"),
    (leaps, "tab:green", "Newton, 6 steps"),
):
    axis.plot(*visited.T.numpy(), ".-", color=colour, markersize=4, linewidth=1, label=name)
axis.plot(1, 1, "*", color="tab:red", markersize=14, label="lowest point")
axis.set(title="Three ways down", xlim=(-1.6, 1.6), ylim=(-3.5, 2.0), xlabel="a", ylabel="b")
axis.legend(loc="lower left")
figure.savefig(out / "valley.png", dpi=100)

# %% What next
# [Modules and training](learn_modules.md) puts weights into layers and descends for you. [Function
# transforms](function_transforms.md) has `vmap`, Jacobians and forward mode. To see the arithmetic
# happen, [step into it with pdb](learn_debugging.md). [Coming from PyTorch](from_pytorch.md) tells
# what is different here.
