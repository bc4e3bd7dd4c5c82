"""Inner names of PyTorch's optimizers that optimizers of libraries import."""

from __future__ import annotations

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")
PAIR = (rushlight, torch)


def inner(home):
    """The module of a library's optimizer class."""
    return importlib.import_module(f"{home.__name__}.optim.optimizer")


def kinds(home):
    """Lists of parameters of several kinds, by name."""
    return {
        "parameters": [home.nn.Parameter(home.ones(1)), None],
        "plain": [home.ones(1)],
        "numbers": [home.ones(1, dtype=home.int32)],
        "meta": [home.ones(1, device="meta")],
    }


@pytest.mark.parametrize("name", kinds(rushlight))
@pytest.mark.parametrize("differentiable", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_the_form_of_a_step_by_default(name, differentiable, fused):
    ours, theirs = (
        inner(home)._default_to_fused_or_foreach(kinds(home)[name], differentiable, fused)
        for home in PAIR
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "home._get_value(torch.tensor(2.0)), home._get_value(3)",
        "home._to_scalar(torch.ones(1)).shape == (), home._to_scalar(3)",
        "str(home._get_scalar_dtype()).split('.')[1]",
        "home._stack_if_compiling([1, 2])",
        "repr(home.required), isinstance(home.required, home._RequiredParameter)",
        "home._device_dtype_check_for_fused(torch.ones(1))",
        "all(isinstance(getattr(home, f'_{n}_doc'), str) for n in ('fused', 'maximize'))",
    ],
)
def test_small_names(text):
    ours, theirs = (
        eval(text, {"home": inner(home), "torch": home})  # noqa: S307
        for home in PAIR
    )
    assert ours == theirs


def test_a_parameter_that_cannot_be_updated_by_one_kernel():
    for home in PAIR:
        with pytest.raises(RuntimeError, match="floating point"):
            inner(home)._device_dtype_check_for_fused(home.ones(1, dtype=home.int32))


def test_complex_parameters_as_pairs():
    found = []
    for home in PAIR:
        params = [home.tensor([1 + 2j]), home.ones(1)]
        state = [home.tensor([3j]), home.zeros(1)]
        inner(home)._view_as_real(params, state)
        found.append([x.tolist() for x in (*params, *state)])
    assert found[0] == found[1]


def own_optimizer(home, decorate):
    """An optimizer of one's own, whose `step` says whether gradients are recorded."""

    class Own(home.optim.Optimizer):
        def __init__(self, params, differentiable):
            super().__init__(params, {"differentiable": differentiable})

    def step(self, closure=None):
        return home.is_grad_enabled()

    Own.step = decorate(home, step)
    return Own


@pytest.mark.parametrize("differentiable", [False, True])
def test_a_step_that_records_gradients_where_it_is_differentiable(differentiable):
    for home in PAIR:
        kind = own_optimizer(
            home, lambda home, step: inner(home)._use_grad_for_differentiable(step)
        )
        optimizer = kind([home.nn.Parameter(home.ones(1))], differentiable)
        assert optimizer.step() is differentiable
        assert home.is_grad_enabled()


def test_a_step_that_is_set_later_calls_hooks():
    found = []
    for home in PAIR:
        optimizer = own_optimizer(home, lambda home, step: step)(
            [home.nn.Parameter(home.ones(1))], False
        )
        optimizer._patch_step_function()
        seen = []
        optimizer.register_step_pre_hook(lambda *args, seen=seen: seen.append("before"))
        optimizer.register_step_post_hook(lambda *args, seen=seen: seen.append("after"))
        found.append([optimizer.step(), seen, optimizer._zero_grad_profile_name])
    assert found[0] == found[1]
    assert found[0][1] == ["before", "after"]


@pytest.mark.parametrize("key", [None, "step"])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "int32"])
def test_a_loaded_value_of_state(key, fused, dtype):
    found = []
    for home in PAIR:
        parameter = home.ones(2, dtype=getattr(home, dtype))
        value = home.ones(2, dtype=home.float64)
        groups = [{"params": [7], "fused": fused, "capturable": False}]
        out = home.optim.Optimizer._process_value_according_to_param_policy(
            parameter, value, 7, groups, key
        )
        found.append(str(out.dtype).split(".")[1])
    assert found[0] == found[1]


def test_tensors_of_an_optimizer_grouped():
    found = []
    for home in PAIR:
        lists = [[home.ones(1), home.ones(2, dtype=home.float64), home.ones(3)]]
        optimizer = home.optim.SGD([home.nn.Parameter(home.ones(1))], 0.1)
        groups = optimizer._group_tensors_by_device_and_dtype(lists, with_indices=True)
        found.append(sorted(positions for _, positions in groups.values()))
    assert found[0] == found[1] == [[0, 2], [1]]


def test_the_base_of_storages():
    for home in PAIR:
        assert isinstance(home.ones(1).untyped_storage(), home.StorageBase)
        assert issubclass(home.UntypedStorage, home.StorageBase)
        assert not isinstance(home.ones(1), home.StorageBase)
