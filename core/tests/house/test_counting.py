"""ci/house.py on small trees: each rule with a case that counts and one that does not."""

import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[3] / "ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="the tests stand alone, without ci/")

OPS = '''
from rushlight.ops._table.op import composite, elementwise, op as declare_op


@elementwise(rule="float", aliases=("fix",))
def trunc(input):
    """Towards zero, as ``round`` is not."""
    return "trunc" if input else "round"


trunc.gradient(input=lambda grad: "bare")


@trunc.gradients("input")
def _of_trunc(grad):
    return "bare"


@declare_op(name="_round")
def round_(input):
    return input


@composite(samples="some")
def sampled(input):
    return input


@composite()
def bare(input):
    return input
'''


@pytest.fixture
def house(monkeypatch):
    monkeypatch.syspath_prepend(str(CI))
    before = set(sys.modules)
    import house

    yield house
    for name in set(sys.modules) - before:
        if name.split(".")[0] in ("house", "house_counting"):
            del sys.modules[name]


@pytest.fixture
def tree(tmp_path, house):
    """f({path: text}, exceptions) -> what is measured in a tree of these files."""

    def measure(files, exceptions=()):
        for name, text in files.items():
            path = tmp_path / "rushlight" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return house.measure(tmp_path / "rushlight", list(exceptions))

    return measure


def parsed(house, tmp_path):
    read = house.sources.read(tmp_path / "rushlight", house.GENERATED)
    return read, house.names.declared(read, house.DECLARING_MODULE, house.DECLARING)


def found(measured, rule):
    return sorted((case.file, case.name) for case in measured.found if case.rule == rule)


def test_ops_are_what_declarations_say(tree):
    measured = tree({"ops/rounding.py": OPS})
    assert measured.figures["ops"] == 4
    assert measured.figures["composites"] == 2
    assert found(measured, "no-samples") == [("ops/rounding.py", "bare")]


def test_what_hangs_on_an_op_declares_it(tree):
    other = 'record(trunc, "bare")\n\n\ndef use(x):\n    return trunc.function("bare")\n'
    assert not found(tree({"ops/rounding.py": OPS}), "op-string")
    measured = tree({"ops/rounding.py": OPS + other})
    assert found(measured, "op-string") == [("ops/rounding.py", "bare")] * 2


def test_ops_of_a_function_that_declares(tree):
    text = """
from rushlight.ops._table.op import composite, elementwise

def _float(**options):
    return elementwise(rule="float", **options)

def _two(name):
    def call(input):
        return input
    return composite(name="two_" + name)(call)

def _no_declarer(**options):
    return print(elementwise)

@_float(domain="real")
def tan(input):
    return input

def _with_samples(**options):
    return composite(samples="some", **options)

@_with_samples()
def cosec(input):
    return input

@_no_declarer()
def cot(input):
    return input

two_one = _two("one")
"""
    borrowed = (
        "from rushlight.ops.losses import _float\n\n@_float()\ndef sec(input):\n    return 1\n"
    )
    measured = tree({"ops/losses.py": text, "ops/errors.py": borrowed})
    assert measured.figures["ops"] == 4  # tan, cosec, two_one, sec
    assert found(measured, "no-samples") == [("ops/losses.py", "two_one")]


def test_decorators_of_that_name_from_elsewhere_declare_nothing(tree):
    text = "from rushlight.graph import op\n\n@op()\ndef trunc(input):\n    return input\n"
    assert tree({"ops/rounding.py": text}).figures["ops"] == 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("CHOSEN = 'trunc'", ["trunc"]),
        ("CHOSEN = ('trunc_', 'fix')", ["fix", "trunc"]),  # in place, and an alias
        ("def f(x):\n    return getattr(x, '_round')", ["_round"]),
        ("CHOSEN = 'truncated'", []),
        ("trunc = 1", []),  # an identifier is no string
        ('"""trunc"""', []),
        ("def f(x):\n    'trunc'", []),
        ("# 'trunc'", []),
        ("def f(x):\n    return f'trunc{x}'", []),
    ],
)
def test_op_strings(tree, text, names):
    measured = tree({"ops/rounding.py": OPS, "amp/mode.py": text + "\n"})
    assert found(measured, "op-string") == [("amp/mode.py", name) for name in names]


