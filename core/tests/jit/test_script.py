"""Functions, modules and classes of Python, compiled by ``jit.script``."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import rushlight
from rushlight import Tensor, jit, nn

FAULTS = Path(__file__).parent / "faults.py"


def test_results_of_compiled_modules(program_name, programs, archives, assert_same):
    module, _, traced = programs.build(program_name)
    inputs, results = rushlight.load(archives / f"{program_name}.results.pt")
    if traced:
        pytest.skip("made for tracing")
    compiled = jit.script(module)
    for wanted in results:
        assert_same(compiled(*inputs), wanted)


@jit.script
def summed(x, times: int = 2):
    total = x
    for i in range(times):
        total = total + i * x
    return total


def test_functions():
    x = rushlight.ones(2, requires_grad=True)
    found = summed(x, times=3)
    found.sum().backward()
    assert found.tolist() == [4.0, 4.0]
    assert x.grad.tolist() == [4.0, 4.0]
    assert summed.schema == "summed(Tensor x, int times=2) -> Tensor"
    assert isinstance(summed, jit.ScriptFunction)
    assert summed.__name__ == "summed"
    assert "for i in range(times):" in summed.code
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'times'"):
        summed(x, "a")
    assert jit.script(summed) is summed


def warned(text: str):
    warnings.warn("one " + text)
    warnings.warn(f"two {text}", stacklevel=2)
    warnings.warn("three", 3)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_warnings(tmp_path):
    pytorch = pytest.importorskip("torch")
    ours, path = jit.script(warned), str(tmp_path / "warned.pt")
    ours.save(path)
    for program in (ours, jit.load(path), pytorch.jit.script(warned), pytorch.jit.load(path)):
        with pytest.warns(UserWarning) as caught:
            program("a")
        assert [str(each.message) for each in caught] == ["one a", "two a", "three"]


def test_lazy_modules():
    module = nn.Sequential(nn.LazyLinear(2))
    with pytest.raises(
        RuntimeError, match="'LazyLinear' has uninitialized parameters weight, bias"
    ):
        jit.script(module)
    module(rushlight.ones(1, 3))
    assert jit.script(module)(rushlight.ones(1, 3)).shape == (1, 2)


@jit.script
def parts(x: float):
    fraction, whole = math.modf(x)
    return math.frexp(x)[1] + 1, fraction, whole


def test_parts_of_numbers():
    assert parts(12.75) == (5, 0.75, 12.0)
    assert parts.schema == "parts(float x) -> Tuple[int, float, float]"


def with_category(text: str):
    warnings.warn(text, UserWarning)


def test_warnings_have_no_categories():
    with pytest.raises(RuntimeError, match="'UserWarning' cannot be used as a value"):
        jit.script(with_category)


@jit.interface
class Scorer:
    def score(self, x: Tensor) -> Tensor:
        pass


class One(nn.Module):
    def forward(self, x):
        return x

    @jit.export
    def score(self, x: Tensor) -> Tensor:
        return x + 1


class Uses(nn.Module):
    scorer: Scorer
    size: Final[int]

    def __init__(self):
        super().__init__()
        self.scorer, self.size = One(), 4
        self.function = summed

    @property
    def doubled(self) -> int:
        return self.size * 2

    @jit.ignore
    def in_python(self, x) -> Tensor:
        return x * len([name for name in ("a", "b")])

    @jit.unused
    def never(self, x):
        return [value for value in dir(x)]

    @staticmethod
    def fixed(x):
        return x - 1

    def forward(self, x, bad: bool = False):
        if bad:
            return self.never(x)
        if not jit.is_scripting():
            return {value for value in x}
        future = jit.fork(summed, x, 2)
        other = self.function(self.in_python(self.fixed(x)))
        return self.scorer.score(x) + self.doubled + other + jit.wait(future)


def test_marks_interfaces_and_properties():
    compiled = jit.script(Uses())
    assert compiled(rushlight.ones(2)).tolist() == [12.0, 12.0]
    assert compiled.scorer.score(rushlight.ones(1)).tolist() == [2.0]
    with pytest.raises(NotImplementedError, match="never: it is marked with @unused"):
        compiled(rushlight.ones(2), True)
    assert not jit.is_scripting()


class Pair(NamedTuple):
    first: Tensor
    second: int = 5


@jit.script
class Stack:
    def __init__(self, first: Tensor):
        self.items = [first]
        self.names: dict[str, int] = {}

    def push(self, x: Tensor) -> "Stack":
        self.items.append(x)
        self.names["last"] = len(self.items)
        return self

    def __len__(self) -> int:
        return len(self.items)


def test_classes_and_named_tuples():
    def uses(x: Tensor) -> tuple[Pair, int, Stack]:
        stack = Stack(x)
        stack.push(x * 2).push(x)
        pair = Pair(x)
        return Pair(pair.first + 1, second=pair.second), len(stack), stack

    pair, count, stack = jit.script(uses)(rushlight.ones(1))
    assert isinstance(pair, Pair)
    assert (pair.first.item(), pair.second, count) == (2.0, 5, 3)
    assert isinstance(stack, Stack)
    assert stack.names == {"last": 3}


def test_numbers_lists_and_strings():
    def uses(n: int, words: list[str]) -> tuple[list[int], float, str, dict[str, int], bool]:
        numbers = [i for i in range(n)]
        numbers.extend([7, 8])
        numbers[0] = -3
        del numbers[1]
        numbers += [9]
        lengths = {word: len(word) for word in words}
        value = math.sqrt(float(n)) + math.pi + 2**-1 + n // 3 + -n % 3
        text = ", ".join(words)
        text += f" {n}" if n > 2 else ""
        return numbers[::2], value, text.upper(), lengths, "a" in words and 8 in numbers

    found = jit.script(uses)(4, ["a", "bcd"])
    assert found == uses(4, ["a", "bcd"])


def test_refinement_of_optional_values():
    def uses(x: Tensor | None, n: int | None = None) -> Tensor:
        if x is None:
            x = rushlight.zeros(2)
        if n is None or n < 0:
            return x
        assert n is not None
        y = x + n if n is not None else x
        return y

    compiled = jit.script(uses)
    assert compiled(None, 2).tolist() == [2.0, 2.0]
    assert compiled(rushlight.ones(2)).tolist() == [1.0, 1.0]


def test_modules_share_parameters_and_move():
    layer = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    compiled = jit.script(layer)
    assert next(compiled.parameters()) is next(layer.parameters())
    compiled(rushlight.ones(1, 3)).sum().backward()
    assert layer[0].weight.grad is not None
    assert isinstance(compiled[0], jit.RecursiveScriptModule)
    assert compiled.double()(rushlight.ones(1, 3, dtype=rushlight.float64)).dtype == (
        rushlight.float64
    )
    assert compiled.train().training
    assert compiled[1].training


def test_modules_of_one_type_share_code():
    model = jit.script(nn.ModuleList([One(), One(), Uses()]))
    first, second, third = model
    assert type(first) is type(second)
    assert type(first) is not type(third)


def _rushlight_faults():
    spec = importlib.util.spec_from_file_location("rushlight_faults", FAULTS)
    module = importlib.util.module_from_spec(spec)
    before = os.environ.get("PROGRAM_FRAMEWORK")
    os.environ["PROGRAM_FRAMEWORK"] = "rushlight"
    try:
        spec.loader.exec_module(module)
    finally:
        if before is None:
            del os.environ["PROGRAM_FRAMEWORK"]
        else:
            os.environ["PROGRAM_FRAMEWORK"] = before
    return module


@pytest.fixture(scope="module")
def messages():
    pytest.importorskip("torch")
    command = [sys.executable, "-W", "ignore", str(FAULTS)]
    env = {**os.environ, "PROGRAM_FRAMEWORK": "torch"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


OURS = _rushlight_faults()
WORDED_ALIKE = {
    "undefined", "one_branch", "wrong_return", "not_refined", "local_class", "handler",
    "generator", "a_set", "tuple_index", "unpacked",
}  # fmt: skip


@pytest.mark.parametrize("function", OURS.FAULTS, ids=lambda f: f.__name__)
def test_errors_show_the_line(function, messages):
    name = function.__name__
    theirs, ours = messages[name].strip(), OURS.message(function).strip()
    assert bool(theirs) == bool(ours), (theirs, ours)
    if not ours:
        return
    lines = ours.splitlines()
    mark = next(i for i, line in enumerate(lines) if line.endswith("<--- HERE"))
    assert "~" in lines[mark]
    assert f'File "{FAULTS}", line ' in ours
    assert f"in {name}" in ours
    if name in WORDED_ALIKE:
        assert lines[0] == theirs.splitlines()[0]
    if name != "one_branch":  # PyTorch shows the assignment, not where the value is missing
        statement = lines[mark - 1].strip()
        assert statement in theirs


@jit._overload
def either(x: int) -> int:  # noqa: F811
    pass


@jit._overload
def either(x: float) -> float:  # noqa: F811
    pass


def either(x):  # noqa: F811
    return x


def test_overloads_are_marks_in_eager_code_and_refused_by_the_compiler():
    assert either(3) == 3
    with pytest.raises(RuntimeError, match="the overloads of either cannot be compiled"):
        jit.script(either)


def test_switched_off(monkeypatch):
    monkeypatch.setenv("PYTORCH_JIT", "0")

    def plain(x):
        return x

    assert jit.script(plain) is plain


def test_what_cannot_be_compiled():
    for other in (3, "s", None, rushlight.ones(2), (1,), object(), len):
        with pytest.raises(TypeError, match="expected a function, a module or a class"):
            jit.script(other)
    with pytest.raises(RuntimeError, match="class 'int' cannot be compiled"):
        jit.script(int)
    with pytest.raises(RuntimeError, match="inherits from nn.Module"):
        jit.script(One)
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="hooks of Linear"):
        jit.script(hooked)
    namespace: dict = {}
    exec("def made(x):\n    return x", namespace)  # no source
    with pytest.raises(OSError, match="Can't get source"):
        jit.script(namespace["made"])


def _weighted(x, pair: tuple[int, int] = (2, 1)):
    return x * pair[0] + pair[1]


def test_defaults_that_are_tuples(tmp_path):
    scripted = jit.script(_weighted)
    x = rushlight.tensor([1.0, 2.0])
    assert scripted(x).tolist() == [3.0, 5.0] and scripted(x, (1, 0)).tolist() == [1.0, 2.0]
    scripted.save(tmp_path / "weighted.pt")
    assert jit.load(tmp_path / "weighted.pt")(x).tolist() == [3.0, 5.0]


def _named(x):
    best = rushlight.topk(x, 2)
    sign = rushlight.linalg.slogdet(x[:2, :2]).sign
    return best.values + best.indices, x.sort(0).values, x.max(1).indices, sign


def test_several_results_by_name(tmp_path):
    scripted = jit.script(_named)
    x = rushlight.tensor([[3.0, 1.0, 2.0], [4.0, 5.0, 0.0]])
    scripted.save(tmp_path / "named.pt")
    for found in (scripted(x), jit.load(tmp_path / "named.pt")(x)):
        assert all(map(rushlight.equal, found, _named(x)))
    with pytest.raises(RuntimeError, match="places"):
        jit.script(_wrongly_named)


def _wrongly_named(x):
    return rushlight.topk(x, 2).places
