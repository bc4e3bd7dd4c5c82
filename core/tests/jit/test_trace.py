"""Programs of recorded calls: ``jit.trace`` and ``jit.trace_module``."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight import jit, nn

CHECK = Path(__file__).parent / "check_archives.py"
# Whose second call gives another result.
WITH_STATE = ("batch_norm",)
# Which return numbers, strings or values of several types: PyTorch 2.13 refuses these, too.
UNTRACED = (
    "ControlFlow", "Containers", "Tuples", "Objects", "Operators", "Dtypes", "Counter", "Any",
)  # fmt: skip


def _traceable(programs):
    for name in programs.MODULES:
        module, inputs, _ = programs.build(name)
        if all(isinstance(i, rushlight.Tensor) for i in inputs) and name not in WITH_STATE:
            yield name, module, tuple(inputs)


@pytest.mark.filterwarnings("ignore::rushlight.jit.TracerWarning")
def test_traces_of_all_programs(programs, archives, tmp_path, assert_same):
    pytest.importorskip("torch")
    count = 0
    for name, module, inputs in _traceable(programs):
        _, results = rushlight.load(archives / f"{name}.results.pt")
        count += 1
        if name in UNTRACED:
            with pytest.raises(RuntimeError, match="can be output from|elements of one type"):
                jit.trace(module, inputs, check_trace=False, strict=False)
            continue
        traced = jit.trace(module, inputs, check_trace=False, strict=False)
        assert_same(traced(*inputs), results[0], name)
        traced.save(tmp_path / f"{name}.pt")
        assert_same(jit.load(tmp_path / f"{name}.pt")(*inputs), results[0], name)
    assert count > 32
    command = [sys.executable, "-W", "ignore", str(CHECK), str(tmp_path), str(archives)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_functions():
    def mixed(x, y):
        z = F.relu(x @ y) + 2 * x.sum(dim=0, keepdim=True)
        return z, rushlight.cat([x, x], dim=0)[1:, ::2]

    x, y = rushlight.randn(3, 3), rushlight.randn(3, 3)
    traced = jit.trace(mixed, (x, y))
    assert isinstance(traced, jit.ScriptFunction)
    assert traced.schema == "mixed(Tensor x, Tensor y) -> Tuple[Tensor, Tensor]"
    other = rushlight.randn(3, 3, requires_grad=True)
    ours, theirs = traced(other, y), mixed(other, y)
    assert all(rushlight.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    ours[0].sum().backward()
    assert other.grad is not None


def test_sizes_are_found_again():
    def reshaped(x):
        rows = x.size(0) * 2
        return x.view(x.shape[0], -1).reshape(rows, -1).expand(rows, x.numel() // rows)

    traced = jit.trace(reshaped, rushlight.randn(2, 4, 3))
    with pytest.raises(RuntimeError):
        traced(rushlight.randn(2, 4, 3, 2))  # the number of elements was a number
    assert "torch.view(x, torch.size(x, 0), -1)" in traced.code
    assert "(torch.size(x, 0)) * (2)" in traced.code

    flat = jit.trace(lambda x: x.view(x.size(0), -1) + 1, rushlight.randn(2, 4, 3))
    assert flat(rushlight.randn(7, 2, 2)).shape == (7, 4)


def test_values_that_python_looks_at_warn():
    def branch(x):
        if x.sum() > 0:
            return x * 2
        return x - float(x.max())

    with pytest.warns(jit.TracerWarning, match="Converting a tensor to a Python boolean"):
        traced = jit.trace(branch, rushlight.ones(2), check_trace=False)
    assert traced(-rushlight.ones(2)).tolist() == [-2.0, -2.0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jit.trace(branch, -rushlight.ones(2), check_trace=False)
    assert [type(w.message) for w in caught] == [jit.TracerWarning] * 2
    assert "Python float" in str(caught[1].message)


def counting(library):
    """A function that does something else at each call."""
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    return f


def branching(library):
    return lambda x: x * 2 if bool(x.sum() > 0) else x * 3


def a_method(library):
    class Branching(library.nn.Module):
        def forward(self, x):
            return branching(library)(x)

    return Branching()


LIBRARIES = ["rushlight", "torch"]


@pytest.mark.filterwarnings("ignore:.*TracerWarning|Converting a tensor|Output nr|.*deprecated")
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("make", [counting, branching, a_method])
def test_another_program_is_an_error(library, make):
    module = pytest.importorskip(library)
    function, x = make(module), module.ones(3)
    examples = [(-x,)] if make is not counting else None
    with pytest.raises(module.jit.TracingCheckError, match="Graphs differed across invocations!"):
        module.jit.trace(function, (x,), check_inputs=examples, check_tolerance=10)
    assert module.jit.trace(function, (x,), check_trace=False)(x).shape == (3,)
    if make is not counting:  # the same way is taken again
        assert module.jit.trace(function, (x,), check_inputs=[(2 * x,)])(x).tolist() == [2.0] * 3


def test_results_are_compared():
    given = rushlight.zeros(1)

    def changing(x):
        return x + given.add_(1).detach().clone()

    with pytest.warns(jit.TracerWarning, match="Output nr 1. of the traced function"):
        jit.trace(changing, rushlight.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.trace(lambda x: F.dropout(x, 0.5), rushlight.ones(20))


@jit.script
def clipped(x, high: float):
    if bool(x.sum() > high):
        return x * 0
    return x


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.scale = nn.Parameter(rushlight.tensor(2.0))
        self.register_buffer("shift", rushlight.tensor(1.0))
        self.fixed = rushlight.tensor([5.0, 6.0, 7.0])

    def other(self, x):
        return clipped(self.layer(x), 1000.0)

    def forward(self, x):
        assert jit.is_tracing() or not isinstance(x, rushlight.Tensor) or True
        return self.layer(x) * self.scale + self.shift + self.fixed


def test_modules_keep_parameters_layers_and_control_flow():
    module = Holder().eval()
    x = rushlight.randn(4, 2)
    traced = jit.trace_module(module, {"forward": x, "other": x})
    assert list(traced.state_dict()) == list(module.state_dict())
    assert next(traced.parameters()) is next(module.parameters())
    assert rushlight.equal(traced(x), module(x))
    assert traced.layer[1].original_name == "BatchNorm1d"
    assert "self.layer" in traced.code
    assert rushlight.equal(traced.other(x), module.other(x))
    assert traced.other(x * 1e6).abs().sum() == 0 or (module.other(x * 1e6)).abs().sum() > 0
    traced.train()
    before = module.layer[1].running_mean.clone()
    traced(x)
    assert not rushlight.equal(before, module.layer[1].running_mean)
    assert not jit.is_tracing()


def test_constants_are_kept_as_they_were():
    def writes(x):
        total = rushlight.zeros(3)
        total[0] += x[0]
        return total

    traced = jit.trace(writes, rushlight.ones(3))
    assert traced(rushlight.ones(3)).tolist() == [1.0, 0.0, 0.0]
    assert traced(rushlight.ones(3) * 2).tolist() == [2.0, 0.0, 0.0]


def test_tensors_made_inside_are_made_again():
    def noisy(x):
        return x + rushlight.rand(x.shape) + x.new_zeros(2) + rushlight.arange(2, dtype=x.dtype)

    traced = jit.trace(noisy, rushlight.zeros(2))
    assert not rushlight.equal(traced(rushlight.zeros(2)), traced(rushlight.zeros(2)))
    assert "torch.rand(" in traced.code
    assert rushlight.zeros.__module__.startswith("rushlight.ops")
    outside = rushlight.zeros(2)

    def writes(x):
        outside.add_(x)
        return outside

    with pytest.raises(NotImplementedError, match="written into one that was made outside"):
        jit.trace(writes, rushlight.ones(2))


def test_functions_compiled_inside_of_traces():
    calls = []

    @jit.script_if_tracing
    def loop(x, n: int):
        for i in range(n):
            x = x + i
        return x

    def uses(x):
        calls.append(jit.is_tracing())
        return loop(x, 3)

    assert uses(rushlight.ones(1)).tolist() == [4.0]
    traced = jit.trace(uses, rushlight.ones(1), check_trace=False)
    assert calls == [False, True]
    assert traced(rushlight.ones(2)).tolist() == [4.0, 4.0]
    assert "loop(x, 3)" in traced.code


def test_what_cannot_be_traced():
    with pytest.raises(RuntimeError, match="Encountering a dict at the output"):
        jit.trace(lambda x: {"a": x}, rushlight.ones(2))
    with pytest.raises(TypeError, match="expected a function or a module"):
        jit.trace(3, rushlight.ones(2))
    with pytest.raises(AttributeError, match=r"\(method_name, input\) pairs"):
        jit.trace_module(nn.Linear(2, 2), rushlight.ones(2))


REFUSED = {
    "output from traced functions, not int": lambda x: 3,
    "output from traced functions, not str": lambda x: "s",
    "output from traced functions, not None": lambda x: None,
    "output from traced functions, not float": lambda x: (x, [x.sum().item()]),
    "output from traced functions, not object": lambda x: (x, object()),
    "a list at the output must have elements of one type": lambda x: [x, (x,)],
    "an empty list": lambda x: (x, []),
    "Encountering a dict": lambda x: (x, {"a": x}),
}


@pytest.mark.filterwarnings("ignore::rushlight.jit.TracerWarning")
@pytest.mark.parametrize("message", REFUSED)
def test_results_that_are_no_tensors_are_refused(message):
    with pytest.raises(RuntimeError, match=message):
        jit.trace(REFUSED[message], rushlight.ones(2))


def test_dicts_that_are_refused_and_taken():
    for wrong in (lambda x: {}, lambda x: {"a": x, 3: x}, lambda x: {"a": x, "b": (x,)}):
        with pytest.raises(RuntimeError, match="dict at the output"):
            jit.trace(wrong, rushlight.ones(2), strict=False)
    traced = jit.trace(lambda x: (x, {"a": x * 2}), rushlight.ones(2), strict=False)
    assert traced(rushlight.ones(1))[1]["a"].tolist() == [2.0]
    assert jit.trace(lambda x: x.shape[0] * 2, rushlight.ones(2))(rushlight.ones(5)) == 10


def _set(x, i, value):
    y = x.clone()
    y[i] = value
    return y


INDEXED = {
    "tensor": lambda x, i: x[i],
    "beside a slice": lambda x, i: x[i, :2],
    "after a slice": lambda x, i: x[:, i],
    "several": lambda x, i: x[i, i],
    "a mask": lambda x, i: x[x > 0.5],
    "a mask beside a slice": lambda x, i: x[:, x[0] > 0.5],
    "computed": lambda x, i: x[x.argmax(0)],
    "of a constant": lambda x, i: rushlight.arange(4.0)[i],
    "negative": lambda x, i: x[-i - 1],
    "a number written": lambda x, i: _set(x, i, 2.0),
    "a tensor written": lambda x, i: _set(x, (slice(None), i), x[:, :2] * 3),
    "a mask written": lambda x, i: _set(x, x > 0.5, 0.0),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_are_those_of_other_inputs(name, tmp_path):
    def values(seed, *places):
        rushlight.manual_seed(seed)
        return rushlight.rand(3, 4), rushlight.tensor(places)

    traced = jit.trace(INDEXED[name], values(0, 0, 1), check_trace=False)
    for given in (values(0, 0, 1), values(1, 2, 0), values(2, 1, 1)):
        assert rushlight.equal(traced(*given), INDEXED[name](*given))


class _Product(rushlight.nn.Module):
    def forward(self, x, y, scale=None):
        return x @ y if scale is None else x @ y * scale


def test_keyword_arguments_come_in_the_order_of_parameters():
    x, y = rushlight.arange(6.0).reshape(2, 3), rushlight.ones(3, 4)
    named = {"y": y, "x": x}
    of_function = rushlight.jit.trace(lambda x, y: x @ y, example_kwarg_inputs=named)
    of_module = rushlight.jit.trace(_Product(), example_kwarg_inputs=named)
    of_methods = rushlight.jit.trace_module(
        _Product(), {"forward": named}, example_inputs_is_kwarg=True
    )
    for traced in (of_function, of_module, of_methods):
        assert traced(y=y, x=x).tolist() == (x @ y).tolist()


def test_keyword_arguments_with_a_gap_are_refused():
    named = {"x": rushlight.ones(2, 2), "scale": rushlight.ones(2)}
    with pytest.raises(TypeError, match="'y'"):
        rushlight.jit.trace(_Product(), example_kwarg_inputs=named)

    def shifted(x, y=None, z=None):
        return x + z

    with pytest.raises(NotImplementedError, match="leave out one of"):
        rushlight.jit.trace(
            shifted, example_kwarg_inputs={"x": rushlight.ones(2), "z": rushlight.ones(2)}
        )
