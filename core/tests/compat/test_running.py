"""`rushlight run`: arguments, `__main__`, search path, tracebacks and exit codes are Python's."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import environment, run

SHOW = """
import sys, __main__
import neighbour
print(sys.argv, __name__, __file__, sys.path[0] == neighbour.FOLDER)
print(__main__.__dict__ is globals(), __spec__ is None, __package__)
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a script, a package and a module beside them."""
    (tmp_path / "neighbour.py").write_text("import os\nFOLDER = os.path.dirname(__file__)\n")
    (tmp_path / "show.py").write_text(SHOW)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "__main__.py").write_text(SHOW)
    return tmp_path.resolve()


def both(*arguments, cwd):
    """The same command line under `python` and under `rushlight run`."""
    return run(*arguments, cwd=cwd), run("-m", "rushlight", "run", *arguments, cwd=cwd)


@pytest.mark.parametrize(
    "arguments",
    [
        ["show.py", "--flag", "-m", "x y"],
        ["package/../show.py"],
        ["./show.py"],
        ["-m", "package", "--flag", "1"],
        ["-m", "show"],
    ],
)
def test_program_sees_what_python_shows(arguments, folder):
    python, ours = both(*arguments, cwd=folder)
    assert python.returncode == ours.returncode == 0, ours.stderr
    assert ours.stdout == python.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    raise ValueError('bad')\nf()\n",
        "import sys\nsys.exit(7)\n",
        "import sys\nsys.exit('a message')\n",
        "raise SystemExit\n",
        "x = = 1\n",
        "raise KeyboardInterrupt\n",
        "import sys\nsys.excepthook = lambda kind, error, frames: print('hook', error)\n1 / 0\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise OSError('x') from e\n",
        "import atexit\natexit.register(print, 'bye', __name__)\nassert False, 'no'\n",
    ],
)
def test_ends_as_python_ends(text, folder):
    (folder / "program.py").write_text(text)
    python, ours = both("program.py", cwd=folder)
    assert (ours.returncode, ours.stdout) == (python.returncode, python.stdout)
    assert ours.stderr == python.stderr


def test_no_such_file(folder):
    python, ours = both("nowhere.py", cwd=folder)
    assert ours.returncode == python.returncode == 2
    assert "nowhere.py" in ours.stderr


def test_processes_it_starts_import_rushlight_too(folder):
    (folder / "sitecustomize.py").write_text("import builtins\nbuiltins.users_own = 1\n")
    (folder / "parent.py").write_text(
        "import subprocess, sys\n"
        "code = ('import importlib.metadata as m; v = m.version(\"torch\"); import sys;'\n"
        "        'import torch; print(torch.__version__, v, users_own,'\n"
        "        'any(\"startup\" in p for p in sys.path))')\n"
        "for flags in ([], ['-E']):\n"
        "    done = subprocess.run([sys.executable, *flags, '-c', code], capture_output=True,\n"
        "                          text=True)\n"
        "    print(done.stdout.strip())\n"
    )
    variables = environment()
    variables["PYTHONPATH"] += f":{folder}"
    done = subprocess.run(
        [sys.executable, "-m", "rushlight", "run", "parent.py"],
        capture_output=True, text=True, env=variables, cwd=folder, timeout=120,
    )  # fmt: skip
    first, isolated = done.stdout.split("\n")[:2]
    assert first == "2.13.0+rushlight 2.13.0+rushlight 1 False", done.stderr
    assert "rushlight" not in isolated  # -E ignores the variables, as documented


def test_command_line():
    assert run("-m", "rushlight", "--version").stdout.startswith("rushlight ")
    assert "rushlight check" in run("-m", "rushlight", "--help").stdout
    for wrong in ([], ["run"], ["run", "--wrong"], ["nonsense"]):
        done = run("-m", "rushlight", *wrong)
        assert done.returncode == 2 and "usage:" in done.stderr
