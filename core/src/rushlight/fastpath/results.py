"""Several results at once, by machine code: arrays made for a kernel, tensors around arrays.

``rl_several``  (*arguments of a plan of ``rl_layout`` but the arrays to write): makes these arrays
                and gives them as a tuple
``rl_results``  (tuple of arrays or Nones): a tuple of tensors, Nones staying what they are
``rl_plain``    (*tensors or Nones): None where all are plain tensors with arrays of NumPy's own

Anything unusual is answered NotImplemented.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine import np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.native_functions import DTYPE_AT, GIVEN, INPUTS, OUT, PARAMS, TYPE_AT

NAMES = ("results", "plain")
(LAYOUT, CALL, ARRAY_TYPE, OUTPUTS, ARGUMENTS, FIRST) = range(6)  # words of a plan of rl_several
MOST_DIMS, MOST_ARGUMENTS, MOST_OUTPUTS = 8, 24, 6
OUTPUT = 2 + MOST_DIMS  # words of an output: dtype, number of dimensions, extents
SIZE_AT, ITEMS_AT = 16, 24


def _results(maker):
    f = maker("rl_results", 1)
    arrays = f.load("%args", 0, "ptr")
    kind = f.compare("eq", f.field(arrays, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
    f.exit_unless(kind, "fallback")
    count, items = f.field(arrays, SIZE_AT), f.at(arrays, ITEMS_AT, "i8")
    f.exit_if(f.compare("ugt", count, MOST_OUTPUTS), "fallback")
    dtypes, none = f.slot(MOST_OUTPUTS), f.word(words.NONE)
    with f.loop(count) as i:
        array = f.load(items, i, "ptr")
        with f.when(f.compare("ne", array, none, "ptr")):
            f.check_arrays(array)
            found = f.field(array, DTYPE_AT, "ptr")
            arguments = f"ptr {f.word(words.BY_DTYPE)}, ptr {found}"
            dtype = f.call("ptr", "@PyDict_GetItemWithError", arguments)
            f.exit_if(f.compare("eq", dtype, "null", "ptr"), "unknown")
            f.store(dtype, dtypes, i, "ptr")
    outs = f.call("ptr", "@PyTuple_New", f"i64 {count}")
    f.exit_if(f.compare("eq", outs, "null", "ptr"), "failed")
    with f.loop(count) as i:
        array, place = f.load(items, i, "ptr"), f.slot()
        f.store(none, place, 0, "ptr")
        missing = f.compare("eq", array, none, "ptr")
        with f.when(missing):
            f.held(none)
        with f.when(f.value(f"xor i1 {missing}, true")):
            f.store(f.made(array, f.load(dtypes, i, "ptr"), none), place, 0, "ptr")
        f.call("i32", "@PyTuple_SetItem", f"ptr {outs}, i64 {i}, ptr {f.load(place, 0, 'ptr')}")
    f.do(f"ret ptr {outs}")
    f.lines.append("unknown:")
    f.call("void", "@PyErr_Clear", "")
    f.do("br label %fallback")
    return f.finish()


def _plain(maker):
    f = maker("rl_plain", (0, MOST_ARGUMENTS))
    none = f.word(words.NONE)
    with f.loop("%count") as i:
        x = f.load("%args", i, "ptr")
        with f.when(f.compare("ne", x, none, "ptr")):
            kind = f.field(x, TYPE_AT, "ptr")
            with f.when(f.compare("ne", kind, f.word(words.CLASS), "ptr")):
                parameter = f.compare("eq", kind, f.word(words.PARAMETER), "ptr")
                f.exit_unless(parameter, "fallback")
            f.check_arrays(f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr"))
    f.do(f"ret ptr {f.held(none)}")
    return f.finish()


def _several(maker):
    f = maker("rl_several", (0, MOST_ARGUMENTS))
    own, arguments, outs = f.plan, f.slot(MOST_ARGUMENTS + MOST_OUTPUTS), f.slot()
    given, outputs = f.load(own, ARGUMENTS), f.load(own, OUTPUTS)
    f.exit_unless(f.compare("eq", "%count", given), "fallback")
    with f.loop(given) as i:
        f.store(f.load("%args", i), arguments, i)
    f.store(f.call("ptr", "@PyTuple_New", f"i64 {outputs}"), outs, 0, "ptr")
    f.exit_if(f.compare("eq", f.load(outs, 0, "ptr"), "null", "ptr"), "failed")
    with f.loop(outputs) as i:
        output = f.at(own, f.add(f.multiply(i, OUTPUT), FIRST))
        dtype, dims = f.load(output, 0, "ptr"), f.load(output, 1)
        array = f.array_of(f.load(own, ARRAY_TYPE, "ptr"), dtype, dims, f.at(output, 2))
        f.exit_if(f.compare("eq", array, "null", "ptr"), "lost")
        f.store(array, arguments, f.add(given, i), "ptr")
        row = f.load(outs, 0, "ptr")
        f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 {i}, ptr {array}")
    call, plan = f.load(own, LAYOUT, "ptr"), f.load(own, CALL, "ptr")
    total = f.add(given, outputs)
    result = f.call("ptr", call, f"ptr {plan}, ptr {arguments}, i64 {total}")
    f.exit_if(f.compare("eq", result, "null", "ptr"), "lost")
    f.call("void", "@Py_DecRef", f"ptr {result}")
    refused = f.compare("eq", result, "@_Py_NotImplementedStruct", "ptr")
    with f.when(refused):
        f.call("void", "@Py_DecRef", f"ptr {f.load(outs, 0, 'ptr')}")
    f.exit_if(refused, "fallback")
    f.do(f"ret ptr {f.load(outs, 0, 'ptr')}")
    f.lines.append("lost:")
    f.call("void", "@Py_DecRef", f"ptr {f.load(outs, 0, 'ptr')}")
    f.do("br label %failed")
    return f.finish()


def functions(maker):
    """IR texts."""
    return [_results(maker), _plain(maker), _several(maker)]


# ------------------------------------------------------------------------------------ Python's side
_immortal: list = []  # like compiled code: built-in functions hold bare addresses


def address_of(call):
    """Address of the code behind a function over ``rl_layout`` or ``rl_several``."""
    from rushlight.machine.elementwise_engine import engine
    from rushlight.machine.native_functions import doors

    if call.__name__ == "several":
        return engine().symbol("rl_several")
    return doors().layout_address


def described(call):
    """How many arrays a function over ``rl_layout`` or ``rl_several`` takes, and the addresses of
    its results' dtypes; None where it takes numbers, or several arrays to write, or is another."""
    if type(call) is not type(len) or call.__name__ not in ("layout", "several"):
        return None
    plan = call.__self__
    if call.__name__ == "layout":
        if plan[GIVEN] > 1 or plan[PARAMS]:
            return None
        return int(plan[INPUTS] + plan[GIVEN]), [int(plan[OUT])]
    outputs = [int(plan[FIRST + i * OUTPUT]) for i in range(plan[OUTPUTS])]
    return int(plan[ARGUMENTS]), outputs


def several(call, arguments, outputs):
    """A function over ``rl_several``: `call`, a function over ``rl_layout`` of so many arguments
    and the arrays of `outputs`, ``(shape, dtype)`` each; None where these are too many, or tensors
    have no machine code yet."""
    from rushlight.machine.elementwise_engine import engine
    from rushlight.machine.native_functions import doors

    fits = arguments <= MOST_ARGUMENTS and len(outputs) <= MOST_OUTPUTS
    if words.TensorDoors.current is None or not fits:
        return None
    plan = [doors().layout_address, id(call.__self__), doors().type, len(outputs), arguments]
    for shape, dtype in outputs:
        plan += [id(dtype), len(shape), *shape, *[0] * (MOST_DIMS - len(shape))]
    plan = np.array(plan, np.int64)
    _immortal.append((call, plan))
    return built_in(b"several", engine().symbol("rl_several"), plan)
