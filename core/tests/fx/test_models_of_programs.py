"""The models of the programs in tests/clients and tests/programs, traced by both libraries."""

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import arguments, rows, traced  # noqa: E402

TESTS = Path(__file__).parents[1]
FILES = sorted(
    path
    for folder in ("clients", "programs")
    for path in (TESTS / folder).glob("*.py")
    if "nn.Module)" in path.read_text() and not path.name.startswith("test_")
)
DEFINITIONS = ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef
IMPORTS = (
    (r"^import torch\.([\w.]+) as (\w+)$", r"import rushlight.\1 as \2"),
    (r"^import torch$", "import rushlight as torch"),
    (r"^from torch(\.[\w.]+)? import", r"from rushlight\1 import"),
)
PUBLIC_NAMES = {
    "log_sigmoid": "logsigmoid"
}  # what PyTorch's builtin is called, and its public name


def models(path, library):
    """The module classes of a program; nothing of it runs but definitions and constants."""
    text = path.read_text()
    if library is rushlight:
        for pattern, replacement in IMPORTS:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    names = {"__name__": "program"}
    for node in ast.parse(text).body:
        constant = isinstance(node, ast.Assign) and not any(
            isinstance(part, ast.Call) for part in ast.walk(node)
        )
        if isinstance(node, DEFINITIONS) or constant:
            try:
                exec(compile(ast.Module([node], []), str(path), "exec"), names)
            except (ImportError, NameError):  # of what is not there without the rest
                continue
    found = [value for value in names.values() if isinstance(value, type)]
    found = [value for value in found if value.__module__ == "program"]
    return {v.__name__: v for v in found if issubclass(v, library.nn.Module)}


def made(kind):
    """A model, its required arguments small numbers; None where that does not make one."""
    required = [
        parameter
        for parameter in list(inspect.signature(kind.__init__).parameters.values())[1:]
        if parameter.default is parameter.empty
        and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    for value in (8, 4, 2):
        try:
            return kind(*[value] * len(required))
        except Exception:  # wants something else than numbers
            continue
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_models_have_pytorchs_graphs(path):
    theirs, ours = models(path, torch), models(path, rushlight)
    assert [*theirs] == [*ours]
    for name, kind in theirs.items():
        wanted, found = made(kind), made(ours[name])
        assert (wanted is None) == (found is None)
        if wanted is None:
            continue
        wanted, found = traced(torch, wanted), traced(rushlight, found)
        if isinstance(wanted, Exception):  # what PyTorch refuses may have a graph here
            continue
        assert not isinstance(found, Exception), found
        public = [(op, PUBLIC_NAMES.get(target, target)) for op, _, target in rows(wanted)]
        assert [(op, target) for op, _, target in rows(found)] == public
        if not any(target in PUBLIC_NAMES for _, _, target in rows(wanted)):
            assert rows(found) == rows(wanted) and arguments(found) == arguments(wanted)


def test_there_are_models():
    assert sum(len(models(path, rushlight)) for path in FILES) > 60
