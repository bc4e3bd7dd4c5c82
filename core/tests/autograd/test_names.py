"""Names of the autograd modules that programs use, and what is refused among them."""

from __future__ import annotations

import importlib

import pytest

import rushlight
from rushlight.autograd import function as functions

torch = pytest.importorskip("torch")


class Rounded(functions.InplaceFunction):
    """As quantizing programs write it: a classmethod."""

    @classmethod
    def forward(cls, ctx, input, steps, inplace=False):
        ctx.steps = steps
        if inplace:
            ctx.mark_dirty(input)
        out = input if inplace else input.clone()
        return out.mul_(steps).round_().div_(steps)

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.steps, None, None


def test_functions_that_write_in_place():
    for inplace in (False, True):
        x = rushlight.tensor([0.26, 0.6], requires_grad=True)
        y = x * 1
        out = Rounded.apply(y, 4, inplace)
        assert (out is y) == inplace and out.tolist() == [0.25, 0.5]
        out.sum().backward()
        assert x.grad.tolist() == [4, 4]
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert functions.InplaceFunction(True).inplace
    assert type(Rounded) is functions.FunctionMeta


def test_nodes_of_custom_functions_are_known_by_their_kind():
    x = rushlight.ones(2, requires_grad=True)
    assert isinstance(Rounded.apply(x, 4).grad_fn, functions.BackwardCFunction)
    assert not isinstance((x * 2).grad_fn, functions.BackwardCFunction)
    with pytest.raises(NotImplementedError, match="isinstance"):
        functions.BackwardCFunction()


def test_shared_storage_needs_no_mark():
    with pytest.warns(FutureWarning, match="deprecated"):
        functions.FunctionCtx().mark_shared_storage()


def test_settings_are_kept():
    autograd = rushlight.autograd
    assert autograd.is_multithreading_enabled() and not autograd.is_view_replay_enabled()
    with autograd.set_multithreading_enabled(False):
        assert not autograd.is_multithreading_enabled()
    assert autograd.is_multithreading_enabled()
    autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)


REFUSED = {
    "autograd": "NestedIOFunction",
    "autograd.function": "NestedIOFunction custom_function_call",
    "autograd.graph": "region_activation_memory_budget set_override_stale_capture_stream",
    "utils.checkpoint": "GraphExecGroup SAC_IGNORED_OPS",
    "library": "register_torch_dispatch",
}


@pytest.mark.parametrize("module", REFUSED)
def test_refused_names_say_what_to_use(module):
    found = importlib.import_module(f"rushlight.{module}")
    for name in REFUSED[module].split():
        with pytest.raises(NotImplementedError, match="Instead: (?!see the list)"):
            getattr(found, name)()
    if module != "library":
        with pytest.raises(AttributeError):
            _ = found.no_such_name


LEAVES = {
    "permuted": lambda L: L.ones(2, 3, 4).permute(2, 0, 1),
    "transposed": lambda L: L.ones(3, 4).t(),
    "expanded": lambda L: L.ones(1).expand(3, 4),
    "channels last": lambda L: L.ones(2, 3, 4, 5).contiguous(memory_format=L.channels_last),
    "with gaps": lambda L: L.ones(4, 6)[:, ::2],
    "contiguous": lambda L: L.ones(4, 6),
}
USES = {
    "product": lambda L, p: (p * 2).sum(),
    "sum": lambda L, p: p.sum(),
    "other way": lambda L, p: (p.transpose(0, 1) * L.ones(p.transpose(0, 1).shape)).sum(),
    "matrix": lambda L, p: (p.reshape(p.shape[0], -1) @ L.ones(p[0].numel(), 2)).sum(),
    "twice": lambda L, p: (p * 2).sum() + (p.transpose(0, 1) * 2).sum(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("leaf", LEAVES)
def test_gradients_have_the_strides_of_their_leaves(leaf, use):
    found = []
    for L in (torch, rushlight):
        p = LEAVES[leaf](L).detach().requires_grad_()
        USES[use](L, p).backward()
        first = p.grad.stride()
        USES[use](L, p).backward()
        found.append((first, p.grad.stride(), p.grad.tolist()))
    assert found[0] == found[1]


def test_strides_may_be_left_as_they_come():
    def stride():
        p = rushlight.ones(3, 4).t().requires_grad_()
        (p * 2).sum().backward()
        return p.grad.stride()

    assert stride() == (1, 4)
    with rushlight.autograd.enforce_grad_layout_policy(False):
        assert stride() == (3, 1)
    assert stride() == (1, 4)
