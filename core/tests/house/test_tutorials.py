"""ci/tutorials.py: a page disagrees with its script where it must agree, and nowhere else."""

import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[3] / "ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="the tests stand alone, without ci/")

SCRIPT = '''"""Numbers.

    rushlight examples run learn_numbers

Counts, and leaves runs/learn_numbers/ with nothing in it.
"""

# %% Count
# Addition, *in Markdown*:
#
# * one item
import inspect


def add(a, b):
    return a + b


print("one and two are", add(1, 2))

# %%
# The second cell knows the first.
print(inspect.getsource(add).splitlines()[-1], add(0.25, 0.5))

# %% What next
# Nothing.
'''


@pytest.fixture
def tutorials(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(CI))
    before = set(sys.modules)
    import tutorials

    monkeypatch.setattr(tutorials, "PAGES", tmp_path)
    yield tutorials
    for name in {"tutorials", "packages"} & (set(sys.modules) - before):
        del sys.modules[name]


@pytest.fixture
def script(tutorials, tmp_path):
    """A tutorial whose page has been written."""
    path = tmp_path / "learn_numbers.py"
    path.write_text(SCRIPT)
    assert tutorials.check(path, write=True)[0] == []
    return path


def test_pages_of_all_tutorials_have_their_text_and_code(tutorials, monkeypatch):
    monkeypatch.setattr(tutorials, "PAGES", tutorials.ROOT / "docs" / "pages")
    paths = sorted(tutorials.ROOT.glob("*/src/*/examples/learn_*.py"))
    assert len(paths) == 9
    assert [fault for path in paths for fault in tutorials.form_faults(path)] == []


def test_the_first_tutorial_begins_as_its_page_says(tutorials, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(tutorials, "PAGES", tutorials.ROOT / "docs" / "pages")
    path = tutorials.ROOT / "core" / "src" / "rushlight" / "examples" / "learn_tensors.py"
    shown, _ = tutorials.run(path, tmp_path, count=3)
    assert len(shown) == 3
    assert tutorials.disagreements(path, shown, tmp_path / "pictures") == []


def test_a_page_shows_text_code_and_output(tutorials, script):
    page = tutorials.page_of("learn_numbers").read_text()
    assert page.startswith("# Numbers\n\n    rushlight examples run learn_numbers\n\nCounts,")
    assert "## Count\n\nAddition, *in Markdown*:\n\n* one item\n\n```python\nimport inspect" in page
    assert "```text\none and two are 3\n```\n\nThe second cell" in page
    assert "```text\n    return a + b 0.75\n```\n\n## What next\n\nNothing.\n" in page


@pytest.mark.parametrize("change", [("Addition", "Sum"), ("a + b", "b + a"), ("## Count", "## C")])
def test_other_text_or_code_is_seen_without_running(tutorials, script, change):
    assert tutorials.form_faults(script) == []
    page = tutorials.page_of("learn_numbers")
    page.write_text(page.read_text().replace(*change))
    (fault,) = tutorials.form_faults(script)
    assert "has other text or code" in fault


@pytest.mark.parametrize(
    "change",
    [
        ("are 3", "are 4"),
        ("0.75", "0.95"),
        ("one and two are 3", "1 and two are 3"),
        ("one and two are 3", "a\none and two are 3"),
    ],
)
def test_other_output_is_seen_by_running(tutorials, script, change):
    page = tutorials.page_of("learn_numbers")
    page.write_text(page.read_text().replace(*change))
    (fault,) = tutorials.check(script)[0]
    assert "on the page" in fault


def test_a_failing_script_is_told_with_its_line(tutorials, script):
    script.write_text(SCRIPT.replace("add(0.25, 0.5)", "add(0.25)"))
    (fault,) = tutorials.check(script)[0]
    assert 'learn_numbers.py", line 23' in fault and "missing 1 required" in fault


@pytest.mark.parametrize(
    ("before", "now", "code", "agree"),
    [
        ("loss 0.113", "loss 0.120", "", True),  # a tenth
        ("loss 0.113", "loss 0.150", "", False),
        ("loss 0.0001", "loss 0.0003", "", True),  # two units of the last digit
        ("1.2e-07", "3.0e-07", "", False),
        ("  7  of 12", "7 of 12", "", True),  # columns
        ("7 of 12", "8 of 12", "", False),
        ("7 of 12", "8 of 12", "# figures vary", True),
        ("8 s", "8 ms", "# figures vary", False),
        ("a day", "two days", "# text varies", True),
        ("a day", "a\nday", "# text varies", False),
    ],
)
def test_numbers_agree_within_what_processors_differ_by(tutorials, before, now, code, agree):
    assert (tutorials.text_differs(before, now, code) == "") is agree


def test_pictures_are_compared_by_size_and_brightness(tutorials, tmp_path):
    matplotlib = pytest.importorskip("matplotlib.image")
    import numpy as np

    for name, value, size in (("a", 0.5, 8), ("b", 0.51, 8), ("c", 0.8, 8), ("d", 0.5, 9)):
        matplotlib.imsave(tmp_path / f"{name}.png", np.full((size, size, 3), value))
    a, b, c, d, e = (tmp_path / f"{name}.png" for name in "abcde")
    assert tutorials.picture_differs(a, b) == ""
    assert "brightness" in tutorials.picture_differs(a, c)
    assert tutorials.picture_differs(a, c, vary=True) == ""
    assert "pixels" in tutorials.picture_differs(a, d)
    assert "new picture" in tutorials.picture_differs(e, a)
