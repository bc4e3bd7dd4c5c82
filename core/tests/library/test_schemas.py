"""Schemas: inferred as PyTorch infers them, parsed and printed; libraries, keys, ATen's names."""

# ruff: noqa: UP006, UP007, UP035, UP045 - annotations as users write them
from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Sequence
from typing import List, Optional, Tuple, Union

import pytest

import rushlight
from rushlight import library
from rushlight.library.schema import parse


def annotated(torch):
    """Functions with annotations of the given package."""
    Tensor = torch.Tensor

    def first(
        x: Tensor,
        y: Tensor,
        a: float = 1.0,
        *,
        b: Optional[int] = None,
        c: List[int],
        d: str = "s",
        e: bool = True,
    ) -> Tuple[Tensor, Tensor]:
        raise AssertionError

    def second(
        xs: Sequence[Tensor],
        o: Optional[Tensor],
        n: Union[int, float, bool] = 3,
        p: Optional[List[float]] = None,
        t: Optional[torch.dtype] = None,
    ) -> None:
        raise AssertionError

    def third(x: list[Tensor], y: Tensor | None, k: float) -> list[Tensor]:
        raise AssertionError

    def fourth(x: Tensor, device: torch.device) -> int:
        raise AssertionError

    for function in (first, second, third, fourth):
        for name, value in list(function.__annotations__.items()):
            if isinstance(value, str):
                scope = {**globals(), "Tensor": Tensor, "torch": torch}
                function.__annotations__[name] = eval(value, scope)
    return first, second, third, fourth


INFERRED = [
    "(Tensor x, Tensor(a1!) y, float a=1.0, *, SymInt? b=None, SymInt[] c, str d=\"s\", "
    "bool e=True) -> (Tensor, Tensor)",
    "(Tensor[] xs, Tensor? o, Scalar n=3, float[]? p=None, ScalarType? t=None) -> ()",
    "(Tensor[] x, Tensor(a1!)? y, float k) -> Tensor[]",
    "(Tensor x, Device device) -> SymInt",
]  # fmt: skip


@pytest.mark.parametrize("number", range(4))
def test_inference(number):
    written = ("y",) if number in (0, 2) else ()
    found = library.infer_schema(annotated(rushlight)[number], mutates_args=written)
    assert found == INFERRED[number]
    assert parse("f" + found).written(repr) == "f" + found


@pytest.mark.parametrize("number", [0, 1, 3])
def test_inference_is_pytorchs(number):
    torch = pytest.importorskip("torch")
    if "rushlight" in torch.__version__:
        pytest.skip("torch is Rushlight")
    written = ("y",) if number == 0 else ()
    expected = torch.library.infer_schema(annotated(torch)[number], mutates_args=written)
    assert expected == INFERRED[number]


def test_inference_of_unknown_writes():
    def function(x: rushlight.Tensor, n: int = 2) -> int:
        return n

    found = library.infer_schema(function, mutates_args="unknown")
    assert found == "(Tensor(a0!) x, SymInt n=2) -> SymInt"


def _no_annotation(x) -> int: ...
def _no_return(x: int): ...
def _strange(x: dict) -> int: ...
def _strange_result(x: int) -> dict: ...
def _star(*x: int) -> int: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_no_annotation, "Parameter x must have a type annotation"),
        (_no_return, "No return type annotation"),
        (_strange, "Parameter x has unsupported type"),
        (_strange_result, "Return has unsupported type"),
        (_star, "varargs"),
    ],
)
def test_inference_refuses(function, message):
    with pytest.raises(ValueError, match=message):
        library.infer_schema(function, mutates_args=())


def test_schemas_are_printed_as_by_pytorch():
    torch = pytest.importorskip("torch")
    text = (
        "f(Tensor(a) x, float a=1.0, Scalar b=2, Scalar c=2.5, int[1] k=1, int[2] m=1, "
        "float e=1e-05, float i=0.1) -> (Tensor(a)[] parts, Tensor rest)"
    )
    assert str(parse(text)) == str(torch._C.parse_schema(text.replace("(a) x", "(a -> *) x")))
    assert str(parse(str(parse(text)))) == str(parse(text))


def test_writes_without_a_name_are_numbered():
    torch = pytest.importorskip("torch")
    text = "a::b(Tensor A, Tensor! out, Tensor!? more, Tensor(a!) last) -> ()"
    schema = parse(text)
    assert [a.is_write for a in schema.arguments] == [False, True, True, True]
    assert str(schema) == str(torch._C.parse_schema(text))
    assert str(parse(str(schema))) == str(schema)


def test_parsing():
    text = 'm::f(Tensor x, int[2] k=[1, 2], str m="a", *, Tensor(a!)[] o, bool? b=None) -> Tensor[]'
    schema = parse(text)
    assert str(schema) == text
    assert [a.name for a in schema.arguments if a.keyword_only] == ["o", "b"]
    assert schema.is_mutable and schema.arguments[1].default == [1, 2]
    with pytest.raises(RuntimeError, match="only the operator name"):
        parse("f")
    with pytest.raises(RuntimeError, match="cannot read the argument"):
        parse("f(Tensor) -> Tensor")


