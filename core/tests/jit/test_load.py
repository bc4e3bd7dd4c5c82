"""Archives of PyTorch: what they compute, and what their modules are."""

import io
import os
import subprocess
import sys
import zipfile

import pytest

import rushlight
from rushlight import nn

pytest.importorskip("torch")


@pytest.mark.parametrize("kind", ["", ".frozen"])
def test_results_of_pytorch(program_name, kind, archives, assert_same):
    path = archives / f"{program_name}{kind}.pt"
    if not path.exists():
        pytest.skip("PyTorch cannot freeze it")
    inputs, results = rushlight.load(archives / f"{program_name}.results.pt")
    module = rushlight.jit.load(path)
    for wanted in results if not kind else results[:1]:
        assert_same(module(*inputs), wanted)


def test_a_module_has_parameters_buffers_and_children(archives):
    module = rushlight.jit.load(archives / "cnn.pt")
    names = list(dict(module.named_parameters()))
    assert names[:2] == ["0.weight", "0.bias"]
    assert [n for n, _ in module.named_buffers()][0] == "1.running_mean"
    assert module.original_name == "Sequential"
    assert [c.original_name for c in module.children()][:3] == ["Conv2d", "BatchNorm2d", "ReLU"]
    assert isinstance(module, rushlight.jit.RecursiveScriptModule)
    assert isinstance(module, nn.Module)
    assert not module.training
    assert set(module.state_dict()) == set(names) | {n for n, _ in module.named_buffers()}
    assert "original_name=Sequential" in repr(module)
    assert "torch.conv2d" in getattr(module, "0")._conv_forward.code


def test_gradients_and_training(archives):
    module = rushlight.jit.load(archives / "cnn.pt")
    x = rushlight.randn(4, 3, 12, 12, requires_grad=True)
    module.train()
    before = dict(module.named_buffers())["1.running_mean"].clone()
    loss = module(x).sum()
    loss.backward()
    assert x.grad.abs().sum() > 0
    assert all(p.grad is not None for p in module.parameters())
    assert not rushlight.equal(before, dict(module.named_buffers())["1.running_mean"])
    optimizer = rushlight.optim.SGD(module.parameters(), lr=0.1)
    weight = next(module.parameters()).detach().clone()
    optimizer.step()
    assert not rushlight.equal(weight, next(module.parameters()))


def test_state_dicts_go_to_python_modules(archives, programs, assert_same):
    module = rushlight.jit.load(archives / "cnn.pt")
    ours = programs.cnn().eval()
    ours.load_state_dict(module.state_dict())
    x = rushlight.randn(2, 3, 12, 12)
    assert_same(module(x), ours(x))
    assert_same(module.double()(x.double()), ours.double()(x.double()))


def test_locations_files_and_extra_files(archives):
    path = archives / "mlp.pt"
    extra = {"note": "", "absent": "as it was"}
    module = rushlight.jit.load(path, map_location="cpu", _extra_files=extra)
    assert extra == {"note": b"mlp", "absent": "as it was"}
    again = rushlight.jit.load(io.BytesIO(path.read_bytes()))
    assert list(again.state_dict()) == list(module.state_dict())
    meta = rushlight.jit.load(path, map_location=rushlight.device("meta"))
    assert all(p.device.type == "meta" for p in meta.parameters())


def test_arguments_are_checked(archives):
    module = rushlight.jit.load(archives / "EarlyReturn.pt")
    x = rushlight.ones(2)
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'n'"):
        module(x, "a")
    with pytest.raises(RuntimeError, match="missing value for argument 'n'"):
        module(x)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'm'"):
        module(x, 1, m=2)
    with pytest.raises(RuntimeError, match="expected at most 2 argument"):
        module(x, 1, 2)
    assert module.forward.schema.endswith("Tensor x, int n) -> Tensor")


def test_exceptions_of_a_program(archives):
    module = rushlight.jit.load(archives / "Raises.pt")
    with pytest.raises(ValueError, match="expected 3 columns, got 2") as caught:
        module(rushlight.ones(2, 2))
    assert isinstance(caught.value, rushlight.jit.Error)
    assert any("code/__torch__" in str(entry.path) for entry in caught.traceback)
    with pytest.raises(AssertionError, match="two dimensions"):
        module(rushlight.ones(2))


