"""`rushlight torch install`: an environment in which torch is Rushlight."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.compat import environment, version

SOURCE = str(Path(environment.__file__).parents[2])


def python(folder, program, *options):
    """What a program prints with a folder as the only one beside Rushlight's."""
    paths = [str(folder), SOURCE, *(p for p in sys.path if "site-packages" in p)]
    return subprocess.run(
        [sys.executable, "-S", *options, "-c", program],
        capture_output=True, text=True, check=True, timeout=120,
        env={"PYTHONPATH": ":".join(paths)},
    ).stdout  # fmt: skip


def test_the_name_imports_and_has_metadata(tmp_path):
    given = environment.install(tmp_path)
    assert f"torch {version.VERSIONS['torch']}" in given
    printed = python(
        tmp_path,
        "import torch.nn.functional as F, torch, importlib.metadata as m\n"
        "import rushlight\n"
        "print(F.relu is rushlight.nn.functional.relu, torch.ones(2).sum().item())\n"
        "print(m.version('torch'), sum(d.name == 'torch' for d in m.distributions(path=['"
        + str(tmp_path)
        + "'])))",
    )
    assert printed.split() == ["True", "2.0", version.VERSIONS["torch"], "1"]


def test_metadata_has_what_pip_reads(tmp_path):
    environment.install(tmp_path)
    (found,) = (
        d for d in importlib.metadata.distributions(path=[str(tmp_path)]) if d.name == "torch"
    )
    assert found.version == version.VERSIONS["torch"]
    assert {str(f) for f in found.files} >= {"torch/__init__.py"}
    for file in found.files:
        assert file.locate().is_file()
        assert file.size in (None, file.locate().stat().st_size)
    assert found.read_text("INSTALLER").strip() == "rushlight"


def test_removing_leaves_nothing_behind_and_twice_is_once(tmp_path):
    (tmp_path / "other.py").write_text("")
    environment.install(tmp_path)
    environment.install(tmp_path)
    python(tmp_path, "import torch")
    assert "torch" in environment.remove(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["other.py"]
    assert environment.remove(tmp_path) == []


@pytest.mark.parametrize("taken", ["torch", "torchvision"])
@pytest.mark.parametrize("kind", ["module", "metadata", "file"])
def test_what_is_there_is_never_replaced(tmp_path, taken, kind):
    if kind == "module":
        (tmp_path / taken).mkdir()
        (tmp_path / taken / "__init__.py").write_text("mine = 1\n")
    elif kind == "file":
        (tmp_path / f"{taken}.py").write_text("mine = 1\n")
    else:
        (tmp_path / f"{taken}-2.9.1.dist-info").mkdir()
        (tmp_path / f"{taken}-2.9.1.dist-info" / "INSTALLER").write_text("pip\n")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    try:
        environment.install(tmp_path)
    except environment.NameTaken as error:
        assert taken in str(error) and "is not replaced" in str(error)
    else:
        pytest.skip(f"Rushlight's package for {taken} is not installed")
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before
    assert environment.remove(tmp_path) == []


def test_the_command_says_why_it_refuses(tmp_path, monkeypatch, capsys):
    from rushlight.compat import command

    (tmp_path / "torch").mkdir()
    monkeypatch.setattr(environment, "site", lambda: tmp_path)
    assert command.main(["torch", "install"]) == 1
    assert "torch is already installed" in capsys.readouterr().err
    (tmp_path / "torch").rmdir()
    assert command.main(["torch", "remove"]) == 0
    assert "no names are removed from" in capsys.readouterr().out
    assert command.main(["torch", "replace"]) == 2


def test_without_rushlight_the_module_says_what_to_do(tmp_path):
    environment.install(tmp_path)
    program = (
        "import sys; sys.modules['rushlight'] = None\n"
        "try:\n    import torch\nexcept ImportError as e:\n    print(e)"
    )
    assert "pip uninstall torch" in python(tmp_path, program)
