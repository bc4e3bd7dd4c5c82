"""Every op of the table, by the tests that its declaration implies."""

from pathlib import Path

from rushlight.ops._table.op import TABLE
from rushlight.testing.ops import generate
from rushlight.testing.samples import samples_of

generate(globals())


def test_every_public_op_has_samples_or_names_its_tests():
    public = [op for op in TABLE.values() if not op.name.startswith("_")]
    assert not [op for op in public if not samples_of(op) and "tested_by" not in op.options]


def test_files_that_declarations_name_as_their_tests_exist():
    named = {op.options.get("tested_by") or "" for op in TABLE.values()}
    files = [name for name in named if name.endswith(".py")]
    folder = Path(__file__).parent.parent
    assert files and not [name for name in files if not (folder / name).is_file()]