def test_a_library():
    made = library.Library("testlib", "DEF")
    try:
        assert made.define("scaled(Tensor x, *, float by=2.0) -> Tensor") == "scaled"
        with pytest.raises(NotImplementedError, match="Could not run 'testlib::scaled'"):
            rushlight.ops.testlib.scaled(rushlight.ones(1))
        made.impl("scaled", lambda x, *, by=2.0: x * by, "CPU")
        made.impl("scaled", lambda x, *, by=2.0: rushlight.empty_like(x), "Meta")
        x = rushlight.ones(2, requires_grad=True)
        out = rushlight.ops.testlib.scaled(x, by=3.0)
        out.sum().backward()  # recorded by the ops that the kernel calls
        assert x.grad.tolist() == [3.0, 3.0]
        assert rushlight.ops.testlib.scaled(rushlight.ones(2, device="meta")).is_meta
        with pytest.raises(RuntimeError, match="multiple times"):
            made.define("scaled(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="Only a single"):
            library.Library("testlib", "DEF")
        with pytest.raises(NotImplementedError, match="dispatch key 'Functionalize'"):
            made.impl("scaled", len, "Functionalize")
        made.impl("scaled", len, "XLA")  # kept, and never called
        part = library.Library("testlib", "FRAGMENT")
        part.define("scaled.other(Tensor x, Tensor y) -> Tensor")
        part.impl("scaled.other", lambda x, y: x * y, "CPU")
        assert rushlight.ops.testlib.scaled(x, x).tolist() == [1.0, 1.0]
        assert rushlight.ops.testlib.scaled.overloads() == ["default", "other"]
    finally:
        part._destroy()
        made._destroy()
    assert not hasattr(rushlight.ops.testlib, "scaled")


def test_define_and_impl():
    library.define("tests::plain", "(Tensor x) -> Tensor")

    @library.impl("tests::plain", "cpu")
    def plain(x):
        return x.detach().sin()

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    library.register_autograd(
        "tests::plain", lambda ctx, grad: grad * ctx.saved_tensors[0].cos(), setup_context=setup
    )
    x = rushlight.ones(1, requires_grad=True, dtype=rushlight.float64)
    assert rushlight.autograd.gradcheck(rushlight.ops.tests.plain, (x,))


def test_aten_names():
    aten, x = rushlight.ops.aten, rushlight.arange(6.0).reshape(2, 3)
    assert aten.add.Tensor(x, x).tolist() == (x + x).tolist()
    assert aten.add.Scalar(x, 1, alpha=2).tolist() == (x + 2).tolist()
    assert aten.sum.dim_IntList(x, [0]).tolist() == [3.0, 5.0, 7.0]
    assert aten.relu(self=-x).sum().item() == 0
    assert aten.relu_.default(-x).sum().item() == 0
    assert aten._softmax.default(x, 1, False).sum().item() == pytest.approx(2.0)
    assert aten.linalg_vector_norm(x).item() == pytest.approx(55**0.5)
    assert aten.mse_loss(x, x * 0, 2).item() == 55.0
    assert aten.view(x, (3, 2)).shape == (3, 2)
    assert aten.max.dim(x, 1)[1].tolist() == [2, 2]
    assert (
        str(aten.add.Tensor) == "aten.add.Tensor" and aten.add.Tensor.name() == "aten::add.Tensor"
    )
    assert aten.mul.Tensor is aten.mul.Tensor and aten.mul.Tensor.overloadpacket is aten.mul
    assert aten.mul.Tensor._overloadpacket is aten.mul
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        aten.nope  # noqa: B018 - the look-up is the test
    with pytest.raises(AttributeError, match="has no overload name 'Nope'"):
        aten.add.Nope  # noqa: B018 - the look-up is the test


def test_torch_ops_in_programs_for_pytorch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from rushlight import compat\n"
        "compat.install()\n"
        "import torch\n"
        "before = torch.ops.mine\n"
        "@torch.library.custom_op('mine::double', mutates_args=())\n"
        "def double(x: torch.Tensor) -> torch.Tensor:\n"
        "    return x * 2\n"
        "assert torch.ops.mine.double(torch.ones(1)).item() == 2\n"
        "assert before is torch.ops.mine\n"
        "assert torch.ops.aten.mul.Tensor(torch.ones(1), 3).item() == 3\n"
        "assert torch.eye(2).to_sparse().layout is torch.sparse_coo\n"
        "print('OK')\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "OK", done.stderr


def test_copied_tables_of_operators_keep_their_keys():
    torch = pytest.importorskip("torch")
    for home in (rushlight, torch):
        aten = home.ops.aten
        table = copy.deepcopy({aten.mm: [1], aten.add.Tensor: [2]})
        assert table[aten.mm] == [1] and table[aten.add.Tensor] == [2]
