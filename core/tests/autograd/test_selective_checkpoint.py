"""Checkpoints that keep the results of chosen ops: the same gradients, fewer products."""

import functools

import pytest

import rushlight
from rushlight.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)
from rushlight.utils.flop_counter import FlopCounterMode

aten = rushlight.ops.aten


class Block(rushlight.nn.Module):
    """Layers, a product, a nonlinearity, a result of several tensors."""

    def __init__(self):
        super().__init__()
        self.first, self.second = rushlight.nn.Linear(4, 8), rushlight.nn.Linear(8, 4)

    def forward(self, x):
        hidden = rushlight.nn.functional.gelu(self.first(x))
        values, _ = (self.second(hidden) @ x.t()).sort(-1)
        return values.softmax(-1).log().cumsum(0)


def run(policy=None, twice=False):
    """Gradients, and the multiplications and additions that the backward pass counts."""
    rushlight.manual_seed(0)
    block, x = Block(), rushlight.linspace(0, 1, 12).reshape(3, 4).requires_grad_()
    if policy is None:
        out = block(x)
    else:
        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        out = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
    inputs = (x, *block.parameters())
    with FlopCounterMode(display=False) as counter:
        found = rushlight.autograd.grad(out.square().sum(), inputs, create_graph=twice)
    if twice:
        found = rushlight.autograd.grad(sum(g.square().sum() for g in found), inputs)
    return found, counter.get_total_flops()


PRODUCTS = [aten.mm.default, aten.addmm.default]
SEEN = []


def by_function(context, op, *args, **kwargs):
    assert isinstance(context, SelectiveCheckpointContext)
    SEEN.append((context.is_recompute, str(op)))
    return CheckpointPolicy.MUST_SAVE if op in PRODUCTS else CheckpointPolicy.PREFER_RECOMPUTE


POLICIES = {
    "nothing": [],
    "products": PRODUCTS,
    "much": [*PRODUCTS, aten.sort.default, aten.gelu.default, rushlight.cumsum],
    "function": by_function,
    "everything": lambda *args, **kwargs: CheckpointPolicy.PREFER_SAVE,
    "bool": lambda context, op, *args, **kwargs: op is aten.mm.default,
}


@pytest.mark.parametrize("twice", (False, True))
@pytest.mark.parametrize("name", POLICIES)
def test_gradients_are_those_without(name, twice):
    expected, _ = run(twice=twice)
    found, _ = run(POLICIES[name], twice)
    for ours, theirs in zip(found, expected, strict=True):
        assert rushlight.allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_kept_products_are_not_computed_again():
    _, plain = run()
    _, recomputed = run([])
    for name in ("products", "function", "everything"):
        assert run(POLICIES[name])[1] == plain < recomputed
    assert {second for second, _ in SEEN} == {False}  # the second run repeats what was decided
    assert {op for _, op in SEEN} >= {"aten.mm.default", "aten.addmm.default", "aten.gelu.default"}


def test_backward_twice_and_wrong_uses():
    x = rushlight.ones(2, 2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [aten.exp.default])
    out = checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False, context_fn=contexts).sum()
    first = rushlight.autograd.grad(out, x, retain_graph=True)[0]
    assert rushlight.autograd.grad(out, x)[0].equal(first)
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)

    def writes(t):
        y = t.exp()
        z = y.sin()
        y.mul_(2)
        return z

    out = checkpoint(writes, x, use_reentrant=False, context_fn=contexts).sum()
    with pytest.raises(RuntimeError, match="cached during selective activation checkpoint has"):
        out.backward()


def test_parts_of_the_module_that_programs_use():
    from rushlight.utils.checkpoint import (
        check_backward_validity,
        detach_variable,
        set_checkpoint_early_stop,
    )

    x = rushlight.ones(2, requires_grad=True)
    leaf, number = detach_variable((x * 2, 3))
    assert leaf.is_leaf and leaf.requires_grad and number == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([x])
    check_backward_validity([x, 3])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([x.detach()])
    with set_checkpoint_early_stop(False):
        checkpoint(lambda t: t.exp(), x, use_reentrant=False).sum().backward()
    assert rushlight.allclose(x.grad, x.detach().exp())
