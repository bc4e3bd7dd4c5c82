"""Words of memory that change when what they are part of does."""

import sys

import pytest

from rushlight.machine import native_words
from rushlight.machine.native_functions import is_available

pytestmark = pytest.mark.skipif(not is_available(), reason="no native functions here")


class Some:
    pass


def checked(add):
    """Words that `add` took, and their check, which holds."""
    words = native_words.Words()
    add(words)
    check = words.check()
    assert check() is True and check() is True
    return words, check


def field(value, offset):
    """The check of one field of an object."""
    words, check = checked(lambda words: words.field(value, offset))
    return lambda: words and check()


def test_no_words_are_unchanged():
    assert checked(lambda words: None)[1]() is True


CHANGES = {
    "replaced": lambda row: row.__setitem__(1, object()),
    "longer": lambda row: row.append(3),
    "shorter": lambda row: row.pop(),
    "another order": lambda row: row.reverse(),
    "empty": lambda row: row.clear(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_items_of_a_list(change):
    row = [object(), object(), object()]
    words, check = checked(lambda words: words.items(row))
    change(row)
    assert check() is False and words.kept


def test_classes_and_cells():
    value, box = Some(), [0]
    (cell,) = (lambda: box).__closure__
    of_class, of_cell = field(value, native_words.CLASS_AT), field(cell, native_words.CONTENTS_AT)
    value.__class__ = type("Other", (), {})
    cell.cell_contents = [1]
    assert not of_class() and not of_cell()


def test_code_and_defaults_of_functions():
    def function(x=(1, 2)):
        return x

    of_code, of_defaults = (field(function, at) for at in native_words.function_fields())
    function.__defaults__ = None
    assert of_code() and not of_defaults()
    function.__code__ = (lambda x: [x]).__code__
    assert not of_code()


def test_versions_of_dictionaries():
    """Where all writes are counted, each shows; whether they are is found out, not assumed."""
    assert native_words.counts_writes() is (sys.version_info < (3, 13))
    if native_words.counts_writes():
        value = Some()
        value.x = 1
        for i in range(100):
            check = field(vars(value), native_words.VERSION_AT)
            assert value.x == i + 1 and check()
            value.x = i + 2
            assert not check()


def test_tables_of_classes():
    table = native_words.table_of_class(Some)
    assert table.keys() == vars(Some).keys()
    check = field(table, native_words.VERSION_AT)
    Some.new = 1
    changed = not check()
    del Some.new
    assert changed is native_words.counts_writes_to_classes()


def test_what_is_compared_is_kept_alive():
    words, check = checked(lambda words: words.items([object() for _ in range(1000)]))
    rows = [[object()] for _ in range(2000)]
    assert check() is True and len(rows) == 2000 and words.kept
