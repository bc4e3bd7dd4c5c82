"""The reference: docstrings, signatures, examples, counts that may not become worse."""

import doctest
import json
import sys
from pathlib import Path

import pytest

import rushlight

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module", autouse=True)
def reference():
    before = list(sys.path)  # parts of the reference add folders of their own
    sys.path[:0] = [str(DOCS), str(DOCS.parent / "ci")]
    yield
    sys.path[:] = before


def documented(x, rate=0.5, *, name=None):
    """Scale `x` by a `rate`. Raises TypeError for texts (Doe, 1999).

    See :func:`rushlight.mul`.

    Args:
        name: what it is called,
            on two lines.

    >>> 1 + 1
    2
    """


def test_parts_of_a_docstring():
    from reference.docstrings import parsed

    found = parsed(documented)
    assert found.summary == "Scale `x` by a `rate`."
    assert found.about("rate") == "Scale `x` by a `rate`."
    assert found.about("name") == "what it is called, on two lines."
    assert found.about("ratio") is None
    assert found.related == ["rushlight.mul"]
    assert found.sources == ["Doe, 1999"]
    assert found.raises == ["Raises TypeError for texts (Doe, 1999)."]
    assert found.examples == [">>> 1 + 1\n2"]
    assert "Args" not in found.text


def test_signatures_have_types_and_defaults():
    from reference.signatures import signature_of

    found = signature_of("topk", rushlight.topk)
    kinds = {p.name: (p.type, p.default) for p in found.parameters}
    assert kinds["k"] == ("int", None)
    assert kinds["largest"] == ("bool", "True")
    linear = signature_of("Linear", rushlight.nn.Linear)
    assert linear.lines[0].startswith("Linear(\n    in_features: int,\n    out_features: int,\n")
    assert [p.default for p in linear.parameters][:3] == [None, None, "True"]
    assert signature_of("abs_", rushlight.Tensor.abs_, True).lines == ["abs_(self) -> Tensor"]


NAMES = [
    ("rushlight.nn.functional", "softplus"),
    ("rushlight", "bitwise_xor"),
    ("rushlight", "bmm"),
    ("rushlight.Tensor", "add_"),
    ("rushlight.nn", "LSTM"),
    ("rushlight.nn.functional", "cross_entropy"),
    ("rushlight.optim.lr_scheduler", "StepLR"),
    ("rushlight.distributions", "Gamma"),
]


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_made_examples_show_what_they_give(path, name):
    from reference.homes import home_of
    from reference.made_examples import example_of

    text = example_of(path, name, getattr(home_of(path), name))
    assert name in text
    parser, space = doctest.DocTestParser(), {"rushlight": rushlight}
    test = parser.get_doctest(text + "\n", space, name, None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_what_is_counted_may_not_become_worse():
    from reference import writing

    record = json.loads(writing.RECORD.read_text())
    assert writing.worse(record) == []
    fewer = json.loads(writing.RECORD.read_text())
    fewer["rushlight"]["example"] -= 1
    (line,) = writing.worse(fewer)
    assert line.startswith("rushlight: ")
    assert "without example" in line
