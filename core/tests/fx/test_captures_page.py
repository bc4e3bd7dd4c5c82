"""The check behind the docs' page of models and ways of capture."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
if not (ROOT / "ci" / "captures.py").exists():
    pytest.skip("the repository's ci folder is not here", allow_module_level=True)
sys.path.insert(0, str(ROOT / "ci"))
try:
    import captures
    from capture_ways import ways
finally:
    sys.path.remove(str(ROOT / "ci"))

import rushlight  # noqa: E402
from rushlight import nn  # noqa: E402


class Branch(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


def test_a_model_is_judged_by_its_results():
    model, inputs = nn.Sequential(nn.Linear(3, 2), nn.ReLU()).eval(), (rushlight.ones(1, 3),)
    for way in ("fx", "export", "trace", "script"):
        assert ways.judged(way, model, inputs) == "equal"
    assert "GuardOnDataDependentSymNode" in ways.judged("export", Branch(), inputs)
    assert ways.judged("script", Branch(), inputs) == "equal"


def test_results_of_other_forms_and_values_differ():
    x = rushlight.ones(3)
    assert ways.difference((x, {"a": x}), (x, {"a": x})) == 0
    assert ways.difference(x, x.reshape(1, 3)) == float("inf")
    assert ways.difference(x * 1.5, x) == pytest.approx(0.5)


def test_what_was_captured_must_stay_so():
    good = dict.fromkeys(ways.WAYS, "equal")
    bad = good | {"onnx": "differs by 1e-02"}
    assert captures.worse({"text": {"m": good}}, {"text": {"m": bad}}) == [
        "text m, onnx: differs by 1e-02"
    ]
    assert not captures.worse({"text": {"m": bad}}, {"text": {"m": good}})


def test_the_page_is_the_record():
    record = json.loads(captures.RECORD.read_text())
    assert captures.PAGE.read_text() == captures.page(record)
    rows = [row for part in record.values() for row in part.values()]
    assert len(rows) >= 60
    for way in ways.WAYS:
        assert sum(row[way] == "equal" for row in rows) > len(rows) / 2
