"""Operators that write to their arguments: programs without writes call `auto_functionalized_v2`,
as PyTorch's do."""

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest

import rushlight
from rushlight.export import export, load, save
from rushlight.export.serialization import FormatError
from rushlight.fx.experimental.proxy_tensor import make_fx

sys.path.insert(0, str(Path(__file__).parent))
from written_operators import defined  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
SPACE = "test_written_operators"
Net, add_to, both = defined(rushlight, SPACE)
ADD_TO = rushlight.ops.test_written_operators.add_to.default
FUNCTIONAL = rushlight.ops.higher_order.auto_functionalized_v2

VIEWS = [
    {"by": 2.0, "_x_base_index": 0},
    {"by": 3.0, "_x_base_index": 0, "_x_slice_dim": 0, "_x_slice_start": 1, "_x_slice_end": 3},
    {"by": 2.0, "_x_base_index": 0, "_x_size": (3, 4), "_x_stride": (1, 3),
     "_x_storage_offset": 0},
    {"by": 2.0, "_x_base_index": 0, "_x_alias": True},
    {"by": 2.0, "_x_base_index": 0, "_x_size": (2, 3), "_x_stride": (6, 1),
     "_x_storage_offset": 0},
    {"by": 2.0, "_x_base_index": 0, "_x_size": (1, 4, 3), "_x_stride": (12, 3, 1),
     "_x_storage_offset": 0},
    {"z": None, "_xs_length": 2, "_xs_0_base_index": 0, "_xs_0_size": (3,), "_xs_0_stride": (1,),
     "_xs_0_storage_offset": 0, "_xs_1_base_index": 1},
    {"z": None, "_xs_length": 2, "_xs_0_base_index": 0, "_xs_1_base_index": 0,
     "_xs_1_slice_dim": 1, "_xs_1_slice_start": 1, "_xs_1_slice_end": 3},
    {"_x_base_index": 0, "_o_base_index": 1},
    {"by": 2.0, "_x_base_index": 0},
]  # fmt: skip


def given(library, rows=4):
    x = library.arange(3.0 * rows).reshape(rows, 3)
    return x / 8 + 1, x - 5


def sizes(library):
    rows = library.export.Dim("rows", min=3)
    return {0: rows}, {0: rows}


def described(program):
    """The arguments of the calls without writes that are no tensors."""
    calls = [n for n in program.graph.nodes if str(n.target) == "auto_functionalized_v2"]
    tensors = ("y", "_all_bases")
    return [
        {k: tuple(v) if isinstance(v, list) else v for k, v in n.kwargs.items() if k not in tensors}
        for n in calls
    ]


def values(library, program, rows=4):
    """What two calls give, and what they leave in the first argument and in the buffer."""
    module = program if isinstance(program, Net) else program.module()
    for buffer in module.buffers():
        buffer.zero_()  # programs share them
    (x, y), found = given(library, rows), []
    for _ in range(2):
        found += [each.tolist() for each in (*module(x, y), x, *module.buffers())]
    return found


def archive(program):
    buffer = io.BytesIO()
    save(program, buffer)
    return buffer


def test_programs_without_writes_call_the_operator_with_bases_and_views():
    program = export(Net(), given(rushlight)).run_decompositions()
    assert described(program) == VIEWS
    wanted = values(rushlight, Net())
    assert values(rushlight, program) == wanted
    assert values(rushlight, program.run_decompositions()) == wanted
    signature = program.graph_signature
    assert set(signature.buffers_to_mutate.values()) == {"total"}
    assert set(signature.user_inputs_to_mutate.values()) == {"x"}
    loaded = load(archive(program))
    assert described(loaded) == VIEWS
    assert values(rushlight, loaded) == wanted


def test_sizes_of_the_views_are_those_of_the_call():
    program = export(Net(), given(rushlight), dynamic_shapes=sizes(rushlight))
    program = program.run_decompositions()
    for rows in (4, 6, 3):
        wanted = values(rushlight, Net(), rows)
        for each in (program, load(archive(program))):
            assert values(rushlight, each, rows) == wanted


def test_the_nodes_are_pytorchs():
    torch = pytest.importorskip("torch")
    theirs = defined(torch, SPACE)[0]()
    program = torch.export.export(theirs, given(torch)).run_decompositions()
    assert described(program) == VIEWS
    ours = export(Net(), given(rushlight)).run_decompositions()
    assert sorted(str(n.target) for n in ours.graph.nodes) == sorted(
        str(n.target) for n in program.graph.nodes
    )


def test_archives_are_pytorchs(tmp_path):
    torch = pytest.importorskip("torch")
    theirs = defined(torch, SPACE)[0]()
    wanted = values(rushlight, Net(), 6)
    program = torch.export.export(theirs, given(torch), dynamic_shapes=sizes(torch))
    torch.export.save(program.run_decompositions(), tmp_path / "theirs.pt2")
    assert values(rushlight, load(tmp_path / "theirs.pt2"), 6) == wanted
    program = export(Net(), given(rushlight), dynamic_shapes=sizes(rushlight))
    save(program.run_decompositions(), tmp_path / "ours.pt2")
    assert values(torch, torch.export.load(tmp_path / "ours.pt2"), 6) == wanted


