"""Expressions mean what `re.fullmatch` means, schemas give values that they allow, and what is
generated within them is of the language, whatever the model prefers."""

import itertools
import json
import operator
import random
import re
from decimal import Decimal

import pytest

import rushlight as rl
from rushlight_text.generation import generate, generate_text, stream_text
from rushlight_text.generation.grammar import (
    TokenIndex,
    compile_pattern,
    compile_schema,
    index_of,
    within,
)
from rushlight_text.models.pretrained import build_model
from rushlight_text.tokenizers import train

LETTERS = "ab-"


def random_pattern(pick, depth=0):
    if depth == 3 or pick.random() < 0.3:
        return pick.choice(["a", "b", "-", ".", "[ab]", "[^a]", "[^-b]", r"\w", r"\W", "[a-b-]"])
    kind = pick.randrange(5)
    inner = random_pattern(pick, depth + 1)
    if kind == 0:
        return inner + random_pattern(pick, depth + 1)
    if kind == 1:
        other = pick.choice(["", random_pattern(pick, depth + 1)])
        return f"({inner}|{other})"
    if kind == 2:
        return f"(?:{inner}){pick.choice('*+?')}{pick.choice(['', '?'])}"
    low, more = pick.randrange(3), pick.randrange(3)
    bounds = pick.choice([f"{low}", f"{low},", f",{more}", f"{low},{low + more}"])
    return f"(?P<g{depth}{pick.randrange(10**6)}>{inner}){{{bounds}}}"


def test_random_expressions_mean_what_re_means():
    pick = random.Random(0)
    texts = ["".join(t) for n in range(5) for t in itertools.product(LETTERS, repeat=n)]
    accepted = 0
    for _ in range(250):
        pattern = random_pattern(pick)
        ours, theirs = compile_pattern(pattern), re.compile(pattern)
        for text in texts:
            expected = theirs.fullmatch(text) is not None
            assert ours.matches(text) == expected, (pattern, text)
            accepted += expected
    assert 3000 < accepted < 0.9 * 250 * len(texts)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^\d{3}-[0-9a-fA-F]+$",
        r"\A(?:é|[α-ω]+|\u00df)\Z",
        r"[]a^-]*",
        r"[^]\s]{2,}",
        r"(?:a{2}){3}|a{,2}b|x{|a{}|{a|a{1,2",
        r"\x41\101\0\n\t\\\.\-",
        r"[\d\-\]\b]+",
        r"(?P<y>\d+)(?#a comment)(?:\.\d+)?",
        r"\N{GREEK SMALL LETTER ALPHA}+|\S\s\D",
        "^a|b$|^c$",
        r"[\U0001F600-\U0001F64F日]+.",
    ],
)
def test_syntax(pattern):
    pick = random.Random(1)
    letters = "ab{x}2,1-]^ \t\n\b\0\\.AéαωßF٣日🙂c\U0001f64f"
    ours, theirs = compile_pattern(pattern), re.compile(pattern)
    texts = ["".join(pick.choices(letters, k=pick.randrange(6))) for _ in range(3000)]
    texts += [
        "123-aF",
        "AA\0\n\t\\.-",
        "12.5",
        "aaaaaa",
        "aab",
        "a{1,2",
        "x{",
        "{a",
        "a{}",
        "é",
        "α🙂1",
    ]
    texts += ["🙂日x", "c", "b", "a", "\b]-3", "ß"]
    found = [ours.matches(text) for text in texts]
    assert found == [theirs.fullmatch(text) is not None for text in texts]
    assert any(found)


