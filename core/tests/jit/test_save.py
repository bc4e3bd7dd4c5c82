"""Archives that Rushlight writes: PyTorch loads them, and Rushlight does."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import Tensor, jit, nn

pytest.importorskip("torch")

CHECK = Path(__file__).parent / "check_archives.py"


@pytest.fixture(scope="module")
def ours(archives, programs, tmp_path_factory):
    """Archives of all compiled modules."""
    folder = tmp_path_factory.mktemp("ours")
    for name in programs.MODULES:
        module, _, traced = programs.build(name)
        if not traced:
            jit.save(jit.script(module), folder / f"{name}.pt")
    return folder


def _check(folder, archives):
    command = [sys.executable, "-W", "ignore", str(CHECK), str(folder), str(archives)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pytorch_loads_compiled_modules(ours, archives):
    assert len(list(ours.glob("*.pt"))) > 30
    _check(ours, archives)


def test_pytorch_loads_its_own_archives_saved_again(archives, tmp_path):
    for path in archives.glob("*.pt"):
        if "results" not in path.name:
            jit.load(path).save(tmp_path / path.name)
    _check(tmp_path, archives)


def test_rushlight_loads_its_archives(ours, archives, program_name, assert_same):
    path = ours / f"{program_name}.pt"
    if not path.exists():
        pytest.skip("made for tracing")
    inputs, results = rushlight.load(archives / f"{program_name}.results.pt")
    module = jit.load(path)
    for wanted in results:
        assert_same(module(*inputs), wanted)


def test_without_pytorch(ours, archives):
    code = (
        "import sys\nsys.modules['torch'] = None\nimport rushlight\n"
        f"inputs, results = rushlight.load({str(archives / 'cnn.results.pt')!r})\n"
        f"found = rushlight.jit.load({str(ours / 'cnn.pt')!r})(*inputs)\n"
        "assert rushlight.allclose(found, results[0], atol=1e-5)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_buffers_and_extra_files(tmp_path):
    module = jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    module.save(tmp_path / "net.pt", _extra_files={"a.txt": "text", "b": b"\x00\xff"})
    extra = {"a.txt": "", "b": ""}
    again = jit.load(tmp_path / "net.pt", _extra_files=extra)
    assert extra == {"a.txt": b"text", "b": b"\x00\xff"}
    assert list(again.state_dict()) == ["0.weight", "0.bias"]
    assert rushlight.equal(again.state_dict()["0.weight"], module.state_dict()["0.weight"])
    assert all(p.requires_grad for p in again.parameters())
    buffer = io.BytesIO()
    jit.save(module, buffer)
    buffer.seek(0)
    x = rushlight.randn(4, 2)
    assert rushlight.equal(jit.load(buffer)(x), module(x))
    assert rushlight.equal(jit.load(io.BytesIO(module.save_to_buffer()))(x), module(x))
    third = jit.load(io.BytesIO(again.save_to_buffer()))
    assert rushlight.equal(third(x), module(x))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = self.first

    @jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))

    def forward(self, x):
        return self.twice(x)


def test_shared_modules_and_exported_methods():
    module = jit.script(Shared())
    again = jit.load(io.BytesIO(module.save_to_buffer()))
    assert again.first is again.second
    x = rushlight.randn(3, 2)
    assert rushlight.equal(again.twice(x), module(x))


class Ignores(nn.Module):
    @jit.ignore
    def in_python(self, x) -> Tensor:
        return x

    def forward(self, x):
        return self.in_python(x)


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "net.pt"
    with pytest.raises(RuntimeError, match="Could not export Python function call 'in_python'"):
        jit.save(jit.script(Ignores()), path)
    with pytest.raises(RuntimeError, match="the layer AdaptiveLogSoftmaxWithLoss cannot be"):
        jit.save(jit.script(nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])), path)
    assert not path.exists()
    with pytest.raises(TypeError, match="'m' to be a ScriptModule or a ScriptFunction, got Linear"):
        jit.save(nn.Linear(2, 2), path)
    with pytest.raises(TypeError, match="'f' to be a path or a binary file"):
        jit.save(jit.script(nn.ReLU()), 3)


def _times(x, k: int):
    return x * k


def _growing(x, n: int = 3):
    y = [x]
    for i in range(n):
        y.append(_times(y[-1], i + 1))
    return rushlight.stack(y)


class Told(nn.Module):
    def forward(self, x: Tensor, factor: int | Tensor):
        if isinstance(factor, Tensor):
            return x * factor[..., None]
        return x[..., factor]


def test_types_that_conditions_tell(tmp_path):
    jit.save(jit.script(Told()), tmp_path / "told.pt")
    loaded, x = jit.load(tmp_path / "told.pt"), rushlight.arange(4.0).reshape(2, 2)
    assert loaded(x, rushlight.tensor([2.0, 3.0])).tolist() == [[0.0, 2.0], [6.0, 9.0]]
    assert loaded(x, 1).tolist() == [1.0, 3.0]


def sums(x: list[int], y: list[int]) -> list[int]:
    return [a + b for a, b in zip(x, y)]  # noqa: B905


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_comprehensions_over_pairs(tmp_path):
    pytorch, path = pytest.importorskip("torch"), str(tmp_path / "sums.pt")
    jit.script(sums).save(path)
    assert jit.load(path)([1, 2], [3, 4]) == pytorch.jit.load(path)([1, 2], [3, 4]) == [4, 6]


def test_functions_are_saved_as_modules(tmp_path):
    x, place = rushlight.tensor([1.5, -2.0]), rushlight.tensor([1])
    scripted = jit.script(_growing)
    traced = jit.trace(lambda x, i: x[i] + 1, (x, rushlight.tensor([0])))
    scripted.save(tmp_path / "scripted.pt")
    jit.save(traced, tmp_path / "traced.pt")
    loaded = jit.load(tmp_path / "scripted.pt")
    assert rushlight.equal(loaded(x), _growing(x)) and rushlight.equal(loaded(x, 1), _growing(x, 1))
    assert rushlight.equal(jit.load(tmp_path / "traced.pt")(x, place), x[place] + 1)
    with pytest.raises(TypeError, match=r"ScriptModule or a ScriptFunction, got function"):
        jit.save(_growing, tmp_path / "plain.pt")
    program = (
        "import sys, torch; scripted, traced = map(torch.jit.load, sys.argv[1:]);"
        "x = torch.tensor([1.5, -2.0]);"
        "assert scripted(x, 1).tolist() == [[1.5, -2.0], [1.5, -2.0]];"
        "assert traced(x, torch.tensor([1])).tolist() == [-1.0]"
    )
    files = [str(tmp_path / name) for name in ("scripted.pt", "traced.pt")]
    done = subprocess.run([sys.executable, "-c", program, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
