"""Programs that show which functions are named to ``__torch_function__``, for either library."""

import copy
import warnings

import numpy


def logged(lib):
    """A subclass that writes down what it is asked about, and the list."""
    names = []

    class Logged(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged, names


def plain(lib, kind):
    """A tensor of the kinds that `asked_calls.json` names."""
    x = lib.arange(1.0, 10.0).reshape(3, 3)
    return {
        "f": lambda: x,
        "g": lambda: x,
        "i": lambda: lib.arange(9).reshape(3, 3),
        "s": lambda: lib.tensor(2.0),
        "b": lambda: x > 4,
        "v": lambda: lib.arange(1.0, 4.0),
        "c": lambda: lib.view_as_complex(lib.arange(1.0, 9.0).reshape(2, 2, 2)),
        "B": lambda: lib.arange(1.0, 28.0).reshape(3, 3, 3),
    }[kind]()


def arguments(lib):
    """The lists of arguments that `asked_calls.json` names by number."""
    p, i = lib.arange(1.0, 10.0).reshape(3, 3), lib.tensor([0, 1])
    z, v, ones = lib.zeros(3, 3, dtype=lib.int64), lib.arange(3.0), lib.ones(2, 3)
    cube, double = lib.arange(27.0).reshape(3, 3, 3), lambda x: x
    return [
        (), (p,), (0,), (2,), (0, 1), (3, 3), ((9,),), (9,), (i,), (0, i),
        (p, p), (0.0, 1.0), (0, i, 1.0), (0, z), (0, z, p), (0, z, 1.0),
        (p > 3, 0.0), (p > 3, p), (lib.float64,), (v,), (v, v), ([0, 1],), (0, 1, 2), (0, 0, 1),
        (1, 1, 0), (lib.int64,), (lib.arange(9),), (cube,), (cube, cube), ("r",), (double,),
        (3, "full"), (v, p), (0, i, ones), (0, i, ones, "mean"), (0, z, p, "sum"), (1, 0, 1.0),
        ((0,), (lib.ones(2),)), (True,), (0.5,), ((i,), ones),
    ]  # fmt: skip


def asked_by_method(lib, name, kind, number):
    """What the method or property `name` asks about, and the type of its result."""
    cls, names = logged(lib)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, args = plain(lib, kind).as_subclass(cls), arguments(lib)[number]
        if kind == "g":
            x.requires_grad_()
        names.clear()
        if not callable(getattr(cls, name)):
            return names, type(getattr(x, name)).__name__
        method = getattr(x, name)
        names.clear()
        return names, type(method(*args)).__name__


def programs(lib, cls):
    """Calls in which a tensor of the subclass stands beside plain ones."""

    def p():
        return lib.arange(1.0, 10.0).reshape(3, 3)

    def of(value):
        return lib.tensor(value).as_subclass(cls)

    q, mask, flags = (x.as_subclass(cls) for x in (p(), p() > 4, p() > 4))
    i, z, one = lib.tensor([0, 1]), lib.zeros(3, 3, dtype=lib.int64), of(1.0)
    at, two, row = of([0, 1]), of([1.0, 2.0]), of([1.0, 2.0, 3.0])
    pair, functional = p()[:2].as_subclass(cls), lib.nn.functional
    return {
        "copy_": lambda: p().copy_(q),
        "read by a mask": lambda: p()[mask],
        "read by indices": lambda: p()[at],
        "read by a tuple": lambda: p()[0, at],
        "write a value": lambda: p().__setitem__(0, row),
        "write by indices": lambda: p().__setitem__(at, 0.0),
        "write both": lambda: p().__setitem__(at, pair),
        "add": lambda: p() + q,
        "reflected add": lambda: 1 + q,
        "subtract": lambda: p() - q,
        "add in place": lambda: p().__iadd__(q),
        "mul_": lambda: p().mul_(q),
        "div_": lambda: p().div_(q),
        "floor divide": lambda: p() // q,
        "power": lambda: p() ** q,
        "number to the power": lambda: 2**q,
        "and": lambda: (p() > 4) & flags,
        "matmul": lambda: p() @ q,
        "index_put_": lambda: p().index_put_((i, i), two),
        "index_put_ by indices": lambda: p().index_put_((at, i), lib.ones(2)),
        "masked_fill": lambda: p().masked_fill(mask, 0.0),
        "masked_fill_": lambda: p().masked_fill_(mask, 0.0),
        "where": lambda: lib.where(mask, p(), 0.0),
        "where, a method": lambda: p().where(mask, p()),
        "expand_as": lambda: p().expand_as(q),
        "view_as": lambda: p().view_as(q),
        "reshape_as": lambda: p().reshape_as(q),
        "type_as": lambda: p().type_as(q),
        "to": lambda: p().to(q),
        "scatter_": lambda: p().scatter_(0, z, q),
        "scatter": lambda: p().scatter(0, z, q),
        "index_fill_": lambda: p().index_fill_(0, at, 1.0),
        "index_fill_ with a value": lambda: p().index_fill_(0, i, one),
        "index_add_": lambda: p().index_add_(0, i, pair),
        "index_copy_": lambda: p().index_copy_(0, i, pair),
        "masked_scatter_": lambda: p().masked_scatter_(mask, q),
        "fill_": lambda: p().fill_(one),
        "clamp_": lambda: p().clamp_(one),
        "lerp_": lambda: p().lerp_(q, 0.5),
        "addcmul_": lambda: p().addcmul_(q, q),
        "addmm_": lambda: p().addmm_(q, q),
        "put_": lambda: p().put_(i, two),
        "take": lambda: p().take(at),
        "stack": lambda: lib.stack([p(), q]),
        "allclose": lambda: lib.allclose(p(), q),
        "equal": lambda: p().equal(q),
        "equals": lambda: p() == q,
        "split": lambda: lib.split(q, 1),
        "length": lambda: len(q),
        "numpy": lambda: q.numpy(),
        "asarray": lambda: numpy.asarray(q),
        "text": lambda: str(q),
        "copy": lambda: copy.copy(q),
        "number of elements": lambda: lib.numel(q),
        "einsum": lambda: lib.einsum("ij,jk", p(), q),
        "linear": lambda: functional.linear(p(), q),
        "a module": lambda: lib.nn.Linear(3, 3)(q),
        "topk": lambda: q.topk(2),
        "largest": lambda: q.max(0),
        "a condition": lambda: 1 if one else 0,
        "range": lambda: list(range(of(2))),
        "sorted": lambda: sorted([of(2.0), of(1.0)]),
        "shape": lambda: q.shape,
        "dtype": lambda: q.dtype,
        "transposed": lambda: q.T,
    }


def asked_by_program(lib, name):
    """What a program asks about, and the type of its result."""
    cls, names = logged(lib)
    program = programs(lib, cls)[name]
    names.clear()
    return names, type(program()).__name__