@pytest.mark.parametrize(
    ("text", "unbound"),
    [
        ("from rushlight.ops.rounding import trunc\n__all__ = ['trunc']", []),
        ("import math as trunc\n__all__ = ['trunc']", []),
        ("trunc = 1\n__all__ = ['trunc']", []),
        ("def trunc():\n    pass\n__all__ = ('trunc',)", []),
        ("try:\n    class trunc: pass\nfinally:\n    pass\n__all__ = ['trunc']", []),
        ("from rushlight.ops.rounding import *\n__all__ = ['trunc']", []),
        ("def __getattr__(name):\n    return name\n__all__ = ['trunc']", []),
        ("__all__ = [n for n in globals() if n not in ('trunc',)]", []),
        ("LATE = {'trunc': 'ops'}\ndef __getattr__(n): pass\n__all__ = [*LATE]", []),
        ("LATE = {'trunc': 'ops'}\n__all__ = [*LATE]", ["trunc"]),
        ("__all__ = ['trunc']", ["trunc"]),
        ("__all__ = []\n__all__ += ['trunc']", ["trunc"]),
        ("def f():\n    trunc = 1\n__all__ = ['trunc', 'f']", ["trunc"]),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import trunc\n"
            "__all__ = ['trunc']",
            ["trunc"],
        ),
    ],
)
def test_exports_name_what_the_file_has(tree, text, unbound):
    measured = tree({"ops/rounding.py": OPS, "amp/mode.py": text + "\n"})
    written_out = "globals" not in text
    assert (
        bool(found(measured, "op-string")) is not written_out
    )  # to export a name is no fact about an op
    assert found(measured, "unbound-export") == [("amp/mode.py", name) for name in unbound]


@pytest.mark.parametrize("file", ["testing/samples.py", "amp/generated.py"])
def test_tests_and_generated_files_may_name_ops(tree, file):
    text = "# Generated by ci/names.py\n" * file.endswith("generated.py") + "CHOSEN = 'trunc'\n"
    assert not found(tree({"ops/rounding.py": OPS, file: text}), "op-string")


def test_lists_of_ops_in_one_string(tree):
    listed = "LOWER = 'trunc bare_ sampled _round gone __add__'.split()\n"
    measured = tree({"ops/rounding.py": OPS, "amp/mode.py": listed})
    names = ["_round", "bare", "sampled", "trunc"]
    assert found(measured, "op-list") == [("amp/mode.py", name) for name in names]
    assert found(measured, "unknown-op") == [("amp/mode.py", "gone")]


@pytest.mark.parametrize("text", ["cannot trunc here now", "trunc, bare", "bare bones go away"])
def test_sentences_are_no_lists_of_ops(tree, text):
    measured = tree({"ops/rounding.py": OPS, "amp/mode.py": f"WORDS = {text!r}\n"})
    assert not found(measured, "op-list") and not found(measured, "unknown-op")


def test_files_that_name_an_op(tree, house, tmp_path):
    users = {
        "nn/a.py": "from rushlight.ops.elementwise.rounding import trunc\n",
        "nn/b.py": "def f(x):\n    return x.trunc()\n",
        "nn/c.py": "LIST = 'trunc bare'\n",
        "nn/d.py": '"""trunc"""\n# trunc\ntruncated = 1\n',
    }
    measured = tree({"ops/rounding.py": OPS, **users})
    # trunc and bare stand in two files, the two others in their own.
    assert measured.figures["files to touch for an op, mean"] == 1.5
    assert measured.figures["files to touch for an op, 95th percentile"] == 2
    assert measured.figures["files naming an op, median"] == 1.5
    assert house.names.files_naming(*parsed(house, tmp_path)) == {
        "trunc": 4,
        "bare": 2,
        "_round": 1,
        "sampled": 1,
    }


@pytest.mark.parametrize(
    ("own", "statement", "target"),
    [
        ("kernels/a.py", "from rushlight.ops import rounding", "ops"),
        ("tensor/a.py", "def f():\n    import rushlight.nn.b", "nn"),
        ("ops/a.py", "from ..nn import b", "nn"),
        ("backends/a.py", "from rushlight import errors, kernels", "kernels"),
        ("ops/a.py", "from rushlight.tensor import tensor", None),
        ("tensor/a.py", "from rushlight.autograd import engine", None),  # sideways
        ("ops/a.py", "from . import rounding", None),
        (
            "ops/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rushlight.nn import b",
            None,
        ),
        ("kernels/a.py", "from other.ops import rounding", None),
    ],
)
def test_upward_imports(tree, own, statement, target):
    folders = "ops nn tensor autograd kernels errors".split()
    files = {f"{folder}/__init__.py": "" for folder in folders}
    measured = tree({**files, own: statement + "\n"})
    assert found(measured, "upward-import") == ([(own, target)] if target else [])


