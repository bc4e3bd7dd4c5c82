"""Signatures of functions by ATen's schemas, and the helpers that compare types, as in PyTorch."""
# ruff: noqa: UP006, UP007, UP045 - the forms of `typing` are what is compared

import re
import typing

import pytest

import rushlight
from rushlight import fx
from rushlight.fx import operator_schemas

FUNCTIONS = (
    "add relu linear mul div cat matmul softmax sigmoid mean clamp squeeze reshape exp pow eq "
    "zeros_like relu_ sigmoid_ tanh permute transpose stack gather argmax cumsum"
).split()
LISTS = re.compile(r"\((a|l|n): |^\(input: List\[(bool|complex|float|int)\]\)")  # of TorchScript


def signatures(library, module, name):
    """The signatures of a function of tensors, as texts, without those of TorchScript's numbers."""
    function = getattr(library, name, None) or getattr(library.nn.functional, name)
    kind = re.compile(rf"{library.__name__}\.(tensor\.tensor\.|devices\.)?")
    found = [kind.sub("T.", str(s)) for s in module.get_signature_for_torch_op(function)]
    return sorted(text for text in found if not LISTS.search(text))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    from torch.fx import operator_schemas as theirs

    assert signatures(rushlight, operator_schemas, name) == signatures(torch, theirs, name)


def test_what_aten_does_not_have_has_no_signatures():
    get = operator_schemas.get_signature_for_torch_op
    assert get(len) is None and get(rushlight.nn.Linear) is None
    assert get(len, return_schemas=True) == (None, None)
    (one,) = get(rushlight.ops.aten.add.Tensor)
    assert list(one.parameters) == ["input", "other", "alpha"]
    assert one.return_annotation is rushlight.Tensor
    found, schemas = get(rushlight.relu, return_schemas=True)
    assert [len(each.parameters) for each in found] == [1, 2]
    assert [each.is_mutable for each in schemas] == [False, True]


MATCHES = [
    (int, int, True), (int, float, False), (float, int, False), (int, bool, True),
    (bool, int, False), (typing.List[int], int, True), (typing.List[int], list, False),
    (typing.List[int], typing.Tuple[int, int], True),
    (typing.List[int], typing.Tuple[int, str], False),
    (typing.Optional[int], int, True), (typing.Optional[int], type(None), True),
    (typing.Union[int, float], float, True), (typing.Any, int, False), (int, typing.Any, False),
    (typing.Tuple[int, int], typing.Tuple[int, int], True), ("T", int, False),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "given", "matches"), MATCHES)
def test_types_that_match(parameter, given, matches):
    assert operator_schemas.type_matches(parameter, given) is matches


def test_types_of_tensors_match():
    tensor, parameter = rushlight.Tensor, rushlight.nn.Parameter
    matches = operator_schemas.type_matches
    assert matches(tensor, parameter) and not matches(parameter, tensor)
    assert matches(typing.List[tensor], typing.List[parameter]) and not matches(tensor, int)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ([int, bool], list[int]), ([int, str], list[typing.Any]), ((int,), tuple[int, ...]),
        ((), tuple[typing.Any, ...]), ([], list[typing.Any]), (int, int), (1, 1),
    ],
)  # fmt: skip
def test_hints_of_sequences(given, hint):
    assert operator_schemas.create_type_hint(given) == hint


def test_no_hint_of_what_is_no_class():
    given = [typing.List[int]]
    with pytest.warns(UserWarning, match="no class"):
        assert operator_schemas.create_type_hint(given) is given


class Checking(fx.Tracer):
    check_mutable_operations = True


@pytest.mark.parametrize("name", ["relu_", "sigmoid_"])
def test_calls_that_write_are_refused(name):
    overload = getattr(rushlight.ops.aten, name).default
    for function in (getattr(rushlight, name), overload):
        with pytest.raises(RuntimeError, match=f"mutable operation aten::{name}"):
            operator_schemas.check_for_mutable_operation(function, (rushlight.ones(1),), {})

    def program(x):
        return overload(x)

    with pytest.raises(RuntimeError, match=f"mutable operation aten::{name}"):
        Checking().trace(program)
    assert [node.target for node in fx.Tracer().trace(program).nodes] == ["x", overload, "output"]


def test_what_is_not_known_to_write_is_traced():
    graph = Checking().trace(lambda x: rushlight.relu(x).add_(1))
    assert [node.target for node in graph.nodes if "call" in node.op] == [rushlight.relu, "add_"]
