"""Keywords that take away: multiples, different items, `not`, several patterns and lengths. What a
schema accepts is compared with what its keywords say of the value, for every text of a set."""

import itertools
import json
import re
from decimal import Decimal

import pytest

from rushlight_text.generation.grammar import compile_pattern, compile_schema
from rushlight_text.generation.grammar.automata import automaton
from rushlight_text.generation.grammar.expressions import Repeat, Sequence, Shared, literal
from rushlight_text.generation.grammar.parsing import parse

TEXTS = ["".join(t) for n in range(6) for t in itertools.product("ab-", repeat=n)]
NUMBERS = sorted(
    {
        sign + whole + fraction
        for sign in ("", "-")
        for whole in (*map(str, range(130)), "1000", "12345", "01")
        for fraction in ("", ".0", ".5", ".50", ".25", ".1", ".75", ".125", ".", ".00")
    }
)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("one", ["a*b*", "(a|b)*", ".{2,4}", "(ab|-)+", "[^-]*a"])
@pytest.mark.parametrize("other", ["a+", "b.*", ".*-.*", "(..)*", "a*-?b*"])
def test_texts_of_one_expression_that_are_of_another(one, other, inside):
    shared = Shared(parse(one), parse(other), inside)
    expected = [
        t for t in TEXTS if re.fullmatch(one, t) and (re.fullmatch(other, t) is not None) == inside
    ]
    if not expected:
        with pytest.raises(ValueError, match="no text at all"):
            automaton(shared)
        return
    language = automaton(shared)
    assert [t for t in TEXTS if language.matches(t)] == expected
    around = automaton(Sequence((literal("<"), Repeat(shared, 1, 2), literal(">"))))
    pairs = {f"<{a}{b}>" for a in ("", *expected) for b in expected}
    assert all(around.matches(text) for text in pairs)
    assert all(around.matches(f"<{t}>") == (f"<{t}>" in pairs) for t in TEXTS)


def _is_number(text):
    return re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", text) and not (
        text.startswith("-") and Decimal(text) == 0
    )


@pytest.mark.parametrize("step", [1, 2, 3, 7, 10, 64, 0.5, 0.25, 0.1, 2.5, 1.2, 0.125, 12.5])
def test_multiples(step):
    language = compile_schema({"type": "number", "multipleOf": step})
    for text in NUMBERS:
        wanted = bool(_is_number(text)) and Decimal(text) % Decimal(str(step)) == 0
        assert language.matches(text) == wanted, text


@pytest.mark.parametrize("step", [1, 6, 2.5, 0.5])
def test_multiples_within_bounds(step):
    bounds = {"minimum": -40, "exclusiveMaximum": 105}
    for kind in ("integer", "number"):
        language = compile_schema({"type": kind, "multipleOf": step, **bounds})
        for text in NUMBERS:
            value = Decimal(text) if _is_number(text) else None
            whole = kind == "number" or "." not in text
            wanted = value is not None and whole and -40 <= value < 105
            assert language.matches(text) == (wanted and value % Decimal(str(step)) == 0), text


def test_common_multiples():
    language = compile_schema({"allOf": [{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}]})
    assert [n for n in range(50) if language.matches(str(n))] == [0, 12, 24, 36, 48]
    parts = [{"type": "number", "multipleOf": 0.4}, {"multipleOf": 0.6}]
    language = compile_schema({"allOf": parts})
    assert language.matches("1.2") and language.matches("6") and not language.matches("0.8")


