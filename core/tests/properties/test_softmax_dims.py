"""Softmax over any dim, and losses of scores and probabilities, against float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import (  # noqa: E402
    FLOATS,
    ODD,
    WIDE,
    differentiated,
    extents,
    is_low,
    twin,
)
from drawn import close, exact, examples, on_threads, tensors  # noqa: E402

AMOUNTS = st.sampled_from((1 << 12, 1 << 12, 1 << 14, 1 << 16, 1 << 18))


@given(st.sampled_from(("softmax", "log_softmax", "softmin")), st.data())
@examples(40)
def test_softmax(name, data):
    shape = data.draw(extents(st.integers(0, 4), data.draw(AMOUNTS), 0))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1)) if shape else 0
    dtype, spread = data.draw(FLOATS), data.draw(st.sampled_from((3.0, 3.0, 40.0)))
    x = data.draw(tensors(shape, dtype, -spread, spread, grad=True))
    program = lambda library, t: getattr(library.nn.functional, name)(t, dim)  # noqa: E731
    found, truth, above = differentiated(program, [x], data, dtype)
    units = 3.0 if is_low(dtype) else 24.0
    if name == "log_softmax":
        close(found[0], truth[0], truth[0].abs() + spread, units)
    else:
        close(found[0], truth[0], truth[0] * (1 + spread) + 1e-30, units)
    if not truth[0].numel():
        return
    n = shape[dim] if shape else 1
    if name == "log_softmax":
        scale = above.abs() + truth[0].exp() * (
            above.abs().sum(dim, True) if shape else above.abs()
        )
        # the result that is saved has the error of one rounding of itself in its exponent
        scale = scale * (1 + spread)
    else:
        inner = (above.abs() * truth[0]).sum(dim, True) if shape else above.abs()
        least = 2.0**-14 if dtype == "float16" else 0.0  # of its numbers that are not rounded more
        scale = (above.abs() + inner) * (truth[0] + least) * (1 + spread)
    close(found[1], truth[1], scale + 1e-30, units + n**0.5)


@given(st.sampled_from(("softmax", "log_softmax")), st.data())
@examples(60)
def test_softmax_of_nan_and_infinity(name, data):
    shape = data.draw(extents(st.integers(1, 4), 1 << 12))
    dim = data.draw(st.integers(0, len(shape) - 1))
    x = data.draw(tensors(shape, data.draw(FLOATS), odd=data.draw(st.sampled_from((ODD, ODD[2:])))))
    ours = twin(on_threads(lambda: getattr(rushlight, name)(x, dim)))
    truth = getattr(torch, name)(exact(x), dim)
    assert torch.equal(torch.isnan(ours), torch.isnan(truth))
    assert torch.equal(torch.isneginf(ours), torch.isneginf(truth))


@st.composite
def classes(draw):
    """(N, C, ...) of scores: rows, planes, few and many."""
    inner = draw(extents(st.integers(0, 2), 600))
    n, c = draw(extents(2, draw(st.sampled_from((1 << 8, 1 << 12, 1 << 14)))))
    shape = n, c, *inner
    total = n * c
    for extent in inner:
        total *= extent
    return shape if total <= 1 << 18 else (n, c)


@given(st.sampled_from(("cross_entropy", "nll_loss")), classes(), st.data())
@examples(50)
def test_class_losses(name, shape, data):
    """Of class numbers: weights, targets to ignore, smoothing, the three reductions."""
    dtype, (n, c, *inner) = data.draw(FLOATS), shape
    x = data.draw(tensors(shape, dtype, -4.0, 4.0, grad=True))
    ignored = data.draw(st.sampled_from((-100, -100, 0, -1)))
    target = data.draw(tensors((n, *inner), "int64", 0, c)).clone()
    if data.draw(st.booleans()):
        target = target.masked_fill(target % 3 == 1, ignored)
    weight = data.draw(st.one_of(st.none(), tensors((c,), dtype, 0.2, 2.0)))
    few_enough = dtype != "float16" or target.numel() < 2000  # their sum is a number
    reduction = data.draw(st.sampled_from(("mean", "none", *["sum"] * few_enough)))
    more = {"ignore_index": ignored, "reduction": reduction}
    if name == "cross_entropy":
        more["label_smoothing"] = data.draw(st.sampled_from((0.0, 0.0, 0.1, 0.7)))
    if data.draw(st.booleans()) and len(shape) == 2 and n == 1:
        x, target = x.detach()[0].requires_grad_(), target[0]

    def program(library, scores, numbers, weights):
        return getattr(library.nn.functional, name)(scores, numbers, weights, **more)

    found, truth, above = differentiated(program, [x, target, weight], data, dtype)
    size, terms = 16.0, max(1, target.numel())
    if reduction == "sum":
        size = size * terms
    most = float(above.abs().max()) if above.numel() else 0.0
    few = 1.0 if is_low(dtype) else 4.0 + min(terms, 4096) ** 0.5 / 2
    close(found[0], truth[0], size, few)
    kept = max(1, int((target != ignored).sum()))
    share = 4.0 * most / (kept * 0.2 if reduction == "mean" else 1)
    share += 2.0**-15 if dtype == "float16" else 0.0  # its smallest numbers are rounded twice
    close(found[1], truth[1], share, 2.0 if is_low(dtype) else 16.0 + c**0.5)


@given(classes(), st.data())
@examples(50)
def test_cross_entropy_of_probabilities(shape, data):
    dtype = data.draw(WIDE)
    x = data.draw(tensors(shape, dtype, -4.0, 4.0, grad=True))
    target = data.draw(tensors(shape, dtype, 0.1, 1.0))
    target = (target / target.sum(1, True)).detach().requires_grad_()
    weight = data.draw(st.one_of(st.none(), tensors((shape[1],), dtype, 0.2, 2.0)))
    more = {"reduction": data.draw(st.sampled_from(("mean", "sum", "none"))),
            "label_smoothing": data.draw(st.sampled_from((0.0, 0.2)))}  # fmt: skip

    def program(library, scores, goal, weights):
        return library.nn.functional.cross_entropy(scores, goal, weights, **more)

    found, truth, above = differentiated(program, [x, target, weight], data, dtype)
    terms = x.numel() if more["reduction"] != "none" else shape[1]
    rows = x.numel() // shape[1]
    many = rows if more["reduction"] == "sum" else 1
    close(found[0], truth[0], 24.0 * many, 8.0 + min(terms, 4096) ** 0.5)
    part = above.abs().max() / (rows if more["reduction"] == "mean" else 1)
    close(found[1], truth[1], 8.0 * part, 16.0 + shape[1] ** 0.5)
    close(found[2], truth[2], 24.0 * part, 16.0)


LOSSES = {
    "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": (1.0, 0.3)},
    "huber_loss": {"delta": (1.0, 0.4)}, "binary_cross_entropy": {},
    "kl_div": {"log_target": (False, True)},
    "binary_cross_entropy_with_logits": {}, "poisson_nll_loss": {"log_input": (True,)},
    "soft_margin_loss": {},
}  # fmt: skip


@given(st.sampled_from(tuple(LOSSES)), st.data())
@examples(50)
def test_pairs(name, data):
    """Losses of pairs of one shape, or of one that broadcasts; both get gradients."""
    shape = data.draw(extents(st.integers(0, 4), data.draw(AMOUNTS)))
    dtype = data.draw(FLOATS if name in ("mse_loss", "l1_loss") else WIDE)
    usual = "batchmean" if name == "kl_div" and shape else "sum" if name == "kl_div" else "mean"
    reduction = data.draw(st.sampled_from((usual, "sum", "none")))
    more = {k: data.draw(st.sampled_from(v)) for k, v in LOSSES[name].items()}
    unit = name in ("binary_cross_entropy",)
    low, high = (0.05, 0.95) if unit else (-2.0, 2.0)
    x = data.draw(tensors(shape, dtype, low, high, grad=True))
    goal = (
        (0.05, 0.95) if unit or name in ("kl_div", "binary_cross_entropy_with_logits") else (-2, 2)
    )
    with_target = name not in ("poisson_nll_loss", "soft_margin_loss")
    y = data.draw(tensors(shape, dtype, *goal, grad=with_target))
    if more.get("log_target"):
        y = y.detach().log().requires_grad_()

    def program(library, a, b):
        return getattr(library.nn.functional, name)(a, b, reduction=reduction, **more)

    found, truth, above = differentiated(program, [x, y], data, dtype)
    terms = 1 if reduction == "none" else max(1, x.numel())
    many = 1 if reduction in ("none", "mean") else terms
    few = 2.0 if is_low(dtype) else 12.0
    close(
        found[0], truth[0], 16.0 * many, few + (0 if is_low(dtype) else min(terms, 4096) ** 0.5 / 2)
    )
    part = above.abs().max() / (terms if reduction == "mean" else 1) if above.numel() else 0.0
    for ours, right in zip(found[1:], truth[1:], strict=True):
        close(ours, right, 24.0 * part, few)


@given(st.data())
@examples(50)
def test_weighted_logits(data):
    """binary_cross_entropy_with_logits with weights and positive weights that broadcast."""
    shape = data.draw(extents(st.integers(1, 3), 1 << 14))
    dtype, reduction = data.draw(WIDE), data.draw(st.sampled_from(("mean", "sum", "none")))
    x = data.draw(tensors(shape, dtype, -30.0, 30.0, grad=True))
    y = data.draw(tensors(shape, dtype, 0.0, 1.0))
    weight = data.draw(st.one_of(st.none(), tensors(shape[1:], dtype, 0.1, 2.0)))
    positive = data.draw(st.one_of(st.none(), tensors(shape[-1:], dtype, 0.1, 2.0)))

    def program(library, a, b, w, p):
        call = library.nn.functional.binary_cross_entropy_with_logits
        return call(a, b, weight=w, pos_weight=p, reduction=reduction)

    found, truth, above = differentiated(program, [x, y, weight, positive], data, dtype)
    many = max(1, x.numel()) if reduction == "sum" else 1
    close(found[0], truth[0], 120.0 * many, 8.0 + min(x.numel(), 4096) ** 0.5 / 2)
    part = above.abs().max() / (x.numel() if reduction == "mean" else 1)
    close(found[1], truth[1], 8.0 * part, 12.0)


@given(st.data())
@examples(40)
def test_alignments(data):
    """ctc_loss: lengths of inputs and targets, empty targets, equal labels beside each other."""
    steps, batch, labels = (data.draw(st.integers(1, n)) for n in (40, 9, 24))
    dtype, longest = data.draw(WIDE), data.draw(st.integers(0, min(12, steps)))
    blank = data.draw(st.integers(0, labels))
    x = data.draw(tensors((steps, batch, labels + 1), dtype, -3.0, 3.0, grad=True))
    targets = data.draw(tensors((batch, longest), "int64", 0, labels)).clone()
    targets = targets + (targets >= blank)
    lengths = [data.draw(st.integers(0, longest)) for _ in range(batch)]
    inputs = [data.draw(st.integers(max(1, min(steps, 2 * n + 1)), steps)) for n in lengths]
    reduction = data.draw(st.sampled_from(("mean", "sum", "none")))
    if data.draw(st.booleans()):  # one after the other
        rows = [targets[i, :n] for i, n in enumerate(lengths)]
        targets = rushlight.cat(rows) if sum(lengths) else targets.reshape(-1)[:0]
    infinite = data.draw(st.booleans())

    def program(library, scores, goal):
        call, given = library.nn.functional, scores.log_softmax(2)
        return call.ctc_loss(given, goal, inputs, lengths, blank, reduction, infinite)

    found, truth, above = differentiated(program, [x, targets], data, dtype)
    rough = 4.0 if dtype == "float64" else 1.0  # the truth has errors of its own
    close(found[0], truth[0], 4.0 * steps * (batch if reduction == "sum" else 1), 32.0)
    close(found[1], truth[1], 3.0 * above.abs().max() + 1e-30, (32.0 + 4 * steps) * rough)
