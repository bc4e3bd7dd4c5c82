"""Schemas of ATen's overloads, for every overload that a name of the table has."""

import json
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")

REASONS = {
    "arguments": "a declaration is written for Python: names, kinds of numbers, order, aliases",
    "defaults": "the same arguments, whose defaults are written in another way",
    "names of results": "a result that is a view here",
    "results": "a declaration gives another number of results",
}
RECORD = Path(__file__).parent / "recorded" / "aten_schemas.json"


def ours(name, overload):
    """The text of a schema; None of an overload without one."""
    packet = getattr(rushlight.ops.aten, name, None)
    try:
        return None if packet is None else str(getattr(packet, overload)._schema)
    except AttributeError:
        return None


def compared():
    """What agrees, and what differs, by name and overload: both texts."""
    same, others = [], {}
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith("aten::"):
            continue
        name, overload = schema.name.removeprefix("aten::"), schema.overload_name or "default"
        found = ours(name, overload)
        if found is None:
            continue
        if found == str(schema):
            same.append(f"{name}.{overload}")
        else:
            others[f"{name}.{overload}"] = reason(found, str(schema))
    return sorted(same), others


def reason(found, expected):
    """Which part of a schema differs."""
    (left, right), (a, b) = (text.rsplit(" -> ", 1) for text in (found, expected))
    if left != a:
        words = [[w.split("=")[0] for w in text.split("(", 1)[1].split(", ")] for text in (left, a)]
        return "defaults" if words[0] == words[1] else "arguments"
    return "names of results" if right.count(",") == b.count(",") else "results"


def write():
    """Write down how things stand: ``python tests/library/test_aten_schemas.py``."""
    same, others = compared()
    by_reason = {}
    for name, why in sorted(others.items()):
        by_reason.setdefault(why, []).append(name)
    RECORD.parent.mkdir(exist_ok=True)
    found = {"same": len(same), "reasons": REASONS, "others": by_reason}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")


def test_schemas_are_pytorchs_but_for_those_on_record():
    same, others = compared()
    record = json.loads(RECORD.read_text())
    assert len(same) >= record["same"]
    known = {name: why for why, names in record["others"].items() for name in names}
    assert {name: why for name, why in others.items() if known.get(name) != why} == {}


@pytest.mark.parametrize(
    ("name", "overload", "text"),
    [
        ("add", "out", "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out)"
                       " -> Tensor(a!)"),
        ("relu_", "default", "aten::relu_(Tensor(a!) self) -> Tensor(a!)"),
        ("zeros", "out", "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"),
    ],
)  # fmt: skip
def test_forms_that_write(name, overload, text):
    expected = str(getattr(getattr(torch.ops.aten, name), overload)._schema)
    assert ours(name, overload) == expected == text
    schema = getattr(getattr(rushlight.ops.aten, name), overload)._schema
    assert schema.is_mutable


if __name__ == "__main__":
    write()