def by_hand(library):
    """Results of both forms called by hand, and what they leave of the argument."""
    ops, packets = library.ops.higher_order, getattr(library.ops, SPACE)
    x, y = given(library)
    two = {"_x_slice_dim": 0, "_x_slice_start": 1, "_x_slice_end": 3}
    column = {"_x_size": (4,), "_x_stride": (3,), "_x_storage_offset": 1}
    calls = [
        ops.auto_functionalized(packets.add_to.default, x=x, y=y, by=2.0),
        ops.auto_functionalized(packets.both.default, x=x, y=y, o=y.clone()),
        ops.auto_functionalized(packets.each.default, xs=[x, y.clone()], y=y, z=None),
    ]
    for view, other in (({}, y), ({"_x_alias": True}, y), (two, y[1:3]), (column, y[:, 0])):
        named = {"y": other, "by": 1.0, "_x_base_index": 0, "_all_bases": [x], **view}
        calls.append(ops.auto_functionalized_v2(packets.add_to.default, **named))
    strided = x.t()[:, 1:]
    calls.append(
        ops.auto_functionalized_v2(
            packets.add_to.default, y=strided, by=1.0, _x_base_index=0, _all_bases=[strided]
        )
    )
    assert calls[-1][1].stride() == strided.stride()
    kept = ops.auto_functionalized_v2(
        packets.each.default, y=y, z=None, _xs_length=0, _all_bases=[x],
        _only_clone_these_bases=(),
    )  # fmt: skip
    assert kept[1] is x
    return [[_listed(each) for each in (*call, x, y)] for call in calls]


def _listed(value):
    if isinstance(value, list):
        return [_listed(each) for each in value]
    return None if value is None else value.tolist()


def test_calls_by_hand():
    found = by_hand(rushlight)
    x, y = given(rushlight)
    assert found[0] == [None, (x + 2 * y).tolist(), x.tolist(), y.tolist()]
    assert found[1][:3] == [(x + 2 * y).tolist(), (x + y).tolist(), (2 * y).tolist()]
    assert found[2][1] == [(x + y).tolist(), (2 * y).tolist()]
    x[1:3] += y[1:3]
    assert found[5][1] == x.tolist()


def test_calls_by_hand_are_pytorchs():
    torch = pytest.importorskip("torch")
    defined(torch, SPACE)
    assert by_hand(rushlight) == by_hand(torch)


def test_captured_calls_are_nodes():
    def function(x, y):
        return FUNCTIONAL(ADD_TO, y=y, by=2.0, _x_base_index=0, _all_bases=[x])[1].sin()

    x, y = given(rushlight)
    for mode in ("real", "fake", "symbolic"):
        module = make_fx(function, tracing_mode=mode)(x, y)
        assert FUNCTIONAL in [n.target for n in module.graph.nodes]
        assert module(x * 3, y).tolist() == (x * 3 + 2 * y).sin().tolist()

    class Calls(rushlight.nn.Module):
        def forward(self, x, y):
            return rushlight.ops.higher_order.auto_functionalized(
                rushlight.ops.test_written_operators.each.default, xs=[x, y], y=y, z=None
            )

    program = load(archive(export(Calls(), (x, y))))
    for each in (program, program.run_decompositions()):
        nothing, (a, b) = each.module()(x, y * 2)
        assert nothing is None
        assert (a.tolist(), b.tolist()) == ((x + 2 * y).tolist(), (4 * y).tolist())


def test_refused():
    x, y = given(rushlight)
    with pytest.raises(AssertionError, match=r"Cannot auto-functionalize op aten.add.Tensor"):
        FUNCTIONAL(rushlight.ops.aten.add.Tensor, y=y, _all_bases=[x])
    with pytest.raises(KeyError, match="_x_base_index"):
        FUNCTIONAL(ADD_TO, y=y, by=1.0, _all_bases=[x])
    with pytest.raises(IndexError):
        FUNCTIONAL(ADD_TO, y=y, by=1.0, _x_base_index=1, _all_bases=[x])
    library = rushlight.library.Library(SPACE, "FRAGMENT")
    library.define("twice(Tensor(a!) x) -> Tensor(a!)")
    library.impl("twice", lambda x: x.mul_(2), "CompositeExplicitAutograd")

    class Twice(rushlight.nn.Module):
        def forward(self, x):
            return rushlight.ops.test_written_operators.twice(x.clone())

    program = export(Twice(), (x,))
    assert [str(n.target) for n in program.graph.nodes][2] == f"{SPACE}.twice.default"
    with pytest.raises(RuntimeError, match="whose output has alias annotations"):
        program.run_decompositions()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda inputs: inputs[0]["arg"].update(as_operator="torch.ops.aten.add.Tensor"),
         "no operator that writes"),
        (lambda inputs: inputs[0].update(arg={"as_int": 3}), "no operator that writes"),
        (lambda inputs: inputs.pop(1), "has the arguments"),
        (lambda inputs: inputs.pop(3), "does not say which tensor"),
        (lambda inputs: inputs[3].update(arg={"as_int": 1}), "does not say which tensor"),
        (lambda inputs: inputs.append({"name": "_x_size", "arg": {"as_ints": [3]}, "kind": 2}),
         "has the arguments"),
        (lambda inputs: inputs[-1].update(arg={"as_int": 1}), "'_all_bases' is 1"),
    ],
)  # fmt: skip
def test_damaged_archives(change, message):
    class One(rushlight.nn.Module):
        def forward(self, x, y):
            add_to(x, y)
            return x

    content = archive(export(One(), given(rushlight)).run_decompositions())
    changed = io.BytesIO()
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(changed, "w") as new:
        for info in old.infolist():
            member = old.read(info)
            if info.filename.endswith("models/model.json"):
                found = json.loads(member)
                change(found["graph_module"]["graph"]["nodes"][0]["inputs"])
                member = json.dumps(found).encode()
            new.writestr(info.filename, member)
    changed.seek(0)
    with pytest.raises(FormatError, match=message):
        load(changed)