def test_what_is_no_regular_language_is_refused():
    for pattern, message in (
        (r"(a)\1", "a reference to a group is not supported"),
        (r"(?=a)b", r"'\(\?=a' is not supported"),
        (r"a\b", "a word boundary is"),
        (r"(?i)a", r"'\(\?i\)' is"),
        (r"a++", "possessive repetition is"),
        (r"(?>a)", r"'\(\?>a' is"),
        (r"a^b", "a start inside is"),
        (r"(a$)b", "an end inside is"),
        (r"a$b", "an end inside is"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            compile_pattern(pattern)
    with pytest.raises(ValueError, match=r"'\(a' is no regular expression: missing \)"):
        compile_pattern("(a")
    with pytest.raises(ValueError, match="over 16,384 states"):
        compile_pattern("(a|b)*a(a|b){20}")
    with pytest.raises(ValueError, match="over 262,144 parts"):
        compile_pattern("(a{1000}){1000}")
    with pytest.raises(TypeError, match="must be a string, not int"):
        compile_pattern(3)


PERSON = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string", "minLength": 1, "maxLength": 8},
        "code": {"type": "string", "pattern": '^[a-c"\\\\\n]{2}$'},
        "tags": {"type": "array", "items": {"enum": ["x", 'y"', 3, None]}, "maxItems": 2},
        "point": {"type": "array", "prefixItems": [{"type": "number"}, {"$ref": "#/$defs/flag"}]},
        "any": {"anyOf": [{"const": {"a": [1, 2]}}, {"type": ["null", "boolean"]}]},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["name", "tags"],
    "$defs": {"flag": {"type": "boolean"}},
}


def is_person(value):
    assert list(value) == [key for key in PERSON["properties"] if key in value]
    assert {"name", "tags"} <= set(value)
    assert isinstance(value.get("id", 0), int) and 1 <= len(value["name"]) <= 8
    assert re.search(PERSON["properties"]["code"]["pattern"], value.get("code", "ab"))
    assert len(value["tags"]) <= 2 and all(tag in ["x", 'y"', 3, None] for tag in value["tags"])
    point = value.get("point", [])
    assert len(point) <= 2 and all(isinstance(x, float | int) for x in point)
    assert value.get("any") in ({"a": [1, 2]}, None, True, False)
    assert all(isinstance(x, int) for x in value.get("more", {}).values())
    return True


def walk(language, pick, longest=400):
    """A random text of a language: at random until it is long, then towards an end."""
    text, state = [], 0
    while state not in language.accepting or (language.steps[state] and pick.random() < 0.7):
        row = language.steps[state]
        kind = pick.choice(sorted(row))
        if len(text) > longest:
            return None
        ranges = [n for n, each in enumerate(language.kinds) if each == kind]
        at = pick.choice(ranges)
        last = (language.starts[at + 1] if at + 1 < len(language.starts) else 0x110000) - 1
        text.append(chr(pick.randint(language.starts[at], last)))
        state = row[kind]
    return "".join(text)


def test_texts_of_a_schema_are_values_that_it_allows():
    language, pick = compile_schema(PERSON), random.Random(0)
    texts = [text for text in (walk(language, pick) for _ in range(300)) if text]
    assert len(set(texts)) > 100
    assert all(is_person(json.loads(text)) for text in texts)
    keys = {key for text in texts for key in json.loads(text)}
    assert keys == set(PERSON["properties"])


def test_values_of_a_schema_are_accepted():
    language = compile_schema(PERSON)
    for value, expected in (
        ({"name": "Ada", "tags": []}, True),
        ({"id": -3, "name": 'é"\\\n', "code": '"\\', "tags": ["x", 3], "any": None}, True),
        ({"name": "Ada", "tags": [], "point": [1.5e-7, True], "more": {"k": 1, "l": 0}}, True),
        ({"name": "Ada", "tags": [], "any": {"a": [1, 2]}}, True),
        ({"name": "Ada"}, False),
        ({"name": "", "tags": []}, False),
        ({"name": "Ada Lovelace", "tags": []}, False),
        ({"name": "Ada", "tags": ["x", "x", "x"]}, False),
        ({"name": "Ada", "tags": [], "code": "abc"}, False),
        ({"name": "Ada", "tags": [], "point": [True]}, False),
        ({"name": "Ada", "tags": [], "other": 1}, False),
        ([], False),
    ):
        for separators in ((", ", ": "), (",", ":")):
            if separators == (",", ":") and "any" in value and value["any"]:
                continue  # constants have their spaces
            for ascii_only in (True, False):
                text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
                if '"\\n' in text or (ascii_only and "\\\\n" in text):
                    continue
                assert language.matches(text) == expected, text


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, "[1, 2,3]", "[1]"),
        ({"type": "array", "items": {"type": "null"}}, "[]", "[null,]"),
        (
            {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}},
            "[1,2,3,3]",
            "[1,3]",
        ),
        (
            {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "minItems": 1},
            "[1]",
            "[]",
        ),
        ({"type": "number"}, "-0.5E+10", "01"),
        ({"type": "string", "pattern": "b"}, '"abc"', '"ac"'),
        ({"type": "object", "additionalProperties": False}, "{}", '{"a":1}'),
        (
            {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}},
            '{"b": 2}',
            '{, "b": 2}',
        ),
        ({"enum": ["é", "\ud800"]}, '"\\ud800"', '"e"'),
    ],
)
def test_schemas(schema, good, bad):
    language = compile_schema(schema)
    assert language.matches(good) and not language.matches(bad)