def test_files_that_are_no_programs(tmp_path):
    rushlight.save({"a": rushlight.ones(2)}, tmp_path / "state.pt")
    with pytest.raises(RuntimeError, match="state.pt.*rushlight.load"):
        rushlight.jit.load(tmp_path / "state.pt")
    with pytest.raises(ValueError, match="does not exist"):
        rushlight.jit.load(tmp_path / "absent.pt")
    with pytest.raises(TypeError, match="'f' to be a path or a binary file"):
        rushlight.jit.load(3)


def _rewritten(path, target, change):
    """An archive with the text of its main file changed."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("code/__torch__.py"):
                data = change(data.decode()).encode()
            new.writestr(name, data)


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "y = __import__('os')",
        "y = eval('1')",
        "y = open('x')",
        "y = x.__class__",
        "y = torch.load('x')",
        "y = torch.save(x, 'x')",
        "y = torch.__builtins__()",
        "y = ops.os.system('x')",
        "y = (lambda: 1)()",
        "y = __torch__.os.system('x')",
        "y = self.__dict__",
        "y = getattr(self, '__class__')",
        "y = x.forward.__globals__",
        "y = torch.from_file('x')",
    ],
)
def test_programs_reach_nothing_but_ops(line, archives, tmp_path):
    path = tmp_path / "changed.pt"

    def at_the_start(text):
        head, sep, rest = text.partition("-> Tensor:\n")
        return head + sep + f"    {line}\n" + rest

    _rewritten(archives / "EarlyReturn.pt", path, at_the_start)
    with pytest.raises((RuntimeError, NotImplementedError), match="changed.pt|available"):
        rushlight.jit.load(path)(rushlight.ones(3, 3), 1)


def test_unknown_ops_name_file_and_line(archives, tmp_path):
    path = tmp_path / "changed.pt"

    def change(text):
        head, sep, rest = text.partition("-> Tensor:\n")
        return head + sep + "    y = torch.frobnicate(x)\n" + rest

    _rewritten(archives / "EarlyReturn.pt", path, change)
    module = rushlight.jit.load(path)
    with pytest.raises(NotImplementedError, match=r"(?s)aten::frobnicate.*code/__torch__.*line"):
        module(rushlight.ones(2), 1)


def test_the_import_of_rushlight_loads_no_compiler():
    code = (
        "import sys, rushlight\n"
        "assert rushlight.jit.is_scripting() is False\n"
        "print([m for m in sys.modules if m.startswith('rushlight.jit.')])"
    )
    env = {**os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ("['rushlight.jit.marks']", "[]")


_DIVIDES = """
import sys, torch

class Divides(torch.nn.Module):
    def forward(self, x, y):
        z = y.clone()
        return torch.div(x, y), x / 2, torch.full([2], 3), z, torch.div(x, 2.5), 7 / 2

torch.jit.script(Divides()).save(sys.argv[1])
"""
_RUNS = """
import sys, torch
x, y = torch.tensor([-7, 8]), torch.tensor([2, 3])
torch.save(list(torch.jit.load(sys.argv[1])(x, y)), sys.argv[2])
"""


@pytest.mark.parametrize("version", ["2", "3", "4", "10"])
def test_operators_of_earlier_versions(version, tmp_path, assert_same):
    made, path, results = (tmp_path / name for name in ("made.pt", "old.pt", "results.pt"))
    (tmp_path / "divides.py").write_text(_DIVIDES)
    subprocess.run([sys.executable, str(tmp_path / "divides.py"), str(made)], check=True)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = version.encode() if name.endswith("/version") else old.read(name)
            new.writestr(name, data)
    subprocess.run([sys.executable, "-c", _RUNS, str(path), str(results)], check=True)
    x, y = rushlight.tensor([-7, 8]), rushlight.tensor([2, 3])
    assert_same(list(rushlight.jit.load(path)(x, y)), rushlight.load(results))


def test_newer_versions_are_refused(archives, tmp_path):
    path = tmp_path / "new.pt"
    with zipfile.ZipFile(archives / "mlp.pt") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"99\n" if name == "mlp/version" else old.read(name))
    with pytest.raises(RuntimeError, match="version 99, the newest known is 10"):
        rushlight.jit.load(path)
