"""Operators of namespaces are nodes of captured programs, as in PyTorch."""

import importlib

import pytest

import rushlight
from rushlight.export import Dim, export, load, save
from rushlight.export.serialization import FormatError
from rushlight.fx.experimental.proxy_tensor import make_fx


def defined(library, namespace):
    """A module of a library with three operators, each computed by NumPy."""

    @library.library.custom_op(f"{namespace}::scale", mutates_args=())
    def scale(x: library.Tensor, by: float = 2.0, *, shift: float = 0.0) -> library.Tensor:
        return library.from_numpy(x.detach().numpy() * by + shift)

    @scale.register_fake
    def _(x, by=2.0, *, shift=0.0):
        return library.empty_like(x)

    @library.library.custom_op(f"{namespace}::halves", mutates_args=())
    def halves(x: library.Tensor) -> tuple[library.Tensor, library.Tensor]:
        half = x.shape[0] // 2
        return x[:half].clone(), x[half:].clone()

    @halves.register_fake
    def _(x):
        half = x.shape[0] // 2
        return x.new_empty(half, *x.shape[1:]), x.new_empty(x.shape[0] - half, *x.shape[1:])

    @library.library.custom_op(f"{namespace}::raise_by", mutates_args=("x",))
    def raise_by(x: library.Tensor, by: float) -> None:
        x.add_(by)

    class Net(library.nn.Module):
        def forward(self, x):
            first, second = halves(x.sin())
            return scale(first, 3.0) - scale(second.cos(), shift=1.0), second

    return Net, raise_by, scale


Net, raise_by, scale = defined(rushlight, "test_export_operators")


def rows(count):
    rushlight.manual_seed(count)
    return rushlight.rand(count, 3)


def calls(program):
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    return [name.replace("my_torch", "test_export_operators") for name in names]


def test_the_nodes_are_pytorchs():
    torch = pytest.importorskip("torch")
    theirs = torch.export.export(defined(torch, "my_torch")[0](), (torch.ones(4, 3),))
    ours = export(Net(), (rows(4),))
    assert calls(ours) == calls(theirs)
    given = [n.args[1:] for n in ours.graph.nodes if str(n.target).endswith("scale.default")]
    assert given == [(3.0,), ()]
    assert "rushlight.ops.test_export_operators.scale.default(" in ours.graph_module.code


def test_programs_run_operators(tmp_path):
    program = export(Net(), (rows(4),), dynamic_shapes=({0: 2 * Dim("n")},))
    parts = program.run_decompositions()
    assert calls(parts) == calls(program)
    save(program, tmp_path / "net.pt2")
    for x in (rows(8), rows(2)):
        for each in (program, parts, load(tmp_path / "net.pt2")):
            rushlight.testing.assert_close(each.module()(x), Net()(x))


def test_pytorch_runs_its_own_operator_of_the_name(tmp_path):
    torch = pytest.importorskip("torch")
    if hasattr(torch.ops.test_export_operators, "scale"):
        pytest.skip("defined already")
    defined(torch, "test_export_operators")
    save(export(Net(), (rows(4),)), tmp_path / "net.pt2")
    read = torch.export.load(tmp_path / "net.pt2").module()
    found = read(torch.tensor(rows(4).tolist()))
    for one, wanted in zip(found, Net()(rows(4)), strict=True):
        rushlight.testing.assert_close(rushlight.tensor(one.tolist()), wanted)


def test_an_archive_needs_its_operators(tmp_path):
    save(export(Net(), (rows(4),)), tmp_path / "net.pt2")
    operators = importlib.import_module("rushlight.library.operators")
    packets = operators.NAMESPACES["test_export_operators"]._packets
    kept = packets.pop("halves")
    try:
        with pytest.raises(FormatError, match="test_export_operators::halves.default is not defi"):
            load(tmp_path / "net.pt2")
    finally:
        packets["halves"] = kept


def test_a_write_is_kept():
    class Writing(rushlight.nn.Module):
        def forward(self, x):
            y = x * 1
            raise_by(y, 3.0)
            return y + 1

    program = export(Writing(), (rows(2),))
    program.graph.eliminate_dead_code()
    assert program.module()(rows(2)).tolist() == Writing()(rows(2)).tolist()


def test_a_table_may_take_an_operator_apart():
    operator = rushlight.ops.test_export_operators.scale.default
    table = {operator: lambda x, by=2.0, *, shift=0.0: x * by + shift}
    parts = export(Net(), (rows(4),)).run_decompositions(table)
    assert not any("scale" in name for name in calls(parts))
    rushlight.testing.assert_close(parts.module()(rows(4)), Net()(rows(4)))


def test_a_translation_writes_an_operator_as_onnx():
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

    class Scaling(rushlight.nn.Module):
        def forward(self, x):
            return scale(x, 3.0, shift=0.5).relu()

    def translated(g, x, by, shift):
        return g.op("Add", g.op("Mul", x, by), shift)

    table = {rushlight.ops.test_export_operators.scale.default: translated}
    program = rushlight.onnx.export(Scaling(), (rows(2),), custom_translation_table=table)
    rushlight.testing.assert_close(program(rows(2))[0], Scaling()(rows(2)))
    with pytest.raises(rushlight.onnx.errors.UnsupportedOperatorError, match="scale.default"):
        rushlight.onnx.export(Scaling(), (rows(2),))


def test_gradients_of_operators_are_written_down():
    @rushlight.library.custom_op("test_export_operators::square", mutates_args=())
    def square(x: rushlight.Tensor) -> rushlight.Tensor:
        return rushlight.from_numpy(x.detach().numpy() ** 2)

    square.register_fake(lambda x: rushlight.empty_like(x))
    square.register_autograd(
        lambda ctx, grad: grad * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    function = rushlight.func.grad(lambda x: square(x.sin()).sum())
    module = make_fx(function)(rows(2))
    rushlight.testing.assert_close(module(-rows(2)), function(-rows(2)))
    assert "square.default" in module.code
