"""What programs ask of sizes: of numbers as in PyTorch, of those that a capture reads from
tensors."""

import importlib

import pytest

import rushlight
from rushlight.fx.experimental import symbolic_shapes as shapes
from rushlight.fx.experimental.proxy_tensor import (
    disable_autocast_cache,
    disable_proxy_modes_tracing,
    get_innermost_proxy_mode,
    get_isolated_graphmodule,
    get_proxy_mode,
    is_sym_node,
    make_fx,
    maybe_disable_thunkify,
)

QUESTIONS = {
    "guard_scalar int": lambda s: (s.guard_scalar(3), s.guard_scalar(True), s.guard_scalar(2.5)),
    "guard_scalar str": lambda s: s.guard_scalar("a"),
    "guard_int": lambda s: s.guard_int(3),
    "guard_int of bool": lambda s: s.guard_int(True),
    "guard_int of float": lambda s: s.guard_int(2.5),
    "guard_bool": lambda s: s.guard_bool(True),
    "guard_bool of int": lambda s: s.guard_bool(1),
    "guard_float": lambda s: s.guard_float(2.5),
    "guard_float of int": lambda s: s.guard_float(2),
    "sym_eq": lambda s: (s.sym_eq(1, 1), s.sym_eq((1, 2), (1, 3)), s.sym_eq([1], (1,))),
    "sym_eq lengths": lambda s: s.sym_eq((1,), (1, 2)),
    "sym_eq of str": lambda s: s.sym_eq("a", 1),
    "sym_and": lambda s: (s.sym_and(True, False), s.sym_and(True), s.sym_and(True, True)),
    "sym_and of none": lambda s: s.sym_and(),
    "sym_or": lambda s: (s.sym_or(False, True), s.sym_or(False), s.sym_or(False, False)),
    "expect_true": lambda s: (s.expect_true(True), s.expect_true(False)),
    "constrain_range": lambda s: s.constrain_range(3, min=2, max=5),
    "constrain_range above": lambda s: s.constrain_range(9, min=2, max=5),
    "constrain_range below": lambda s: s.constrain_range(1, min=2),
    "constrain_unify": lambda s: s.constrain_unify(3, 3),
    "constrain_unify of two": lambda s: s.constrain_unify(3, 4),
    "has_static_value": lambda s: (s.has_static_value(3), s.has_static_value(True)),
    "has_static_value of str": lambda s: s.has_static_value("a"),
    "is_concrete_float": lambda s: s.is_concrete_float(2.0),
    "is_concrete_float of int": lambda s: s.is_concrete_float(2),
    "is_symbolic": lambda s: (s.is_symbolic(3), s.is_symbolic(2.0), s.is_nested_int(3)),
    "hints": lambda s: (s.has_guarding_hint(3), s.guarding_hint_or_throw(3)),
    "optimization_hint": lambda s: s.optimization_hint(3),
    "check_consistent": lambda s: s.check_consistent(1, 1),
    "check_consistent of two": lambda s: s.check_consistent(1, 2),
    "cast_symbool": lambda s: s.cast_symbool_to_symint_guardless(True),
}  # fmt: skip