def test_what_a_schema_may_not_say():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    for schema, message in (
        ({"type": "integer", "minItems": 3}, r"#: \['minItems'\] not supported beside"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf/0 and oneOf/1 may allow"),
        ({"allOf": [{"type": "string", "format": "a"}, {"items": 1}, {"items": 2}]}, "items"),
        ({"$ref": "#/$defs/node", "$defs": {"node": node}}, "refers to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "to itself"),
        ({"type": "array"}, "items of any kind"),
        ({}, "without a type it allows anything"),
        (True, "True allows anything"),
        ({"type": "object"}, "True allows anything"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "uniqueItems needs"),
        (
            {"type": "array", "items": {"enum": [*range(11)]}, "uniqueItems": True},
            "up to 10 listed",
        ),
        ({"type": "string", "not": {"enum": [["a"]]}}, r"not of \['a'\]; only of single values"),
        ({"type": "string", "not": {"type": "array"}}, "#/not: arrays inside of not"),
        ({"const": 1, "not": {"minimum": 2}}, "say the type inside of not"),
        ({"$ref": "other.json"}, "other.json is elsewhere"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            compile_schema(schema)
    for schema, message in (
        ({"type": "text"}, "type must be one of"),
        ({"type": "integer", "multipleOf": 0}, "multipleOf must be above 0, got 0"),
        ({"type": "integer", "multipleOf": 5000}, "multiples of 5000 have over 2,048 remainders"),
        (
            {"type": "array", "uniqueItems": 1, "items": {"const": 1}},
            "must be true or false, got 1",
        ),
        (
            {"type": "array", "uniqueItems": True, "items": {"type": "boolean"}, "minItems": 3},
            "3 different items of 2 values",
        ),
        ({"type": "boolean", "not": {"type": "boolean"}}, "the language has no text at all"),
        ({"type": "string", "minLength": -1}, "minLength must be a number from 0, got -1"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "minLength 3 is more than maxLength"),
        ({"$ref": "#/$defs/a"}, "there is no #/"),
        ({"enum": []}, "the language has no text at all"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no number is from 3 to 2"),
        ({"type": "number", "minimum": "3"}, "minimum must be a number, got '3'"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, "no type is in all parts of allOf"),
        ({"oneOf": [{"$ref": "#/$defs/a"}] * 2, "$defs": {"a": {"$ref": "#/$defs/a"}}}, "itself"),
    ):
        with pytest.raises(ValueError, match=message):
            compile_schema(schema)


BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def holds(schema, value):
    """Whether a number is within a schema's bounds."""
    tests = dict(zip(BOUNDS, (operator.ge, operator.le, operator.gt, operator.lt), strict=True))
    return all(tests[k](value, Decimal(str(v))) for k, v in schema.items() if k in tests)


def drawn_bounds(pick, draw):
    """Bounds that some number is within."""
    while True:
        found = {name: draw() for name in pick.sample(BOUNDS, pick.randint(1, 3))}
        try:
            compile_schema({"type": "number", **found})
            return found
        except ValueError:
            continue


def test_integers_within_bounds():
    """Every integer of a range, for 150 drawn bounds."""
    pick, seen = random.Random(1), 0
    while seen < 150:
        size = pick.choice((3, 30, 300))
        given = drawn_bounds(
            pick, lambda size=size: pick.randint(-size, size) + pick.choice((0, 0.5))
        )
        try:
            language = compile_schema({"type": "integer", **given})
        except ValueError:  # between two integers
            assert not any(holds(given, value) for value in range(-400, 400))
            continue
        seen += 1
        for value in (*range(-350, 351), -(10**6), 10**6, 99999, 100001):
            if value:
                assert language.matches(str(value)) == holds(given, value), (given, value)
        assert language.matches("0") == holds(given, 0), given
        assert not any(map(language.matches, ("-", "", "01", "1.0", "+1", "1e3")))


def test_numbers_within_bounds():
    """Decimals near the bounds and elsewhere, for 150 drawn bounds."""
    pick = random.Random(2)
    for _ in range(150):
        places = pick.choice((0, 1, 2, 3))
        given = drawn_bounds(
            pick, lambda places=places: round(pick.uniform(-20, 20), pick.randint(0, places))
        )
        language = compile_schema({"type": "number", **given})
        near = [Decimal(str(value)) for value in given.values()]
        texts = {
            format(value + step, "f")
            for value in (*near, Decimal(0))
            for step in map(
                Decimal, "0 0.0 0.1 -0.1 0.001 -0.001 0.00001 -0.00001 1 -1 7.5".split()
            )
        }
        texts |= {f"{pick.uniform(-25, 25):.{pick.randint(0, 5)}f}" for _ in range(60)}
        for text in texts - {t for t in texts if t.startswith("-0") and not Decimal(t)}:
            assert language.matches(text) == holds(given, Decimal(text)), (given, text)
        assert not any(map(language.matches, ("1.", ".5", "01", "-", "1e1")))


def test_numbers_of_a_schema_are_within_its_bounds():
    pick = random.Random(3)
    for _ in range(60):
        given = drawn_bounds(pick, lambda: round(pick.uniform(-9, 9), 2))
        language = compile_schema({"type": "number", **given})
        for _ in range(20):
            text = walk(language, pick)
            assert not text or holds(given, Decimal(text)), (given, text)


SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "number", "minimum": 0}},
            "required": ["kind", "r"],
        },
        {
            "type": "object",
            "properties": {"kind": {"enum": ["box", "cube"]}, "a": {"type": "integer"}},
            "required": ["kind"],
        },
        {"type": "null"},
    ]
}
TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "v": {"type": "integer", "minimum": 0, "maximum": 9},
                "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            },
            "required": ["v"],
        }
    },
}


