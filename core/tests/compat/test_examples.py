"""`rushlight examples`: what installed packages bring is listed, copied and run."""

from __future__ import annotations

import sys

import pytest

from rushlight.compat import command

PROGRAM = '''"""Greets somebody.

More about it.
"""

import sys

if __name__ == "__main__":
    print("hello", *sys.argv[1:])
'''


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """A package with two examples, which is installed."""
    site = tmp_path / "site"
    folder = site / "greetings" / "examples"
    folder.mkdir(parents=True)
    (site / "greetings" / "__init__.py").touch()
    (folder / "greet.py").write_text(PROGRAM)
    (folder / "leave.py").write_text('"""Says goodbye."""\n')
    (folder / "_shared.py").touch()
    info = site / "greetings-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rushlight.examples]\npolite = greetings.examples\n")
    monkeypatch.syspath_prepend(str(site))
    yield
    sys.modules.pop("greetings", None)


def test_examples_are_listed_by_package(capsys):
    assert command.main(["examples", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("polite:")
    assert [line.split(maxsplit=1) for line in lines[at + 1 : at + 3]] == [
        ["greet", "Greets somebody."], ["leave", "Says goodbye."],
    ]  # fmt: skip


def test_examples_are_copied_and_overwrite_nothing(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command.main(["examples", "copy", "greet"]) == 0
    assert (tmp_path / "greet.py").read_text() == PROGRAM
    (tmp_path / "greet.py").write_text("mine")
    assert command.main(["examples", "copy", "greet"]) == 1
    assert "greet.py" in capsys.readouterr().err
    assert (tmp_path / "greet.py").read_text() == "mine"
    assert command.main(["examples", "copy", "greet", "other.py"]) == 0
    assert (tmp_path / "other.py").read_text() == PROGRAM


def test_examples_run_with_their_arguments(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["rushlight"])
    assert command.main(["examples", "run", "greet", "you", "--all"]) == 0
    assert capsys.readouterr().out == "hello you --all\n"


def test_unknown_names_and_words_are_told(capsys):
    assert command.main(["examples", "run", "nothing"]) == 1
    said = capsys.readouterr().err
    assert "no example 'nothing'" in said and "greet" in said
    for words in ([], ["list", "more"], ["copy"], ["sing"]):
        assert command.main(["examples", *words]) == 2
        assert "rushlight examples list" in capsys.readouterr().err
