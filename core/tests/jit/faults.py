"""Functions that are not TorchScript, in the framework that is imported as ``torch``; run as a
program, PyTorch's messages are written as JSON."""

import importlib
import json
import os

torch = importlib.import_module(os.environ.get("PROGRAM_FRAMEWORK", "torch"))
Tensor = torch.Tensor


def undefined(x):
    return nowhere(x)  # noqa: F821


def branches(x, n: int):
    y = x if n > 1 else "a"
    return y


def one_branch(x, n: int):
    if n > 1:
        y = x
    return y


def wrong_return(x: list[int]) -> int:
    return x


def retyped(x, n: int):
    z = n
    z = x
    return z


def local_class(x):
    class Inner:
        pass

    return x


def handler(x):
    try:
        y = x
    except ValueError:
        y = x
    return y


def no_method(x):
    return x.nothing()


def callee(x, n: int):
    return x * n


def wrong_argument(x):
    return callee(x, "a")


def missing_argument(x):
    return callee(x)


def unknown_keyword(x):
    return callee(x, m=2)


def generator(x):
    yield x


def a_set(x):
    y = {1, 2}
    return x + len(y)


def branch_types(x, n: int):
    if n > 1:
        y = x
    else:
        y = n
    return y


def not_refined(x: list[int] | None):
    return x[0]


def tuple_index(x):
    pair = (x, 1)
    return pair[2]


def unpacked(x):
    a, b, c = (x, 1)
    return a + b + c


FAULTS = [
    undefined, one_branch, wrong_return, retyped, no_method, wrong_argument, missing_argument,
    unknown_keyword, branch_types, branches, local_class, handler, generator, a_set, not_refined,
    tuple_index, unpacked,
]  # fmt: skip


def message(function):
    """What the compiler says of a function."""
    try:
        torch.jit.script(function)
    except Exception as error:  # noqa: BLE001 - its text is the result
        return str(error)
    return ""


if __name__ == "__main__":
    print(json.dumps({function.__name__: message(function) for function in FAULTS}))
