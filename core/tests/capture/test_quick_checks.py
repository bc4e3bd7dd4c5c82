"""Guards by words of memory: what a change leaves as it was holds, and every change is noticed."""

import pytest

import rushlight
from rushlight import nn
from rushlight.capture import quick_checks
from rushlight.capture.entry import entry_of
from rushlight.machine import native_words
from rushlight.machine.native_functions import is_available

needs_words = pytest.mark.skipif(not is_available(), reason="no native functions here")
FACTOR, OTHER = 2.0, 0
TABLE = {"factor": 3.0}
NAMES = {"relu", "sigmoid"}


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.scale, self.row = nn.Linear(4, 3), 5.0, [1.0, 2.0]

    def forward(self, x):
        y = self.layer(x) * self.scale * FACTOR * TABLE["factor"] + sum(self.row)
        return y if "relu" in NAMES else -y


@pytest.fixture
def model():
    rushlight.manual_seed(0)
    return Scaled().requires_grad_(False)


@pytest.fixture
def entry(model):
    with rushlight.no_grad():
        return entry_of(model, (rushlight.ones(2, 4),), {}, "model", False)


@needs_words
def test_what_nobody_reads_may_change(entry, model, monkeypatch):
    """A module's dictionary of globals is compared as a whole, until it turns out to be restless:
    entries are then looked at one by one, as everywhere where an interpreter counts no writes."""
    counted = native_words.counts_writes()
    assert entry.quick()
    for i in range(5):
        monkeypatch.setitem(globals(), "OTHER", i + 10)
        assert entry.quick() is (i >= quick_checks.RESTLESS or not counted)
        assert entry.hold() and entry.quick()
    notes = entry.quick.notes
    model.note = "nobody asks"
    assert entry.quick() is not counted and entry.hold() and entry.quick()
    assert entry.quick.notes == notes + counted
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert not entry.quick() and not entry.hold()


CHANGES = {
    "an attribute": lambda model, patch: setattr(model, "scale", 6.0),
    "a global": lambda model, patch: patch.setitem(globals(), "FACTOR", 7.0),
    "an item of a dict": lambda model, patch: patch.setitem(TABLE, "factor", 8.0),
    "an item of a list": lambda model, patch: model.row.__setitem__(1, 9.0),
    "a member of a set": lambda model, patch: patch.setitem(globals(), "NAMES", {"tanh"}),
    "another module": lambda model, patch: setattr(model, "layer", nn.Linear(4, 3)),
    "a method": lambda model, patch: patch.setattr(Scaled, "forward", lambda self, x: x),
    "a hook": lambda model, patch: model.layer.register_forward_hook(lambda *a: None),
    "another class": lambda model, patch: setattr(model, "__class__", type("B", (Scaled,), {})),
}


@pytest.mark.parametrize("words", [True, False], ids=["words", "python"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changes_are_noticed(model, change, words, monkeypatch):
    if not words:
        monkeypatch.setattr(quick_checks, "is_available", lambda: False)
    with rushlight.no_grad():
        entry = entry_of(model, (rushlight.ones(2, 4),), {}, "model", False)
    assert entry.hold() and entry.quick() is (words and is_available())
    change(model, monkeypatch)
    assert not entry.quick() and not entry.hold()


def test_equal_constants_may_take_each_others_place(entry, model):
    model.scale = float("5.0")
    assert entry.hold()


def test_sets_are_looked_at(entry):
    NAMES.add("more")
    try:
        assert not entry.quick() and not entry.hold()
    finally:
        NAMES.remove("more")
    assert entry.hold()


@pytest.mark.parametrize("freezing", [False, True])
def test_memory_of_weights(model, freezing):
    """Other memory of the same form is taken; frozen weights may not be written to either."""
    x = rushlight.ones(2, 4)
    with rushlight.no_grad():
        entry = entry_of(model, (x,), {}, "model", freezing)
        for step in (
            lambda w: setattr(w, "data", rushlight.randn(3, 4)),
            lambda w: w.mul_(2),
            lambda w: setattr(w, "data", w.detach() + 1),
            lambda w: w.zero_(),
        ):
            step(model.layer.weight)
            assert entry.hold()
            for _ in range(2):
                rushlight.testing.assert_close(entry.plan.run(x), model(x))


@needs_words
def test_what_changes_at_every_call_is_given_up(entry, model):
    for _ in range(quick_checks.MOST_NOTES + 3):
        model.layer.weight.data = rushlight.randn(3, 4)
        assert entry.hold()
    assert entry.quick.notes > quick_checks.MOST_NOTES and not entry.quick()
    assert entry.hold()
