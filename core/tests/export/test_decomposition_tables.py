"""`default_decompositions`: which ops `run_decompositions` takes apart."""

import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight.export import CustomDecompTable, default_decompositions

sys.path.insert(0, str(Path(__file__).parent))

from capture_agreement import targets  # noqa: E402

aten = rushlight.ops.aten
DELETED = [
    *(("linear", "default"), ("conv1d", "default"), ("silu", "default"), ("matmul", "default")),
    *(("layer_norm", "default"), ("t", "default"), ("split", "Tensor")),
    *(("flatten", "using_ints"), ("chunk", "default")),
]


def program_of(library):
    model = library.nn.Sequential(
        library.nn.Conv2d(1, 2, 2), library.nn.SiLU(), library.nn.Flatten(), library.nn.Linear(8, 3)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.export.export(model, (library.ones(1, 1, 3, 3),))


def calls(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def test_the_default_table_is_what_happens_by_default():
    program = program_of(rushlight)
    table = default_decompositions()
    assert isinstance(table, CustomDecompTable) and isinstance(table, dict)
    by_table = calls(program.run_decompositions(table))
    assert by_table == calls(program.run_decompositions())
    assert "aten.addmm.default" in by_table and "aten.convolution.default" in by_table
    assert set(table) == set(table.keys()) == {key for key, _ in table.items()}
    assert aten.linear.default in table and aten.istft.default not in table


@pytest.mark.parametrize("name", ["linear", "conv2d"])
def test_an_op_whose_entry_is_deleted_stays(name):
    table = default_decompositions()
    del table[getattr(aten, name).default]
    kept = f"aten.{name}.default"
    program = program_of(rushlight)
    made = program.run_decompositions(table)
    assert kept in calls(made) and kept not in calls(program.run_decompositions())
    x = rushlight.randn(1, 1, 3, 3)
    rushlight.testing.assert_close(made.module()(x), program.module()(x))


def test_entries_that_are_set_are_called():
    table = default_decompositions()
    table.update({aten.silu.default: lambda x: x * x.sigmoid()})
    found = calls(program_of(rushlight).run_decompositions(table))
    assert "aten.silu.default" not in found and "aten.sigmoid.default" in found


def test_deleting_gives_what_was_called_and_works_once():
    table = default_decompositions()
    run, missing = table[aten.linear.default], object()
    assert table.pop(aten.linear.default) is run
    with pytest.raises(KeyError, match=r"aten\.linear\.default"):
        table.pop(aten.linear.default)
    assert table.pop(aten.linear.default, missing) is missing
    table[aten.linear.default] = run
    assert table.pop(aten.linear.default) is run
    # PyTorch takes these apart, here they stay anyway
    stays = table.pop(aten.istft.default)
    assert stays(rushlight.ones(2)) is NotImplemented
    with pytest.raises(KeyError):
        del table[aten.istft.default]
    with pytest.raises(KeyError):
        table.pop(aten.flatten.using_ints)
    with pytest.raises(KeyError):
        table.pop("linear")


def test_copies_are_independent():
    table = default_decompositions()
    del table[aten.linear.default]
    other = table.copy()
    del other[aten.conv2d.default]
    assert isinstance(other, CustomDecompTable)
    assert aten.linear.default not in other and aten.conv2d.default in table
    with pytest.raises(KeyError):
        other.pop(aten.linear.default)
    plain = table.materialize()
    assert type(plain) is dict and plain == table
    plain.clear()
    assert len(table) == len(default_decompositions()) - 1


def test_composite_operators_have_no_entry():
    library = rushlight.library.Library("tables", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    with pytest.raises(NotImplementedError, match="tables.twice.default cannot be kept"):
        default_decompositions().pop(rushlight.ops.tables.twice.default)


def test_deletions_are_as_in_pytorch():
    torch = pytest.importorskip("torch")
    import torch.export as _  # noqa: F401

    def outcome(library, *path):
        table, op = library.export.default_decompositions(), library.ops.aten
        for part in path:
            op = getattr(op, part)
        try:
            table.pop(op)
        except KeyError:
            return "KeyError", op in table
        return "deleted", op in table

    for path in DELETED:
        assert outcome(rushlight, *path) == outcome(torch, *path), path

    def kept(library):
        table, program = library.export.default_decompositions(), program_of(library)
        for op in (library.ops.aten.linear, library.ops.aten.silu):
            del table[op.default]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return targets(program.run_decompositions(table).graph)

    views = {"aten.view.default", "aten.reshape.default"}
    ours, theirs = ([t for t in kept(each) if t not in views] for each in (rushlight, torch))
    assert ours == theirs
