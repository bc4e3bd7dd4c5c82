"""What functions that are no ops of the table are in ATen.

An op says so in its declaration (``aten=``, ``schemas=``, ``aten_call=``); a plain function, by
:func:`in_aten`. Those that have it are one step of a captured program, not what they call.
"""

from __future__ import annotations

import inspect

from rushlight.ops._table.op import TABLE

FUNCTIONS: dict[str, list[str]] = {}  # ATen's name -> texts of the schemas of its overloads
HOMES: dict = {}  # ATen's name -> the function that declares it
RUNS: dict = {}  # ATen's name -> what takes its arguments, where that is no public function


def name_in(text: str) -> str:
    """The name that a schema's text begins with, without the overload."""
    return text.partition("(")[0].partition(".")[0].strip()


def in_aten(*schemas, call=None, run=None, functional=None):
    """Declare the schemas of a function in ATen; the first that takes a call's values counts.

    ``call(*args, **kwargs)`` gives ``(name, values by argument)``; without it the function has
    ATen's name and arguments. `run` maps ATen's names to functions of ATen's arguments; without it
    and `call` the function itself is what ``ops.aten`` calls. `functional` does the same by values,
    where the function writes; NotImplemented where this call of it does not.
    """

    def decorate(function):
        for text in schemas:
            FUNCTIONS.setdefault(name_in(text), []).append(text)
            HOMES.setdefault(name_in(text), function)
        function.aten_call = call or _by_signature(function, name_in(schemas[0]))
        if call is None:
            RUNS.update({name_in(text): function for text in schemas})
        RUNS.update(run or {})
        if functional is not None:
            function.functional = functional
        return function

    return decorate


def declared_in_aten(*schemas):
    """Declare schemas of names that `ops.aten` has, but that no call of a public function is in a
    captured program."""
    for text in schemas:
        FUNCTIONS.setdefault(name_in(text), []).append(text)


def _by_signature(function, name):
    def call(*args, **kwargs):
        bound = inspect.signature(function).bind(*args, **kwargs)
        return name, dict(bound.arguments)

    return call


# ------------------------------------------------------------------------- forms that many share
def pooled(name):
    """Pooling over windows; with indices under a name of its own."""
    RUNS[name + "_with_indices"] = _with_maxima(name)

    def call(input, kernel_size, stride=None, *rest, return_indices=False, **named):
        names = ("padding", "dilation", "ceil_mode", "return_indices")
        if not name.startswith("max"):
            names = ("padding", "ceil_mode", "count_include_pad", "divisor_override")
        given = dict(zip(names, rest, strict=False)) | named
        indices = given.pop("return_indices", return_indices)
        given = {"self": input, "kernel_size": kernel_size, **given}
        if stride is not None:
            given["stride"] = stride
        return name + "_with_indices" if indices else name, given

    return call


def _with_maxima(name):
    """Pooling that gives the indices of maxima too, as ATen's op does."""

    def run(self, *args, **kwargs):
        return TABLE[name].function(self, *args, **kwargs, return_indices=True)

    return run


def adaptively_pooled(name):
    """Pooling to a size, in which None keeps the input's."""
    if "max" in name:
        RUNS[name] = _with_maxima(name)

    def call(input, output_size, return_indices=False):
        if "max" in name and not return_indices:
            return None
        if isinstance(output_size, tuple | list):
            own = input.shape[-len(output_size) :]
            pairs = zip(output_size, own, strict=True)
            output_size = [n if wanted is None else wanted for wanted, n in pairs]
        return name, {"self": input, "output_size": output_size}

    return call


def reduced(name):
    """A reduction over all dimensions or some."""

    def call(input, dim=None, keepdim=False, *, dtype=None):
        given = {"self": input} if dtype is None else {"self": input, "dtype": dtype}
        if dim is None or dim == () and not keepdim:
            return name, given
        return name, given | {"dim": dim, "keepdim": keepdim}

    return call


def spread(name):
    """Variance and its relatives, by a correction where one is given."""

    def call(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):  # var(unbiased)
            dim, unbiased = None, dim
        given = {"self": input}
        if dim is not None or keepdim:
            given |= {"dim": dim, "keepdim": keepdim}
        if correction is not None:
            return name, given | {"correction": correction}
        if unbiased is not None:
            return name, given | {"unbiased": unbiased}
        # of all elements, calls without arguments are those of the overload with a correction
        return name, given if "dim" in given else given | {"correction": None}

    return call


def along(name):
    """Softmax and its logarithm, along a dimension that used to follow from the shape."""

    def call(input, dim=None, _stacklevel=3, dtype=None):
        if not isinstance(_stacklevel, int):  # the form of tensors, with the dtype there
            dtype = _stacklevel
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return name, {"self": input, "dim": dim, "dtype": dtype}

    return call


REDUCTIONS = ("none", "mean", "sum")  # by their numbers in ATen


def loss(name, *names, of=("self", "target")):
    """A loss whose `reduction` is a number in ATen; `names` are the parameters behind the tensors
    `of` which it is, in order."""

    def call(*args, **named):
        given = dict(zip((*of, *names), args, strict=False)) | named
        if "input" in named and "input" not in of:
            given["self"] = given.pop("input")
        average, reduce = given.pop("size_average", None), given.pop("reduce", None)
        reduction = given.pop("reduction", REDUCTIONS[1])
        if average is not None or reduce is not None:
            reduction = REDUCTIONS[0 if reduce is False else 2 if average is False else 1]
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction} is not a valid value for reduction")
        if given.get("weight", ...) is None:
            del given["weight"]
        return name, given | {"reduction": REDUCTIONS.index(reduction)}

    return call


def loss_run(name, function):
    """A loss with ATen's arguments, by the public function, which ``function()`` gives."""

    def run(self, target, *rest, **named):
        (text,) = FUNCTIONS[name]
        words = text.partition("(")[2].partition(")")[0].split(", ")[2:]
        names = [word.partition("=")[0].split()[-1] for word in words]
        return loss_by_names(function(), *names)(self, target, *rest, **named)

    return {name: run}


def loss_by_names(function, *names):
    """A loss with the arguments of ATen that are named, behind input and target."""

    def run(self, target, *rest, **named):
        given = dict(zip(names, rest, strict=False)) | named
        given["reduction"] = REDUCTIONS[given.get("reduction", 1)]
        return function(self, target, **given)

    return run
