"""Which guards of a graph are kept: ``compile(options={"guard_filter_fn": function})``."""

import pytest

import rushlight
from rushlight import nn

KINDS = ("inductor", "eager")
scale = 2.0


class Scaled(nn.Module):
    """A layer of a user's class, which reads a number of its own."""

    def __init__(self):
        super().__init__()
        self.factor, self.linear = 3.0, nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x) * self.factor


def with_global(x):
    return x * scale


def compiled(program, guard_filter, backend):
    return rushlight.compile(program, backend=backend, options={"guard_filter_fn": guard_filter})


@pytest.fixture(autouse=True)
def _inference():
    with rushlight.no_grad():
        yield


@pytest.mark.parametrize("backend", KINDS)
def test_a_global_that_is_not_guarded_keeps_its_value(backend, monkeypatch):
    skip = rushlight.compiler.skip_guard_on_globals_unsafe
    run, kept = compiled(with_global, skip, backend), rushlight.compile(with_global)
    x = rushlight.ones(2)
    assert run(x).tolist() == kept(x).tolist() == [2.0, 2.0]
    monkeypatch.setitem(globals(), "scale", 5.0)
    assert run(x).tolist() == [2.0, 2.0]
    assert kept(x).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("backend", KINDS)
def test_modules(backend):
    """The number of a user's layer is a guard of all modules, not of those of `rushlight.nn`."""
    compiler, x = rushlight.compiler, rushlight.ones(1, 2)
    for skip, is_noticed in (
        (compiler.skip_guard_on_inbuilt_nn_modules_unsafe, True),
        (compiler.skip_guard_on_all_nn_modules_unsafe, False),
        (compiler.skip_all_guards_unsafe, False),
    ):
        net = Scaled()
        run, expected = compiled(net, skip, backend), net.linear(x)
        rushlight.testing.assert_close(run(x), expected * 3.0)
        net.factor = 4.0
        rushlight.testing.assert_close(run(x), expected * (4.0 if is_noticed else 3.0))


def test_inbuilt_modules_are_not_guarded():
    layer, x = nn.Linear(2, 2), rushlight.ones(1, 2)
    first = layer(x)
    for skip in ("skip_guard_on_inbuilt_nn_modules_unsafe", "keep_tensor_guards_unsafe"):
        run = compiled(layer, getattr(rushlight.compiler, skip), "inductor")
        rushlight.testing.assert_close(run(x), first)
        weight, layer.weight = layer.weight, nn.Parameter(rushlight.zeros(2, 2))
        rushlight.testing.assert_close(run(x), first)
        layer.weight = weight


def test_what_is_always_looked_at():
    """Shapes, modes, and tensors that get other memory."""
    held = rushlight.ones(2)
    run = compiled(lambda x: x * held, rushlight.compiler.skip_all_guards_unsafe, "inductor")
    assert run(rushlight.ones(2)).tolist() == [1.0, 1.0]
    assert run(rushlight.ones(3, 2)).tolist() == [[1.0, 1.0]] * 3
    held.data = rushlight.full((2,), 7.0)
    assert run(rushlight.ones(2)).tolist() == [7.0, 7.0]


def test_entries():
    """The kinds and names that PyTorch has for the same program, of what both guard."""
    seen = []
    keep = lambda entries: seen.extend(entries) or [True] * len(entries)
    net = Scaled()
    program = lambda x: net(x) * scale
    compiled(program, keep, "eager")(rushlight.ones(1, 2))
    by_name = {entry.name: entry for entry in seen}
    found = by_name[f"{__name__}.scale"]
    assert (found.value, found.guard_type, found.is_global) == (scale, "CONSTANT_MATCH", True)
    assert not found.orig_guard.source.is_unspecialized_nn_module()
    factor = by_name["Scaled.factor"]
    assert (factor.value, factor.guard_type, factor.is_global) == (3.0, "CONSTANT_MATCH", False)
    assert factor.orig_guard.source.is_unspecialized_nn_module()
    assert not factor.orig_guard.source.is_unspecialized_builtin_nn_module()
    weight = by_name["Linear._parameters.weight"]
    assert weight.value is net.linear.weight and weight.guard_type == "TENSOR_MATCH"
    assert weight.orig_guard.source.is_unspecialized_builtin_nn_module()
    assert any(entry.guard_type == "EMPTY_NN_MODULE_HOOKS_DICT" for entry in seen)


def test_filters_of_torch_entries():
    """Each filter gives for PyTorch's entries what PyTorch's filter gives."""
    torch = pytest.importorskip("torch")
    seen = []

    def keep(entries):
        seen.extend(entries)
        return [True] * len(entries)

    layer, number = torch.nn.Linear(2, 2), torch.tensor(2.0)
    run = torch.compile(lambda x: layer(x) * number, backend="eager", options={
        "guard_filter_fn": keep})  # fmt: skip
    run(torch.ones(1, 2))
    assert seen
    for name in rushlight.compiler.guard_filters.__all__:
        if name == "keep_tensor_guards_unsafe":  # asks for the library's own class of parameters
            continue
        assert getattr(rushlight.compiler, name)(seen) == getattr(torch.compiler, name)(seen)


def test_parameters_among_tensor_guards():
    seen = []
    keep = lambda entries: seen.extend(entries) or [True] * len(entries)
    layer, other = nn.Linear(2, 2), rushlight.ones(2)
    compiled(lambda x: layer(x) * other, keep, "eager")(rushlight.ones(1, 2))
    tensors = rushlight.compiler.keep_tensor_guards_unsafe
    kept = [e.value for e, is_kept in zip(seen, tensors(seen), strict=True) if is_kept]
    assert [value is other for value in kept] == [True]
    assert sum(tensors(seen, keep_parameters=True)) == 3

    run = compiled(layer, lambda entries: tensors(entries, keep_parameters=True), "inductor")
    run(rushlight.ones(1, 2))
    layer.weight = nn.Parameter(rushlight.zeros(2, 2))
    rushlight.testing.assert_close(run(rushlight.ones(1, 2)), layer.bias[None])


@pytest.mark.parametrize("wrong, text", [
    (lambda entries: [True], "a bool for each"), (lambda entries: [1] * len(entries), "bools"),
])  # fmt: skip
def test_wrong_filters(wrong, text):
    with pytest.raises(AssertionError, match=text):
        compiled(with_global, wrong, "inductor")(rushlight.ones(2))


def test_wrong_options():
    with pytest.raises(TypeError, match=r"options\['guard_filter_fn'\] must be a function"):
        rushlight.compile(with_global, options={"guard_filter_fn": 3})
    with pytest.raises(TypeError, match="options must be a dict or None, got list"):
        rushlight.compile(with_global, options=[1])
    with pytest.raises(RuntimeError, match="attr freezing, got int should be bool"):
        rushlight.compile(with_global, options={"freezing": 3})