def answer(question, module):
    """What a question gives, or the class of its error."""
    try:
        return question(module)
    except (AssertionError, TypeError, ValueError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_about_numbers_as_in_pytorch(name):
    pytest.importorskip("torch")
    theirs = importlib.import_module("torch.fx.experimental.symbolic_shapes")
    assert answer(QUESTIONS[name], shapes) == answer(QUESTIONS[name], theirs)


def test_questions_about_tensors():
    a, b = rushlight.ones(2), rushlight.ones(3)
    shapes.check_consistent(a, rushlight.zeros(2))
    with pytest.raises(RuntimeError, match=r"\[3\].*\[2\].*old != new"):
        shapes.check_consistent(b, a)
    assert not shapes.has_symbolic_sizes_strides(a) and not shapes.has_free_unbacked_symbols(a)
    module = make_fx(lambda x, y: x + y)(a, a)
    assert shapes.fx_placeholder_targets(module) == ["x_1", "y_1"]
    assert [tuple(each.shape) for each in shapes.fx_placeholder_vals(module)] == [(2,), (2,)]


def captured(program):
    """What `program` gives of the sum and the maximum of a capture, and the graph's numbers."""
    given = []

    def run(x):
        given.append(program(x.sum().item(), x.max().item()))
        return x * 2

    make_fx(run, tracing_mode="symbolic")(rushlight.ones(3, 2, dtype=rushlight.int64))
    return given[-1]


def test_numbers_that_depend_on_values():
    def program(n, m):
        shapes.constrain_range(n, min=1, max=100)
        return (
            shapes.is_symbolic(n), shapes.is_symbolic(n > 2), shapes.has_static_value(n),
            shapes.has_static_value(n < 101), shapes.has_guarding_hint(n),
            shapes.statically_known_true(n < 101), shapes.sym_eq((n, 2), (n, 3)),
            shapes.sym_or(n > 200, n > 300), str(shapes.sym_and(n < 101, m > 1)),
            shapes.has_free_unbacked_symbols(n), shapes.optimization_hint(n, 7),
        )  # fmt: skip

    assert captured(program) == (
        True, True, False, True, False, True, False, False, "u1 > 1", True, 7,
    )  # fmt: skip


@pytest.mark.parametrize(
    "guard",
    [
        lambda n: shapes.guard_int(n), lambda n: shapes.guard_bool(n > 3),
        lambda n: shapes.guard_scalar(n), lambda n: shapes.guard_scalar(n > 3),
        lambda n: shapes.guarding_hint_or_throw(n),
    ],
)  # fmt: skip
def test_guards_on_values_are_errors(guard):
    def program(n, m):
        with pytest.raises(shapes.GuardOnDataDependentSymNode, match="u0"):
            guard(n)

    captured(program)


def test_guards_on_what_is_said():
    def program(n, m):
        shapes.constrain_range(n, min=6, max=6)
        return shapes.guard_int(n), shapes.guard_bool(n > 3), shapes.expect_true(m > 0)

    assert captured(program) == (6, True, True)


def test_several_undecided_conditions_are_refused():
    def program(n, m):
        with pytest.raises(NotImplementedError, match="u0 > 3, u1 > 4"):
            shapes.sym_or(n > 3, m > 4)

    captured(program)


def test_contexts_and_constraints():
    context = shapes.StatelessSymbolicContext([shapes.DimDynamic.DYNAMIC])
    assert isinstance(context, shapes.SymbolicContext)
    assert isinstance(shapes.RelaxedUnspecConstraint(warn_only=False), shapes.Constraint)
    assert shapes.IntLike == (int, rushlight.SymInt) and rushlight.SymInt in shapes.SymTypes


# ------------------------------------------------------------------------------------------ modes
def test_captures_are_suspended():
    seen = []

    def program(x):
        seen.append(get_proxy_mode() is get_innermost_proxy_mode() is not None)
        with disable_proxy_modes_tracing():
            seen.append(get_proxy_mode())
            constant = rushlight.ones(2) * 3
        return (x + constant).sin()

    module = make_fx(program)(rushlight.ones(2))
    assert seen[:2] == [True, None] and get_proxy_mode() is None
    targets = [str(node.target) for node in module.graph.nodes]
    assert targets == ["x_1", "_tensor_constant0", "aten.add.Tensor", "aten.sin.default", "output"]
    x = rushlight.tensor([0.0, 1.0])
    rushlight.testing.assert_close(module(x), (x + 3).sin())


def test_captures_inside_of_captures():
    inner = []

    def program(x):
        y = rushlight.ones(2)
        inner.append(get_isolated_graphmodule(lambda y, n: y.cos() * n, (y,), {"n": 2.0}))
        return x * 2

    module = make_fx(program)(rushlight.ones(2))
    names = [node.name for node in inner[0].graph.nodes]
    assert names == ["flat_args_1", "flat_args_2", "cos", "mul", "output"]
    y = rushlight.tensor([0.5, 1.0])
    rushlight.testing.assert_close(inner[0]([y, 2.0]), y.cos() * 2)
    targets = [str(node.target) for node in module.graph.nodes]
    assert targets == ["x_1", "aten.ones.default", "aten.mul.Tensor", "output"]


def test_isolated_captures_decompose():
    table = {rushlight.ops.aten.silu.default: lambda x: x * x.sigmoid()}
    module = get_isolated_graphmodule(
        rushlight.nn.functional.silu, (rushlight.ones(2),), {}, "symbolic", table
    )
    targets = [str(node.target) for node in module.graph.nodes]
    assert targets == ["flat_args_1", "aten.sigmoid.default", "aten.mul.Tensor", "output"]


def test_nodes_of_numbers():
    module = make_fx(lambda x: x.view(x.shape[0], -1) + 1, tracing_mode="symbolic")(
        rushlight.ones(3, 2)
    )
    found = {node.name: is_sym_node(node) for node in module.graph.nodes if node.op != "output"}
    assert found == {"x_1": False, "sym_size_int": True, "view": False, "add": False}


def test_autocast_keeps_no_casts():
    assert rushlight.is_autocast_cache_enabled()
    with disable_autocast_cache(), maybe_disable_thunkify():
        assert not rushlight.is_autocast_cache_enabled()
    assert rushlight.is_autocast_cache_enabled()
