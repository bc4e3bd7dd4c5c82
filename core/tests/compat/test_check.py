"""`rushlight check`: the uses it finds in a program's text, and what it says of them."""

import json
import sys
from pathlib import Path

import pytest

from rushlight.compat import report
from rushlight.compat.availability import DIFFERENT, MISSING, PRESENT, judge
from rushlight.compat.uses import uses_of

sys.path.insert(0, str(Path(__file__).parent))
from running import run


def names(text):
    return [use.name for use in uses_of(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch\ntorch.nn.Linear(1, 2)", ["torch", "torch.nn.Linear"]),
        ("import torch.nn.functional as F\nF.relu(x)", ["torch.nn.functional"] * 1
         + ["torch.nn.functional.relu"]),
        ("import torch.nn\ntorch.ones(2).view(1)", ["torch.nn", "torch.ones"]),
        ("from torch import nn as layers\nlayers.ReLU", ["torch.nn", "torch.nn.ReLU"]),
        ("from torch.optim import Adam\nAdam(Adam)", ["torch.optim.Adam"] * 3),
        ("import numpy as torch\ntorch.ones", []),
        ("from . import torch\nfrom .torch import nn\nnn.x; torch.y", []),
        ("import torch\ndef f(torch): return torch.zz\ndef g(): return torch.g",
         ["torch", "torch.g"]),
        ("import torch\nclass A:\n    torch = 1\n    def f(self): return torch.inner",
         ["torch", "torch.inner"]),
        ("import torch\nF = torch.nn.functional\nF.gelu", ["torch", "torch.nn.functional",
                                                        "torch.nn.functional.gelu"]),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.ones",
         ["torch", "torch.ones"]),
        ("def f():\n    import torch.nn as nn\n    return nn.GRU\nnn.nothing",
         ["torch.nn", "torch.nn.GRU"]),
        ("import torch\n@torch.no_grad()\ndef f(x: torch.Tensor = torch.ones(1)) -> "
         "torch.Size: ...",
         ["torch", "torch.no_grad", "torch.ones", "torch.Tensor", "torch.Size"]),
        ("from torch.nn import *", ["torch.nn"]),
        ("import pytorch_lightning as pl\nclass M(pl.LightningModule): ...",
         ["pytorch_lightning", "pytorch_lightning.LightningModule"]),
    ],
)  # fmt: skip
def test_uses(text, found):
    assert sorted(names(text)) == sorted(found)


@pytest.mark.parametrize(
    ("name", "state", "prefix"),
    [
        ("torch.nn.Linear", PRESENT, "torch.nn.Linear"),
        ("torch.Tensor.view", PRESENT, "torch.Tensor.view"),
        ("torch.nn.modules.conv._ConvNd", PRESENT, "torch.nn.modules.conv._ConvNd"),
        ("torch.utils.data.dataloader.DataLoader", PRESENT,
         "torch.utils.data.dataloader.DataLoader"),
        ("torch.nn.utils.spectral_norm", PRESENT, "torch.nn.utils.spectral_norm"),
        ("torch.float32.itemsize", PRESENT, "torch.float32.itemsize"),
        ("torch.backends.cudnn.benchmark", DIFFERENT, "torch.backends.cudnn.benchmark"),
        ("torch.fx.symbolic_trace", PRESENT, "torch.fx.symbolic_trace"),
        ("torch.package.PackageExporter", MISSING, "torch.package"),
        ("torch.compile", PRESENT, "torch.compile"),
        ("torch.jit.script_method", MISSING, "torch.jit.script_method"),
        ("torch.nn.Nosuch.deeper", MISSING, "torch.nn.Nosuch"),
        ("torch.Tensor.nosuch", MISSING, "torch.Tensor.nosuch"),
        ("torch.kernels.gemm", MISSING, "torch.kernels"),
    ],
)  # fmt: skip
def test_verdicts(name, state, prefix):
    verdict = judge(name)
    assert (verdict.state, verdict.name) == (state, prefix)


@pytest.fixture
def project(tmp_path):
    """A folder of programs: one fine, one with missing names, one that is no Python."""
    (tmp_path / "fine.py").write_text("import torch\nx = torch.ones(2)\n")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "bad.py").write_text(
        "import torch\nimport torch.package as ex\n\nex.PackageExporter(torch.nn.Nosuch)\n"
    )
    (tmp_path / "notes.txt").write_text("import torch.package")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "old.py").write_text("import torch.package")
    return tmp_path


def test_json_report_counts_uses(project):
    done = run("-m", "rushlight", "check", "--json", project)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["files"] == 2
    assert found["uses"] == {"present": 3, "different": 0, "missing": 3}
    assert found["percentage"] == 50.0
    missing = {n["name"]: n for n in found["names"] if n["state"] == "missing"}
    bad = str(project / "inner" / "bad.py")
    assert missing["torch.package"]["uses"] == [{"file": bad, "line": 2}, {"file": bad, "line": 4}]
    assert missing["torch.nn.Nosuch"]["uses"] == [{"file": bad, "line": 4}]
    assert "rushlight.save" in missing["torch.package"]["note"]


def test_text_report_and_exit_codes(project, capsys):
    assert report.check([str(project / "fine.py")]) == 0
    assert "100.0 % available" in capsys.readouterr().out
    assert report.check([str(project)]) == 1
    printed = capsys.readouterr().out
    for part in ("torch.package  (2)", "bad.py:4", "50.0 % available"):
        assert part in printed
    (project / "broken.py").write_text("x = = 1")
    assert report.check([str(project / "broken.py")]) == 1
    assert "Not read" in capsys.readouterr().out
    assert report.check([str(project / "nowhere")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_nothing_is_run(tmp_path):
    (tmp_path / "bomb.py").write_text("import torch\nraise SystemExit(99)\n")
    done = run("-m", "rushlight", "check", tmp_path)
    assert done.returncode == 0 and "1 files, 1 uses" in done.stdout


def test_absent_sister_package_is_said_plainly(monkeypatch):
    from rushlight.compat import availability

    monkeypatch.setattr(availability, "is_available", lambda top: top == "torch")
    judge.cache_clear()
    verdict = judge("torchvision.transforms.Compose")
    judge.cache_clear()
    assert verdict.state == MISSING and verdict.name == "torchvision"
    assert "rushlight-vision" in verdict.note and "not installed" in verdict.note
