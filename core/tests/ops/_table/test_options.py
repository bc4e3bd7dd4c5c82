"""The options of declarations: something reads each of them, and their words are known."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rushlight
from rushlight import ops
from rushlight.ops._table.op import TABLE

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"rushlight.ops.{module.name}")

ROOT = Path(rushlight.__file__).parent
# What may stand behind an option that speaks of the dtypes of `ops/_limited.py`.
KINDS = {"unsigned", "complex", "unsigned complex", "unsigned complex eight"}
KINDS |= {"unsigned eight", "complex eight", "eight"}


def test_every_option_is_read():
    here = Path(__file__).parents[2]  # generated tests read some, generators others
    roots = (ROOT, here, here.parent.parent / "ci")
    texts = [p.read_text() for root in roots for p in root.rglob("*.py")]
    strings = {string for text in texts for string in re.findall(r'"(\w+)"', text)}
    declared = {name for op in TABLE.values() for name in op.options}
    assert len(declared) > 30
    assert declared <= strings, f"nobody reads {sorted(declared - strings)}"


@pytest.mark.parametrize(
    ("option", "words"), [("limited", {None, False, *KINDS}), ("barred", {None, *KINDS})]
)
def test_words_for_the_dtypes_that_few_ops_take_are_known(option, words):
    found = {op.options.get(option) for op in TABLE.values()}
    assert found <= words
    assert len(found) > 2


def test_ops_that_only_move_elements_take_every_dtype():
    moving = [op for op in TABLE.values() if "moves" in op.options]
    assert moving
    assert all(op.options["limited"] == "unsigned complex eight" for op in moving)


def test_batching_rules_that_declarations_name_exist():
    from rushlight.ops._transforms.batching_rules import RULES, rule_of

    named = [op for op in TABLE.values() if "batching" in op.options]
    assert len(named) > 150
    assert {op.options["batching"] for op in named} <= set(RULES)
    assert all(rule_of(op) is RULES[op.options["batching"]] for op in named)