@pytest.mark.parametrize(
    ("text", "hidden", "low", "at_import"),
    [
        ("def f():\n    import_module('rushlight.nn.b')", 1, 1, 0),
        ("LATE = {'b': 'rushlight.nn.b'}", 1, 1, 0),
        ("b = importlib.import_module('rushlight.nn.b')", 1, 1, 1),
        ("def f(name):\n    __import__('rushlight.nn.' + name)", 1, 1, 0),
        ("def f(name):\n    import_module(f'rushlight.nn.{name}')", 1, 1, 0),
        ("def f():\n    import_module('rushlight.kernels.k')", 0, 0, 0),  # down
        ("def f():\n    raise AttributeError('rushlight.nn.b is not there')", 0, 0, 0),
        ("HOME = 'rushlight.nn.unknown'", 0, 0, 0),
        ('def f():\n    """rushlight.nn.b"""', 0, 0, 0),
    ],
)
def test_imports_hidden_in_strings(tree, text, hidden, low, at_import):
    measured = tree({"nn/b.py": "", "kernels/k.py": "", "ops/a.py": text + "\n"})
    figures = measured.figures
    assert figures["hidden-import"] == hidden
    assert figures["hidden-low"] == low
    assert figures["hidden-at-import"] == at_import
    above = tree({"ops/a.py": "", "testing/a.py": text + "\n"}).figures
    assert above["hidden-import"] == 0


def test_hidden_imports_above_ops_are_not_low(tree):
    figures = tree({"hub.py": "", "nn/a.py": "HUB = 'rushlight.hub'\n"}).figures
    assert (figures["hidden-import"], figures["hidden-low"]) == (1, 0)


def test_imports_inside_functions(tree):
    text = "import a\nclass C:\n    import b\n\n    def f(self):\n        import c\n"
    measured = tree({"ops/a.py": text})
    assert found(measured, "function-import") == [("ops/a.py", "import c")]


def test_crowded_folders(tree):
    files = {f"ops/f{i}.py": "" for i in range(42)} | {f"nn/f{i}.py": "" for i in range(40)}
    measured = tree(files | {"nn/utils/a.py": ""})
    assert found(measured, "crowded") == [("ops", "42 files")] * 2
    assert measured.figures["largest folder"] == 42


def test_many_parameters(tree):
    wide = "def f(a, b, c, d, /, e, f, g, h, *, i=1, **rest):\n    return 1\n"
    narrow = "def g(a, b, c, d, e, f, g, h, *more, **rest):\n    return 1\n"
    measured = tree({"ops/a.py": wide + narrow, "kernels/a.py": wide})
    assert found(measured, "parameters") == [("kernels/a.py", "f 9"), ("ops/a.py", "f 9")]
    assert found(measured, "parameters-outside") == [("ops/a.py", "f 9")]
    assert measured.figures["most parameters"] == 9


def test_long_functions(tree):
    line, comment = "    a = 1\n", "    # why\n\n"
    doc = '    """What.\n\n    More.\n    """\n'
    text = f"def f():\n{doc}{comment}{line * 24}{comment}\ndef g():\n{line * 25}"
    measured = tree({"ops/a.py": text})
    assert found(measured, "long-function") == [("ops/a.py", "g 25")]
    assert measured.figures["function lines, largest"] == 25
    assert measured.figures["function lines, median"] == 24.5


def test_loops_at_import(tree):
    text = """
for name in "ab":
    while name:
        name = ""
SQUARES = [i * i for i in range(3)]

class C:
    odd = {i for i in range(3)}

    def f(self, x=tuple(i for i in range(2))):
        for i in x:
            print([j for j in range(i)])

g = lambda x: [i for i in x]
"""
    figures = tree({"ops/a.py": text}).figures
    assert figures["import-loop"] == 2
    assert figures["import-comprehension"] == 3


def test_comments_and_lines_of_code(tree):
    text = '''"""What # no comment.

More.
"""

# why
a = "# no comment"  # a reason
b = """
# no comment
"""  # noqa: E501
# -------------
c = f"{a}#"
'''
    figures = tree({"ops/a.py": text}).figures
    assert figures["lines of code"] == 5
    assert figures["lines"] == 12
    assert figures["comments per 100 lines of code"] == 40.0


def test_words_of_our_own(tree):
    text = (
        '"""In\n place, to the last place, of two places."""\n# Lies by the door\nplace = "door"\n'
    )
    text += "# replace, doorway\n"
    names = [name for _, name in found(tree({"ops/a.py": text}), "word")]
    assert names == ["door", "lies", "place"]  # "in place", "last place": the field's terms