def test_alternatives_that_exclude_each_other():
    language = compile_schema(SHAPES)
    for good in ('{"kind": "circle", "r": 0.5}', '{"kind":"cube", "a": -3}', "null"):
        assert language.matches(good), good
    for bad in ('{"kind": "circle"}', '{"kind": "circle", "r": -1}', '{"kind": "ball"}', "1"):
        assert not language.matches(bad), bad


def test_parts_that_hold_together():
    schema = {
        "allOf": [
            {"$ref": "#/$defs/named"},
            {"properties": {"age": {"type": "number", "minimum": 0}}, "required": ["age"]},
            {"properties": {"age": {"type": "integer", "maximum": 120}}},
        ],
        "$defs": {
            "named": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 5}},
                "required": ["name"],
            }
        },
    }
    language = compile_schema(schema)
    assert language.matches('{"name": "Ada", "age": 36}')
    for bad in ('{"name": "Ada"}', '{"name": "Ada", "age": 121}', '{"name": "Ada", "age": 3.5}'):
        assert not language.matches(bad), bad
    length = compile_schema(
        {
            "allOf": [
                {"type": ["string", "null"], "minLength": 2},
                {"type": "string", "minLength": 1},
            ]
        }
    )
    assert length.matches('"ab"') and not length.matches('"a"') and not length.matches("null")


def test_recursion_to_a_depth():
    flat, deep = (compile_schema(TREE, recursion=depth) for depth in (1, 3))
    leaf = '{"v": 1}'
    one = '{"v": 1, "children": [{"v": 2}, {"v": 3}]}'
    two = '{"v": 1, "children": [{"v": 2, "children": [{"v": 3}]}]}'
    assert flat.matches(leaf) and flat.matches(one) and not flat.matches(two)
    assert deep.matches(leaf) and deep.matches(one) and deep.matches(two)
    assert flat.matches('{"v": 1, "children": []}')
    within_parts = {"type": "object", "properties": {"next": {"allOf": [{"$ref": "#"}, {}]}}}
    chain = compile_schema(within_parts, recursion=1)
    assert chain.matches('{"next": {"next": {}}}')
    assert not chain.matches('{"next": {"next": {"next": {}}}}')
    with pytest.raises(ValueError, match="recursion must be a number from 0, got -1"):
        compile_schema(TREE, recursion=-1)


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("date", "2024-05-17", "2024-13-17"),
        ("time", "23:59:00Z", "24:00:00Z"),
        ("date-time", "2024-05-17T08:00:00.25+02:00", "2024-05-17"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("ipv4", "127.0.0.255", "127.0.0.256"),
        ("unknown", "anything", None),
    ],
)
def test_formats(format, good, bad):
    language = compile_schema({"type": "string", "format": format})
    assert language.matches(json.dumps(good))
    assert bad is None or not language.matches(json.dumps(bad))


def test_indices_of_depths_are_kept_apart(speaker):
    _, tokenizer = speaker
    one, two = (index_of(tokenizer, schema=TREE, recursion=depth) for depth in (1, 2))
    assert one is not two
    assert index_of(tokenizer, schema=TREE, recursion=1) is one


