"""What transforms accept and refuse: the same program on either library gives the same values, or
errors of one kind."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

Pair = namedtuple("Pair", "a b")


def x(lib):
    return lib.arange(12, dtype=lib.float64).reshape(3, 4) / 7


def flat(value):
    """Numbers, names of kinds and structure of a result."""
    if isinstance(value, rushlight.Tensor | torch.Tensor):
        return [tuple(value.shape), str(value.dtype).split(".")[-1], *value.flatten().tolist()]
    if isinstance(value, dict):
        return [type(value).__name__, *((k, flat(v)) for k, v in value.items())]
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(flat, value)]
    return [value]


def outcome(program, lib):
    try:
        return flat(program(lib, lib.func))
    except Exception as error:  # noqa: BLE001 - its kind is compared
        return type(error).__name__


def close(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return np.isclose(ours, theirs, rtol=1e-9, atol=1e-12)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == theirs


def agree(program):
    ours, theirs = outcome(program, rushlight), outcome(program, torch)
    assert close(ours, theirs), (ours, theirs)


IN_DIMS = {
    "tuple for list": (0, (1, 0)),
    "list": (0, [1, 0]),
    "None inside": (0, [None, 0]),
    "too short": (0, [1]),
    "too deep": (0, [[1], 0]),
    "one for all": (0, None),
}


@pytest.mark.parametrize("dims", IN_DIMS.values(), ids=IN_DIMS)
def test_in_dims_follow_the_structure_of_the_arguments(dims):
    agree(
        lambda lib, f: f.vmap(lambda a, m: a.sum() + m[0].sum() + m[1].sum(), in_dims=dims)(
            x(lib), [x(lib).t(), x(lib)]
        )
    )


@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize(
    "dims", [{"a": 0, "b": 1}, {"a": 0, "c": 1}, OrderedDict(a=0, b=1), {"a": 0}]
)
def test_in_dims_of_dicts_of_any_class(kind, dims):
    agree(
        lambda lib, f: f.vmap(lambda m: m["a"] + m["b"], in_dims=(dims,))(
            kind(a=x(lib), b=x(lib).t())
        )
    )


OUT_DIMS = {
    "one in a tuple": ((1,), lambda t: t),
    "one in a list": ([1], lambda t: t),
    "two for one": ((0, 1), lambda t: t),
    "list of results": ((0, 1), lambda t: [t, t]),
    "list for list": ([0, 1], lambda t: [t, t]),
    "tuple for named tuple": ((0, 1), lambda t: Pair(t, t)),
    "no tensor": ((0, None), lambda t: (t, "name")),
    "nothing": ((0, None), lambda t: (t, None)),
    "a number": (None, lambda t: 3),
    "no tensor at 0": (0, lambda t: (t, "name")),
    "other dict": ({"b": 0, "a": 1}, lambda t: OrderedDict(b=t, a=t)),
    "default dict": (0, lambda t: defaultdict(list, a=t)),
}


@pytest.mark.parametrize(("dims", "function"), OUT_DIMS.values(), ids=OUT_DIMS)
def test_out_dims_follow_the_structure_of_the_results(dims, function):
    agree(lambda lib, f: f.vmap(function, out_dims=dims)(x(lib)))


DERIVATIVES = ("grad", "grad_and_value", "jacrev", "jacfwd", "hessian")
REFUSED = {
    "same argument twice": lambda t: (lambda a, b: (a * b).sum(), {"argnums": (0, -2)}, 2),
    "aux is no tensor": lambda t: (lambda a: (a.sum(), "aux"), {"has_aux": True}, 1),
    "aux is a structure": lambda t: (lambda a: (a.sum(), {"k": [a * 2]}), {"has_aux": True}, 1),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("case", REFUSED)
def test_arguments_of_derivatives(name, case):
    def program(lib, f):
        function, options, count = REFUSED[case](lib)
        if name == "hessian":
            if options.pop("has_aux", False):
                pytest.skip("hessian has no aux")
        return getattr(f, name)(function, **options)(*[x(lib)[0]] * count)

    agree(program)


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
@pytest.mark.parametrize("function", [lambda a: (a * a.conj()).real.sum(), lambda a: a**2])
def test_jacobians_of_complex_arguments_are_refused(name, function):
    agree(lambda lib, f: getattr(f, name)(function)(x(lib)[0].to(lib.complex128)))


@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians_of_complex_results_are_refused(name):
    agree(lambda lib, f: getattr(f, name)(lambda a: lib.complex(a, a))(x(lib)[0]))


def test_a_jacobian_by_nothing_is_refused():
    with pytest.raises(RuntimeError, match="at least one Tensor"):
        rushlight.func.jacfwd(lambda a: rushlight.ones(()))(())


COTANGENTS = {
    "like the outputs": lambda a: (a, a * 2),
    "a list for a tuple": lambda a: [a, a],
    "one for two": lambda a: a,
    "none for one": lambda a: (a, None),
    "a number": lambda a: (a, 1.0),
    "another shape": lambda a: (a, a[:1]),
}


@pytest.mark.parametrize("make", COTANGENTS.values(), ids=COTANGENTS)
def test_cotangents_lie_as_the_outputs_do(make):
    agree(
        lambda lib, f: f.vjp(lambda a: (a.sum() + a**2 * 1, a.sin()), x(lib)[0])[1](make(x(lib)[0]))
    )


def test_cotangents_do_not_spread_over_arguments():
    agree(lambda lib, f: f.vjp(lambda a: (a, a**2), x(lib)[0])[1](x(lib)[0], x(lib)[0]))


@pytest.mark.parametrize(
    "function", [lambda a: a.long(), lambda a: (), lambda a: (a, a.argmax()), lambda a: {}]
)
def test_outputs_of_vjp_are_floating_point(function):
    agree(lambda lib, f: f.vjp(function, x(lib)[0])[0])


@pytest.mark.parametrize("options", [{"retain_graph": False}, {"create_graph": True}])
def test_options_of_a_pullback(options):
    def program(lib, f):
        _, pull = f.vjp(lambda a: a**3, x(lib)[0])
        found = pull(x(lib)[0], **options)
        return found, [g.requires_grad for g in found]

    agree(program)


def test_a_pullback_that_does_not_keep_the_graph_runs_once():
    _, pull = rushlight.func.vjp(lambda a: a**3, x(rushlight))
    pull(x(rushlight), retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        pull(x(rushlight))


TANGENTS = {
    "other keys": ({"a": 0, "b": 1}, {"a": 0, "c": 1}),
    "a tuple for a list": ([0, 1], (0, 1)),
    "the same": ({"a": 0, "b": 1}, {"a": 1, "b": 0}),
}


@pytest.mark.parametrize(("primals", "tangents"), TANGENTS.values(), ids=TANGENTS)
def test_tangents_lie_as_the_primals_do(primals, tangents):
    def program(lib, f):
        def filled(tree):
            rows = x(lib)
            if isinstance(tree, dict):
                return {k: rows[v] for k, v in tree.items()}
            return type(tree)(rows[v] for v in tree)

        def product(tree):
            one, two = tree.values() if isinstance(tree, dict) else tree
            return one * two

        return f.jvp(product, (filled(primals),), (filled(tangents),))

    agree(program)


def test_tangents_are_floating_point():
    agree(lambda lib, f: f.jvp(lambda a: a**2, (x(lib)[0],), (lib.arange(4),)))


def test_tangents_of_linearize_have_the_dtypes_of_the_primals():
    _, push = rushlight.func.linearize(rushlight.sin, x(rushlight))
    with pytest.raises(RuntimeError, match="dtype"):
        push(x(rushlight).float())


def test_gradients_by_inference_tensors():
    def program(lib, f):
        with lib.inference_mode():
            given = x(lib) * 1
        return f.grad(lambda a: (a**3).sum())(given)

    agree(program)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("name", ["hessian", "jacfwd", "jacrev", "grad"])
def test_derivatives_do_not_depend_on_the_mode_around_them(mode, name):
    def program(lib, f):
        with getattr(lib, mode)():
            return getattr(f, name)(lambda a: (a**3).sum() + (a @ a).tanh())(x(lib)[0])

    agree(program)


def test_hooks_in_forward_mode_are_refused():
    def program(lib, f):
        return f.jvp(lambda a: a.register_hook(lambda g: g), (x(lib),), (x(lib),))

    agree(program)
