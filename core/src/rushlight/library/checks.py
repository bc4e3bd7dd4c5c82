"""`opcheck`: does an operator keep the promises of its schema and registrations?"""

from __future__ import annotations

from rushlight.autograd import grad
from rushlight.library.definitions import _operator
from rushlight.library.operators import _tensors
from rushlight.machine import np
from rushlight.tensor.construction import without_values
from rushlight.tensor.tensor import Tensor

TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """A check of :func:`opcheck` failed."""


def opcheck(
    op,
    args,
    kwargs=None,
    *,
    test_utils=TESTS,
    raise_exception=True,
    atol=None,
    rtol=None,
) -> dict[str, str]:
    """Check an operator on sample arguments; the name of each check with ``"SUCCESS"``.

    ``test_schema``: nothing is written to but what the schema says, and no result is an argument;
    ``test_autograd_registration``: results require gradients where arguments do;
    ``test_faketensor``: shapes and dtypes on the meta device are the real ones;
    ``test_aot_dispatch_dynamic``: the gradients of two backward passes, and those of
    `rushlight.func.vjp`, agree. With ``raise_exception=False`` the exceptions are returned.
    """
    operator, kwargs = _operator(op), dict(kwargs or {})
    chosen = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in chosen if name not in TESTS]
    if unknown:
        raise ValueError(f"opcheck: unknown checks {unknown}; expected some of {TESTS}")
    tolerances = {"atol": 1e-6 if atol is None else atol, "rtol": 1e-5 if rtol is None else rtol}
    results: dict = {}
    for name in chosen:
        try:
            _CHECKS[name](operator, args, kwargs, tolerances)
            results[name] = "SUCCESS"
        except Exception as error:  # noqa: BLE001 - whatever an operator raises is its failure
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(value):
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple):
        return type(value)(_copied(v) for v in value)
    return value


def _fresh(args, kwargs):
    return [_copied(a) for a in args], {k: _copied(v) for k, v in kwargs.items()}


def _schema(operator, args, kwargs, tolerances):
    args, kwargs = _fresh(args, kwargs)
    values = operator._schema.bind(tuple(args), dict(kwargs))
    before = [[t.detach().clone() for t in _tensors(v)] for v in values]
    result = operator(*args, **kwargs)
    for argument, value, copies in zip(operator._schema.arguments, values, before, strict=True):
        for tensor, copy in zip(_tensors(value), copies, strict=True):
            same = np.array_equal(tensor.detach().numpy(), copy.numpy(), equal_nan=True)
            if not same and not argument.is_write:
                raise RuntimeError(
                    f"Argument {argument.name} is not defined as mutable but was mutated"
                )
    inputs = [t for v in values for t in _tensors(v)]
    for out in _tensors(result):
        if any(np.may_share_memory(out.detach().numpy(), t.detach().numpy()) for t in inputs):
            raise RuntimeError(f"a result of {operator} aliases an argument")


def _registration(operator, args, kwargs, tolerances):
    args, kwargs = _fresh(args, kwargs)
    inputs = [t for v in (*args, *kwargs.values()) for t in _tensors(v)]
    if not any(t.requires_grad for t in inputs) or operator._schema.is_mutable:
        return
    outs = [t for t in _tensors(operator(*args, **kwargs)) if t.is_floating_point()]
    if outs and not any(t.requires_grad for t in outs):
        raise RuntimeError(
            f"{operator}: an argument requires a gradient, no result does; register a gradient "
            "with register_autograd"
        )


def _fake(operator, args, kwargs, tolerances):
    def meta(value):
        if isinstance(value, Tensor):
            return without_values(value)
        return type(value)(map(meta, value)) if isinstance(value, list | tuple) else value

    real_args, real_kwargs = _fresh(args, kwargs)
    fakes = [meta(a) for a in args], {k: meta(v) for k, v in kwargs.items()}
    expected = _tensors(operator(*real_args, **real_kwargs))
    found = _tensors(operator(*fakes[0], **fakes[1]))
    if len(found) != len(expected):
        raise RuntimeError(f"the fake impl gives {len(found)} tensors, the op {len(expected)}")
    for ours, theirs in zip(found, expected, strict=True):
        if tuple(ours.shape) != tuple(theirs.shape) or ours.dtype is not theirs.dtype:
            raise RuntimeError(
                f"the fake impl gives {ours.dtype} of shape {list(ours.shape)}, the op "
                f"{theirs.dtype} of shape {list(theirs.shape)}"
            )


def _gradients(operator, args, kwargs, tolerances):
    from rushlight.func import vjp

    if operator._schema.is_mutable:
        return
    args, kwargs = _fresh(args, kwargs)
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
    if not places:
        return
    leaves = [args[i] for i in places]

    def run(*given):
        values = list(args)
        for place, value in zip(places, given, strict=True):
            values[place] = value
        outs = _tensors(operator(*values, **kwargs))
        return sum((o * o).sum() for o in outs if o.is_floating_point())

    def compare(found, expected, what):
        for ours, theirs in zip(found, expected, strict=True):
            close = np.allclose(
                ours.detach().numpy(), theirs.detach().numpy(), **tolerances, equal_nan=True
            )
            if not close:
                raise RuntimeError(f"{operator}: {what}")

    first = grad(run(*leaves), leaves, materialize_grads=True)
    compare(grad(run(*leaves), leaves, materialize_grads=True), first, "two backward passes differ")
    total, pull = vjp(run, *[leaf.detach() for leaf in leaves])
    compare(pull(total * 0 + 1), first, "the gradients of func.vjp and of backward differ")


_CHECKS = dict(zip(TESTS, (_schema, _registration, _fake, _gradients), strict=True))