TEXTS = ["the cat sat on the mat, 12 times.", 'naïve façade 🙂 日本語 {"a": 1}', "x = 34.5;"] * 5


@pytest.fixture(scope="module", params=["byte_bpe", "unigram"])
def speaker(request):
    """A model that knows nothing, with a tokenizer."""
    rl.manual_seed(0)
    letters = ["".join(map(chr, range(32, 127)))] * 3  # in the vocabulary of characters, too
    tokenizer = train(TEXTS + letters, kind=request.param, vocab_size=330, min_frequency=1)
    sizes = {"vocab_size": len(tokenizer) + 5, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = build_model("gpt2", "causal-lm", n_positions=256, initializer_range=0.3, **sizes)
    if tokenizer.eos_token is None:
        tokenizer.add_special_tokens({"eos_token": "<end>"})
    return model.eval(), tokenizer


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}-\d{2}", "(yes|no)!?", "[a-z ]{3,9}", "(日本語|façade) 🙂{2}", "x?"]
)
def test_answers_match_a_pattern(speaker, pattern):
    model, tokenizer = speaker
    options = {"pattern": pattern, "max_new_tokens": 40}
    generator = rl.Generator().manual_seed(0)
    drawn = {"do_sample": True, "num_return_sequences": 6, "generator": generator}
    beams = {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0}
    for how in ({}, drawn, {"num_beams": 3}, beams):
        found = generate_text(model, tokenizer, ["the cat", "x"], **options, **how)
        for text in found:
            assert re.fullmatch(pattern, text), (how, text)
    whole = generate_text(model, tokenizer, "the cat", **options)
    assert "".join(stream_text(model, tokenizer, "the cat", **options)) == whole


def test_answers_are_of_a_schema(speaker):
    model, tokenizer = speaker
    point = {"type": "object", "properties": {"x": {"enum": [0.5, 1]}, "日": {"type": "boolean"}}}
    point["required"] = ["x", "日"]
    schema = {"type": "array", "items": point, "minItems": 1, "maxItems": 2}
    generator = rl.Generator().manual_seed(1)
    drawn = {"do_sample": True, "num_return_sequences": 8, "generator": generator}
    found = generate_text(model, tokenizer, "x", schema=schema, max_new_tokens=99, **drawn)
    for text in found:
        value = json.loads(text)
        assert 1 <= len(value) <= 2
        assert all(set(each) == {"x", "日"} and each["x"] in (0.5, 1) for each in value)
    assert index_of(tokenizer, schema=schema) is index_of(tokenizer, schema=dict(schema))


def test_an_index_is_what_the_automaton_says_of_each_token(speaker):
    _, tokenizer = speaker
    language = compile_pattern("[a-z日]*( [a-m]+)?")
    index = TokenIndex(language, tokenizer)
    first = next(id for id in index.following(index.start) if tokenizer.decode([id]) == "c")
    state = index.following(index.start)[first]
    allowed = index.following(state)
    assert index.accepts(state) and len(allowed) > 20
    special = {tokenizer.eos_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id}
    seen = 0
    for number in set(range(len(tokenizer))) - special:
        after = tokenizer.decode([first, number])
        if "\ufffd" not in after and after != "c":  # whole characters
            alive = any(language.matches(after + rest) for rest in ("", "a"))
            assert (number in allowed) == alive, after
            seen += 1
    assert seen > 90


def test_wrong_uses_are_named(speaker):
    model, tokenizer = speaker
    with pytest.raises(ValueError, match="a pattern or a schema, not both"):
        generate_text(model, tokenizer, "x", pattern="a", schema={"type": "null"})
    with pytest.raises(ValueError, match="an id that ends an answer"):
        within(index_of(tokenizer, "a"), 1, [])
    words = train(TEXTS, kind="bpe", vocab_size=300, min_frequency=1)
    with pytest.raises(NotImplementedError, match="does not join tokens one behind the other"):
        index_of(words, "a")
    few = train(["ab"], kind="unigram", vocab_size=10, min_frequency=1)
    few.add_special_tokens({"eos_token": "<end>"})
    stuck = within(index_of(few, "z"), 1, few.eos_token_id)
    with pytest.raises(ValueError, match=r"no token goes on after the ids \[\]"):
        generate(model, rl.tensor([[1]]), processors=[stuck], eos_token_id=few.eos_token_id)