def test_exceptions_are_counted_apart_and_must_mean_something(tree, house):
    files = {"ops/rounding.py": OPS, "amp/a.py": "A = 'trunc', 'bare'\n", "nn/a.py": "A = 'bare'\n"}
    exceptions = [
        {"rules": ["op-string"], "files": ["amp/*"], "names": ["bare"], "reason": "a word"},
        {"rules": ["op-string"], "files": ["jit/*"], "reason": "none there"},
    ]
    measured = tree(files, exceptions)
    assert found(measured, "op-string") == [("amp/a.py", "trunc"), ("nn/a.py", "bare")]
    assert [str(case) for case in measured.meant] == ["amp/a.py:1: op-string: bare"]
    record = {"exceptions": 1, "figures": {}}
    assert len(house.problems(measured, exceptions, record)) == 2  # unused, and one more
    measured = tree(files, exceptions[:1])
    assert not house.problems(measured, exceptions[:1], record)
    assert house.problems(measured, [{"rules": []}], record)  # without a reason


def test_figures_may_not_become_worse(tree, house):
    figures = tree({"ops/rounding.py": OPS}).figures
    assert set(house.MAY_NOT_RISE) | set(house.MAY_NOT_FALL) <= set(figures)
    assert not house.worse(figures, figures)
    for name in house.MAY_NOT_RISE:
        assert house.worse(figures, {**figures, name: figures[name] - 1}), name
        assert not house.worse(figures, {**figures, name: figures[name] + 1}), name
    for name in house.MAY_NOT_FALL:
        assert house.worse(figures, {**figures, name: figures[name] + 1}), name
    more = {**figures, "lines": figures["lines"] - 1}
    assert not house.worse(figures, more)


def test_recording_takes_what_became_better(tree, house):
    measured = tree({"ops/rounding.py": OPS})
    worse, better = house.MAY_NOT_RISE[:2]
    past = {**measured.figures, worse: measured.figures[worse] - 1, better: 99, "lines": 1}
    past["comments per 100 lines of code"] = (
        1.0 + measured.figures["comments per 100 lines of code"]
    )
    record = {"exceptions": 0, "figures": past}
    exceptions = [{"rules": ["op-list"]}]
    kept = house.renewed(measured, exceptions, record, reset=False)
    assert kept["exceptions"] == 0
    same = (worse, "comments per 100 lines of code")
    assert kept["figures"] == {**measured.figures, **{name: past[name] for name in same}}
    whole = house.renewed(measured, exceptions, record, reset=True)
    assert whole == {"exceptions": 1, "figures": measured.figures}


def test_the_command(tree, house, monkeypatch, tmp_path, capsys):
    measured = tree({"ops/rounding.py": OPS, "amp/mode.py": "A = 'trunc'\n"})
    record, exceptions = tmp_path / "record.json", tmp_path / "exceptions.toml"
    monkeypatch.setattr(house, "RECORD", record)
    monkeypatch.setattr(house, "EXCEPTIONS", exceptions)
    record.write_text(house.json.dumps({"exceptions": 0, "figures": measured.figures}))
    exceptions.write_text("")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["house", "--root", str(tmp_path / "rushlight"), *words])
        status = house.main()
        return status, capsys.readouterr().out

    assert run("--check", "--json", str(tmp_path / "out.json"))[0] == 0
    written = house.json.loads((tmp_path / "out.json").read_text())
    assert written["figures"] == measured.figures
    assert {"rule": "op-string", "file": "amp/mode.py", "line": 1, "name": "trunc"} in (
        written["cases"]
    )
    assert run("--list", "op-string") == (0, "amp/mode.py:1: op-string: trunc\n")
    tree({"amp/mode.py": "A = 'trunc', 'bare'\n"})
    status, text = run("--check")
    assert status == 1 and text.endswith("op-string: 2, the record says 1\n")
    assert run("--record", "--check")[0] == 1
    assert run("--reset", "--check")[0] == 0


def test_the_record_holds_every_figure(tree, house):
    record = house.json.loads(house.RECORD.read_text())
    assert set(record["figures"]) == set(tree({"a.py": ""}).figures)
    exceptions = house.tomllib.loads(house.EXCEPTIONS.read_text())["exception"]
    assert len(exceptions) <= record["exceptions"]


def test_layers_are_each_named_once(house):
    words = " ".join(house.LAYERS.values()).split()
    assert len(words) == len(set(words))
    assert house.layer("kernels") < house.layer("tensor") == house.layer("autograd")
    assert house.layer("anything else") == house.DEFAULT_LAYER