@pytest.mark.parametrize(
    ("items", "values"),
    [
        ({"enum": ["a", "b", "a", 1]}, ["a", "b", 1]),
        ({"type": "boolean"}, [True, False]),
        ({"type": "integer", "minimum": -1, "maximum": 2}, [-1, 0, 1, 2]),
        ({"anyOf": [{"const": "x"}, {"type": "null"}, {"$ref": "#/$defs/k"}]}, ["x", None, 0]),
    ],
)
@pytest.mark.parametrize(("least", "most"), [(0, None), (2, None), (1, 2)])
def test_different_items(items, values, least, most):
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": least}
    if most is not None:
        schema["maxItems"] = most
    language = compile_schema({**schema, "$defs": {"k": {"const": 0}}})
    for count in range(5):
        for chosen in itertools.product([*values, "other"], repeat=count):
            texts = [json.dumps(value) for value in chosen]
            wanted = len(set(texts)) == count and "other" not in chosen
            wanted = wanted and least <= count <= (most or count)
            for separators in ((", ", ": "), (",", ":")):
                assert language.matches(json.dumps(chosen, separators=separators)) == wanted


@pytest.mark.parametrize(
    ("schema", "values", "writings"),
    [
        ({"type": "string", "not": {"const": "a"}}, ["b", "aa", ""], ['"a"', '"\\u0061"']),
        ({"type": "string", "not": {"enum": ["\n", 'q"']}}, ["n", "é"], ['"\\n"', '"q\\""']),
        ({"type": "string", "not": {"pattern": "^x"}}, ["yx", ""], ['"x"', '"xy"']),
        ({"type": "string", "not": {"minLength": 3}}, ["ab", ""], ['"abc"', '"a\\nbc"']),
        ({"type": "integer", "not": {"const": 0}}, [1, -7, 10], ["0", "-0"]),
        ({"type": "number", "not": {"const": 1.5}}, [1, 1.25, 15], ["1.5", "1.50", "15e-1"]),
        ({"type": "number", "not": {"type": "integer"}}, [0.5, -1.25], ["1", "1.0", "0", "2e0"]),
        ({"type": "integer", "not": {"multipleOf": 3}}, [1, -2, 100], ["0", "3", "-12"]),
        (
            {"type": ["string", "null"], "not": {"anyOf": [{"type": "null"}, {"const": ""}]}},
            ["a"],
            ["null", '""'],
        ),
        (
            {"allOf": [{"type": "integer", "not": {"const": 1}}, {"not": {"const": 2}}]},
            [0, 3],
            ["1", "2"],
        ),
        ({"type": "integer", "not": {"not": {"minimum": 5}}}, [5, 6], ["4"]),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "required": ["a"],
                "not": {"type": "string"},
            },
            [{"a": "x"}],
            ["{}"],
        ),
    ],
)
def test_what_is_denied(schema, values, writings):
    language = compile_schema(schema)
    for value in values:
        assert language.matches(json.dumps(value, ensure_ascii=False)), value
    for text in writings:
        assert not language.matches(text), text


def test_patterns_lengths_and_formats_hold_together():
    language = compile_schema({"type": "string", "pattern": "b", "minLength": 2, "maxLength": 3})
    for text in TEXTS:
        assert language.matches(f'"{text}"') == ("b" in text and 2 <= len(text) <= 3), text
    assert language.matches('"b\\n"') and language.matches('"\\u00e9b"')
    both = compile_schema({"allOf": [{"type": "string", "pattern": "a$"}, {"pattern": "^b"}]})
    assert [t for t in TEXTS if both.matches(f'"{t}"') and len(t) == 2] == ["ba"]
    year = compile_schema({"type": "string", "format": "date", "pattern": "^20[0-9]{2}-02"})
    assert year.matches('"2024-02-29"') and not year.matches('"2024-03-01"')
    assert not year.matches('"1999-02-01"')


def test_minimal_operands_keep_the_language():
    pattern = "(ab|cd)*(ab|cd){2}"
    plain = compile_pattern(pattern)
    shared = automaton(Shared(parse(pattern), parse("(.|..)*")))
    texts = ["".join(t) for n in range(7) for t in itertools.product("abcd", repeat=n)]
    assert [shared.matches(t) for t in texts] == [plain.matches(t) for t in texts]
    assert any(map(plain.matches, texts))
