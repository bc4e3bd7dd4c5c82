"""Functions over a table of calls that were seen before: what their machine code shares, and the
table itself, in Python.

Such a function has a plan of its own: first the words named here, then its own. An entry of the
table is a row of words; :func:`text` looks for the one that is the call's.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine import np
from rushlight.machine.built_in_functions import built_in

__all__ = ["OWN", "TENSORS_PLAN", "CallTable", "answer_tensor", "computed", "text"]

TENSORS_PLAN, ENTRIES, TABLE, WORDS, OWN = range(5)


# --------------------------------------------------------------------------------- in machine code
def text(f, own, matches, answer):
    """The rest of a function `f` with the plan `own`: the entry that `matches` is `answer`ed, for
    other calls the fallback."""
    table, size = f.load(own, TABLE, "ptr"), f.load(own, WORDS)
    with f.loop(f.load(own, ENTRIES)) as e:
        entry = f.at(table, f.multiply(e, size))
        found, other = f.name("found"), f.name("other")
        f.do(f"br i1 {matches(entry)}, label %{found}, label %{other}")
        f.lines.append(f"{found}:")
        answer(entry)
        f.lines.append(f"{other}:")
    f.do("br label %fallback")


def computed(f, call, plan, arrays, count):
    """What a function of arrays gives: an array, or a tuple of them. NotImplemented is the answer,
    if it says so."""
    f.held(plan)  # another thread may replace the entry meanwhile
    result = f.call("ptr", call, f"ptr {plan}, ptr {arrays}, i64 {count}")
    f.call("void", "@Py_DecRef", f"ptr {plan}")
    f.exit_if(f.compare("eq", result, "null", "ptr"), "failed")
    refused, made = f.name("refused"), f.name("made")
    never = f.compare("eq", result, "@_Py_NotImplementedStruct", "ptr")
    f.do(f"br i1 {never}, label %{refused}, label %{made}")
    f.lines.append(f"{refused}:")
    f.do(f"ret ptr {result}")
    f.lines.append(f"{made}:")
    return result


def answer_tensor(f, array, dtype):
    """The tensor around an array, which takes it over, is the answer."""
    out = f.made(array, dtype, f.word(words.NONE))
    f.call("void", "@Py_DecRef", f"ptr {array}")
    f.do(f"ret ptr {out}")


# --------------------------------------------------------------------------------------- in Python
_immortal: list = []  # built-in functions hold bare addresses


class CallTable:
    """The function over ``rl_NAME`` with a table of so many entries of so many words, and with its
    own words of the plan. The latest entries stay."""

    def __init__(self, name, entries, size, own):
        from rushlight.machine.elementwise_engine import engine

        self.table, self.seen = np.zeros((entries, size), np.int64), 0
        self.kept = [None] * entries  # the table holds bare addresses of these
        tensors = words.TensorDoors.current.plan.ctypes.data
        self.plan = np.array([tensors, 0, self.table.ctypes.data, size, *own], np.int64)
        self.function = built_in(name.encode(), engine().symbol(f"rl_{name}"), self.plan)
        _immortal.append(self)

    def enter(self, row, *kept):
        """One entry more, and what its addresses stand for."""
        entries, size = self.table.shape
        place = self.seen % entries
        self.table[place] = row + [0] * (size - len(row))
        self.kept[place] = kept
        self.seen += 1
        self.plan[ENTRIES] = min(self.seen, entries)

    def forget(self):
        """No entry counts any more; what they hold goes when others take their place."""
        self.plan[ENTRIES] = self.seen = 0
