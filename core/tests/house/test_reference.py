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


def inner(x, rate):
    """Halve.

    Args:
        rate: how fast.
    """


def middle(x, rate):
    """As :func:`inner`."""


def outer(x, rate):
    """As :func:`middle`; also :func:`outer` itself."""


def test_parameters_of_functions_that_are_named_in_turn():
    from reference.docstrings import inherited, parsed

    related = parsed(outer).related
    assert inherited(outer, "rate", related, listed=True) == "how fast."
    assert inherited(outer, "x", related, listed=True) is None


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


def test_types_by_names_and_annotations():
    from reference.signatures import signature_of

    def types(value):
        found = signature_of(value.__name__, value)
        return {p.name: p.type for p in found.parameters}, found.returns

    assert types(rushlight.lstm)[1] == "tuple[Tensor, Tensor, Tensor]"
    assert types(rushlight.masked.masked_tensor)[1] == "MaskedTensor"
    assert types(rushlight.distributions.Normal)[0]["scale"] == "Tensor | Number"
    assert types(rushlight.nn.MSELoss)[0]["reduce"] == "bool | None"
    assert types(rushlight.scatter)[0]["reduce"] == "str | None"
    assert types(rushlight.distributed.TCPStore)[0]["timeout"] == "timedelta"


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


WRITTEN = ["rushlight.func", "rushlight.masked", "rushlight.optim.swa_utils"]


@pytest.mark.parametrize("path", WRITTEN)
def test_written_examples_show_results_of_their_own(path):
    from reference.homes import home_of
    from reference.made_examples import example_of
    from reference.pages import shows_something
    from reference.written_examples import examples_of

    home = home_of(path)
    texts = {name: example_of(path, name, getattr(home, name)) for name in examples_of(path)}
    assert len(texts) > 4 and len(set(texts.values())) == len(texts)
    for name, text in texts.items():
        assert text is not None and name in text and shows_something(text), name


def test_statements_keep_their_lines():
    from reference.written_examples import prompted, statements

    program = "@wrap\ndef f(x):\n    return x\n\nf(1)"
    *lines, call = map(prompted, statements(program))
    assert lines == [">>> @wrap\n... def f(x):\n...     return x"]
    assert call.splitlines()[-1].endswith("f(1)")


def test_parameters_are_described_by_page_and_base():
    from reference.docstrings import parsed
    from reference.glossary import described

    assert described("rushlight.signal.windows", "hann", "M", False).startswith("number of values")
    assert described("rushlight.nn", "RReLU", "lower", False).startswith("lower bound of the slope")
    assert described("rushlight.nn", "RReLU", "no_such", False) is None

    def in_numpys_form():
        """Scale.

        Parameters
        ----------
        x : Tensor
            The input.

        Returns
        -------
        Tensor
        """

    assert parsed(in_numpys_form).about("x") == "Tensor The input."


def test_what_is_counted_may_not_become_worse():
    from reference import writing

    record = json.loads(writing.RECORD.read_text())
    assert writing.worse(record) == []
    fewer = json.loads(writing.RECORD.read_text())
    fewer["rushlight"]["example"] -= 1
    (line,) = writing.worse(fewer)
    assert line.startswith("rushlight: ")
    assert "without example" in line


def test_every_name_has_descriptions_and_an_example():
    from reference import writing
    from reference.pages import Entry

    record = json.loads(writing.RECORD.read_text())
    for row in record.values():
        assert {row[count] for count in writing.COMPLETE} == {row["names"]}

    def new_name(x, gravity=9.81):
        """What `x` weighs."""

    found = list(writing.lacks(Entry("rushlight", "new_name", new_name)))
    assert [line.partition(";")[0] for line in found] == [
        "rushlight.new_name: no typed",
        "rushlight.new_name: no parameters: gravity",
        "rushlight.new_name: no example",
    ]
    whole = Entry("rushlight.nn.functional", "softplus", rushlight.nn.functional.softplus)
    assert list(writing.lacks(whole)) == []
