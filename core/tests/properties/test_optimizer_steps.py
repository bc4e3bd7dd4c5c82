"""Steps of optimizers over parameters of any sizes and layouts, against PyTorch in float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import each, extents, is_low, some  # noqa: E402
from drawn import close, exact, examples, name_of, on_threads, tensors  # noqa: E402

YES = st.booleans()
DECAY = st.sampled_from((0.0, 0.0, 0.05))
OPTIMIZERS = {
    "SGD": {"lr": st.just(0.05), "momentum": st.sampled_from((0.0, 0.9)), "weight_decay": DECAY,
            "dampening": st.sampled_from((0.0, 0.3)), "maximize": YES},
    "Adam": {"lr": st.just(0.01), "amsgrad": YES, "weight_decay": DECAY, "maximize": YES},
    "AdamW": {"lr": st.just(0.01), "amsgrad": YES, "weight_decay": DECAY,
              "betas": st.sampled_from(((0.9, 0.999), (0.5, 0.8)))},
    "RMSprop": {"lr": st.just(0.01), "centered": YES, "momentum": st.sampled_from((0.0, 0.9)),
                "weight_decay": DECAY},
    "Adagrad": {"lr": st.just(0.05), "lr_decay": st.sampled_from((0.0, 0.1)),
                "weight_decay": DECAY},
    "Adadelta": {"lr": st.just(1.0), "weight_decay": DECAY},
    "Adamax": {"lr": st.just(0.01), "weight_decay": DECAY},
    "NAdam": {"lr": st.just(0.01), "weight_decay": DECAY},
    "RAdam": {"lr": st.just(0.01), "weight_decay": DECAY},
    "Rprop": {"lr": st.just(0.01)},
    "ASGD": {"lr": st.just(0.01), "weight_decay": DECAY},
}  # fmt: skip


WIDE = (("float32",), ("float32",), ("float64",), ("float32", "float64"))
LOW = (("bfloat16",), ("float16",), ("bfloat16", "float32"))


@st.composite
def parameters(draw, most=12, dtypes=WIDE):
    """Tensors of many sizes, empty ones among them, one sometimes of several blocks; one dtype or
    two."""
    kinds = draw(st.sampled_from(dtypes))
    count = draw(st.integers(1, most))
    found = []
    for i in range(count):
        amount = draw(st.sampled_from((1 << 6, 1 << 6, 1 << 10, 1 << 13, 1 << 16)))
        shape = draw(extents(st.integers(0, 4), amount, 0 if i else 1))
        found.append(draw(tensors(shape, draw(st.sampled_from(kinds)))))
    return found


def started(library, values):
    """Leaves of the values, in their order of memory."""
    if library is rushlight:
        return [v.clone().requires_grad_() for v in values]
    return [exact(v).clone().requires_grad_() for v in values]


def stepped(library, name, values, gradients, more):
    """The parameters after a step for every list of gradients (None: none this time)."""
    leaves = started(library, values)
    optimizer = getattr(library.optim, name)(leaves, **more)
    for step in gradients:
        for leaf, grad in zip(leaves, step, strict=True):
            if grad is None:
                leaf.grad = None
            else:
                leaf.grad = grad.clone() if library is rushlight else exact(grad).to(leaf.dtype)
        optimizer.step()
    return [leaf.detach() for leaf in leaves]


@given(some(OPTIMIZERS, 4), parameters(), st.data())
@examples(16)
def test_steps(names, values, data):
    each(names, data, lambda name, data: try_steps(name, values, data))


@given(some(OPTIMIZERS, 4), parameters(dtypes=LOW), st.data())
@examples(16)
def test_steps_of_half_width(names, values, data):
    """Every step rounds parameters once, and what is kept of gradients too."""
    each(names, data, lambda name, data: try_steps(name, values, data))


def try_steps(name, values, data):
    more = {key: data.draw(choice) for key, choice in OPTIMIZERS[name].items()}
    if name == "SGD" and more["momentum"] and not more["dampening"]:
        more["nesterov"] = data.draw(YES)
    if data.draw(st.integers(0, 3)) == 0:
        more["foreach"] = data.draw(YES)
    gradients = []
    for _ in range(data.draw(st.integers(1, 5))):
        row = []
        for v in values:
            dtype = str(v.dtype).rpartition(".")[2]
            signs = data.draw(tensors(tuple(v.shape), dtype, 0.1, 2.0))
            missing = data.draw(st.integers(0, 9)) == 0
            row.append(None if missing else -signs if data.draw(YES) else signs)
        gradients.append(row)
    found = on_threads(lambda: stepped(rushlight, name, values, gradients, more))
    truth = stepped(torch, name, values, gradients, more)
    for ours, right in zip(found, truth, strict=True):
        low = is_low(name_of(ours))
        units = 1.2 * len(gradients) if low else 32.0
        close(ours, right, right.abs() + (1.0 if low else 2.0), units)


@given(parameters(), st.data())
@examples(40)
def test_clipped_norms(values, data):
    """clip_grad_norm_ by several norms, of gradients too large or not; clip_grad_value_."""
    order = data.draw(st.sampled_from((2.0, 2.0, 1.0, float("inf"), 3.0)))
    if order == float("inf") and not all(v.numel() for v in values):
        order = 2.0  # nothing has no largest element
    largest = data.draw(st.sampled_from((0.1, 1.0, 1e6)))
    gradients = [
        data.draw(tensors(tuple(v.shape), str(v.dtype).rpartition(".")[2])) for v in values
    ]
    by_value = data.draw(st.booleans())

    def clipped(library):
        leaves = started(library, values)
        for leaf, grad in zip(leaves, gradients, strict=True):
            leaf.grad = grad.clone() if library is rushlight else exact(grad).clone()
        utils = library.nn.utils
        total = None if by_value else utils.clip_grad_norm_(leaves, largest, order)
        if by_value:
            utils.clip_grad_value_(leaves, largest)
        return [leaf.grad for leaf in leaves] + ([] if by_value else [total])

    found, truth = on_threads(lambda: clipped(rushlight)), clipped(torch)
    single = any(v.dtype == rushlight.float32 for v in values)  # one factor for all gradients
    for ours, right in zip(found, truth, strict=True):
        close(ours, right, right.abs(), 24.0 + 64.0, "float32" if single else "float64")


@given(st.data())
@examples(40)
def test_clipped_nan_and_infinity(data):
    """A norm that is NaN or infinite, and what it makes of the gradients."""
    shape = data.draw(extents(st.integers(1, 2), 1 << 13))
    odd = (float("nan"), float("inf"), float("-inf"))
    grad = data.draw(tensors(shape, "float32", odd=odd))
    found = []
    for library in (rushlight, torch):
        leaf = library.zeros(shape, requires_grad=True)
        leaf.grad = grad.clone() if library is rushlight else exact(grad).float()
        total = library.nn.utils.clip_grad_norm_([leaf], 1.0)
        found.append((total, leaf.grad))
    for ours, right in zip(*found, strict=True):
        close(ours, right, right.abs(), 64.0)
