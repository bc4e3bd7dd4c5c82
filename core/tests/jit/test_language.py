"""Scripted functions beside PyTorch's: their results, and their archives read both ways."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))

from language_programs import programs  # noqa: E402

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
OURS, THEIRS = programs(rushlight), programs(torch)


def same(found, expected):
    """The same kinds of values and the same values, in tuples, lists and dicts too."""
    if isinstance(expected, torch.Tensor):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    elif isinstance(expected, tuple | list):
        assert isinstance(found, tuple if isinstance(expected, tuple) else list)
        for pair in zip(found, expected, strict=True):
            same(*pair)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        same(list(found.values()), list(expected.values()))
    else:
        assert type(found) is type(expected)
        assert found == expected


def outcome(function, args):
    """What a call gives, or the class of what it raises."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - PyTorch's has a class of its own
        return str(isinstance(error, RuntimeError))


@pytest.mark.parametrize("added", ["(1.5, 2.5)", "(1, 2.5)", "()", "('a',)"])
def test_tuples_of_others_are_not_added_to_lists(added, tmp_path, monkeypatch):
    path = tmp_path / "added_program.py"
    path.write_text(f"def function(n: int):\n    return [n] + {added}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "added_program", raising=False)
    function = __import__("added_program").function
    for library in (rushlight, torch):
        with pytest.raises(RuntimeError, match="Arguments for call are not valid"):
            library.jit.script(function)


def read_back(scripted, library):
    file = io.BytesIO()
    save = torch.jit.save if isinstance(scripted, torch.jit.ScriptFunction) else rushlight.jit.save
    save(scripted, file)
    file.seek(0)
    return library.jit.load(file)


@pytest.mark.parametrize("name", OURS)
def test_results(name):
    (ours, calls), (theirs, their_calls) = OURS[name], THEIRS[name]
    ours, theirs = rushlight.jit.script(ours), torch.jit.script(theirs)
    for given, expected in zip(calls, their_calls, strict=True):
        same(outcome(ours, given), outcome(theirs, expected))


@pytest.mark.parametrize("name", OURS)
def test_archives_are_read_by_both(name):
    (ours, calls), (theirs, their_calls) = OURS[name], THEIRS[name]
    ours, theirs = rushlight.jit.script(ours), torch.jit.script(theirs)
    in_torch, from_torch = read_back(ours, torch), read_back(theirs, rushlight)
    own = read_back(ours, rushlight)
    for given, their_given in zip(calls, their_calls, strict=True):
        expected = outcome(theirs, their_given)
        same(outcome(in_torch, their_given), expected)
        same(outcome(from_torch, given), expected)
        same(outcome(own, given), expected)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("round(a, 1)", "round() takes one argument"),
        ("int('12', 10)", "int() takes one argument"),
    ],
)
def test_arguments_that_would_be_ignored_are_refused(body, words, tmp_path, monkeypatch):
    path = tmp_path / "refused_program.py"
    path.write_text(f"def function(a: float):\n    return {body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "refused_program", raising=False)
    with pytest.raises(RuntimeError) as caught:
        rushlight.jit.script(__import__("refused_program").function)
    assert words in str(caught.value)
