"""Frozen modules, and the text of programs: code and graphs."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import jit, nn

CHECK = Path(__file__).parent / "check_archives.py"
CHANGING = ("batch_norm", "batch_norm_without_affine", "Counter", "Operators")


def _compiled(programs):
    for name in programs.MODULES:
        module, inputs, traced = programs.build(name)
        if name not in CHANGING and not traced and not module.training:
            yield name, module, inputs


def test_frozen_programs(programs, archives, tmp_path, assert_same):
    pytest.importorskip("torch")
    for name, module, inputs in _compiled(programs):
        frozen = jit.freeze(jit.script(module))
        assert not list(frozen.parameters()), name
        assert not frozen.state_dict(), name
        _, results = rushlight.load(archives / f"{name}.results.pt")
        assert_same(frozen(*inputs), results[0], name)
        frozen.save(tmp_path / f"{name}.frozen.pt")
    command = [sys.executable, "-W", "ignore", str(CHECK), str(tmp_path), str(archives)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_frozen_values_are_copies():
    module = nn.Linear(2, 2).eval()
    frozen = jit.freeze(jit.script(module))
    x = rushlight.ones(1, 2, requires_grad=True)
    before = frozen(x)
    with rushlight.no_grad():
        module.weight.zero_()
    assert rushlight.equal(frozen(x), before)
    frozen(x).sum().backward()
    assert x.grad is not None
    again = jit.load(io.BytesIO(frozen.save_to_buffer()))
    assert rushlight.equal(again(x), before)
    assert rushlight.equal(jit.optimize_for_inference(jit.script(module))(x), module(x))
    kept = jit.freeze(jit.script(module), preserve_parameters=True)
    assert len(list(kept.parameters())) == 2


def test_what_cannot_be_frozen():
    with pytest.raises(RuntimeError, match="expects a ScriptModule"):
        jit.freeze(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="training mode"):
        jit.freeze(jit.script(nn.Linear(2, 2)))
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        jit.freeze(jit.script(nn.Linear(2, 2)).eval(), ["nothing"])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def half(self, x):
        return x / 2

    def forward(self, x, n: int = 3):
        y = self.fc(x)
        for i in range(n):
            if i > 1:
                y = self.half(y) + i
        return y[0], {"a": -y}


def test_graphs():
    module = jit.script(Net())
    text = str(module.graph)
    assert text.startswith("graph(%self : __torch__.")
    for part in (
        'prim::GetAttr[name="fc"](%self)',
        'prim::CallMethod[name="half"]',
        "prim::Loop(",
        "prim::If(",
        "aten::select(%y.",
        "aten::neg(%y.",
        "prim::DictConstruct(",
        "  return (%",
    ):
        assert part in text, text
    inlined = str(module.inlined_graph)
    assert 'CallMethod[name="half"]' not in inlined
    assert "aten::div(%y." in inlined


def test_every_program_has_code_and_graphs(programs):
    for name, module, _inputs in _compiled(programs):
        compiled = jit.script(module)
        assert compiled.code.startswith("def forward(self"), name
        assert str(compiled.graph).startswith("graph("), name
        assert str(compiled.inlined_graph).startswith("graph("), name
