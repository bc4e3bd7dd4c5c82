"""Examples of ops from the samples of their declarations, and of layers; they are run as they are
written, so that what they show is what the name gives."""

from __future__ import annotations

import functools
import importlib
import warnings

import rushlight
from reference import data_set_examples
from reference.calls import CALLS
from reference.homes import PACKAGES, home_of
from reference.layer_inputs import LAYERS
from reference.sister_calls import CALLS as SISTERS
from reference.sister_calls import weights_or_model
from reference.written_examples import empty_folder, examples_of, prompted, statements
from rushlight.ops._table.op import TABLE
from rushlight.testing.samples import samples_of

MOST_ELEMENTS, MOST_TEXT = 12, 500
ALL_CALLS = {**CALLS, **SISTERS}
FAILED: list = []  # calls that raised, and what
_NAMES = ("x", "y", "z", "w", "v", "u")
_RESULTS = (rushlight.Tensor, tuple, list, dict, str, bool, int, float, rushlight.dtype)


def example_of(path, name, value):
    """The example of a name as a doctest, or None where none can be made."""
    written = examples_of(path).get(name)
    if written is not None:
        *lines, call = statements(written)
        with empty_folder():
            return run(lines, call, object)
    data_set = data_set_examples.example_of(path, name, run)
    if data_set is not None:
        return data_set
    text = ALL_CALLS.get(path, {}).get(name) or weights_or_model(path, name, value)
    if text is not None:
        *lines, call = text.splitlines()
        return run(lines, call)
    if path == "rushlight.nn" and name in LAYERS:
        return _layer(name, *LAYERS[name])
    op = None if isinstance(value, type) else getattr(value, "op", None)
    if op is None or TABLE.get(op.name) is not op or getattr(value, "variant", None) == "out":
        return None
    return _op(path, name, op)


def _layer(name, given, *shapes):
    inputs = [f"rushlight.randn({', '.join(map(str, shape))})" for shape in shapes]
    lines = ["_ = rushlight.manual_seed(0)", f"layer = rushlight.nn.{name}({given})"]
    return run(lines, f"layer({', '.join(inputs)})")


def _op(path, name, op):
    for dtype in (rushlight.float32, rushlight.int64, rushlight.bool, rushlight.complex64):
        for args, kwargs in sorted(_samples(op.name, dtype), key=_cost):
            found = _of_sample(path, name, args, kwargs)
            if found is not None:
                return found
    return None


@functools.cache
def _samples(name, dtype):
    try:
        return [s for s in samples_of(TABLE[name], dtype) if _is_useful(s)]
    except Exception:  # of ops of other dtypes
        return []


def _tensors(sample):
    return [t for t in _leaves(sample) if isinstance(t, rushlight.Tensor)]


def _leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _is_useful(sample):
    sizes = [t.numel() for t in _tensors(sample)]
    return bool(sizes) and min(sizes) > 0 and max(sizes) > 1


def _cost(sample):
    """Samples of some elements in few dimensions first, then those of few options."""
    sizes = [t.numel() for t in _tensors(sample)]
    return max(sizes) > MOST_ELEMENTS, max(sizes) < 3, len(sample[1]), sum(sizes)


def _of_sample(path, name, args, kwargs):
    writer = _Literals()
    try:
        given = [writer.text(each) for each in args]
        given += [f"{key}={writer.text(each)}" for key, each in kwargs.items()]
    except ValueError:
        return None
    is_method = path == "rushlight.Tensor"
    if is_method:
        if not isinstance(args[0], rushlight.Tensor):
            return None
        call = f"{given[0]}.{name}({', '.join(given[1:])})"
    else:
        call = f"{path}.{name}({', '.join(given)})"
    return run(writer.lines, call)


class _Literals:
    """Arguments as Python text, tensors by names of their own."""

    def __init__(self):
        self.lines = []

    def text(self, value):
        """An argument; raises ValueError for what has no short text."""
        if isinstance(value, rushlight.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(self.text, value))
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if value is None or isinstance(value, (bool, int, float, str, complex, slice)):
            return repr(value)
        if isinstance(value, rushlight.dtype):
            return f"rushlight.{str(value).partition('.')[2]}"
        raise ValueError(type(value).__name__)

    def _tensor(self, value):
        if value.layout is not rushlight.strided or len(self.lines) == len(_NAMES):
            raise ValueError("no literal")
        name = _NAMES[len(self.lines)]
        if value.numel() > MOST_ELEMENTS:
            if value.dtype is not rushlight.float32:
                raise ValueError("no literal")
            made = "rand" if (value >= 0).all() else "randn"
            self.lines.append(f"{name} = rushlight.{made}({', '.join(map(str, value.shape))})")
            return name
        values = value.tolist()
        if value.is_floating_point() and value.dtype is not rushlight.bool:
            values = _rounded(values)
        plain = value.dtype in (rushlight.float32, rushlight.int64, rushlight.bool)
        dtype = "" if plain else f", dtype=rushlight.{str(value.dtype).partition('.')[2]}"
        self.lines.append(f"{name} = rushlight.tensor({values}{dtype})")
        return name


def _rounded(values):
    return [_rounded(v) for v in values] if isinstance(values, list) else round(values, 2)


def run(lines, call, kinds=_RESULTS):
    """The lines and what the call shows, as a doctest; None where it fails, shows too much, or
    gives none of these kinds."""
    space = _space([*lines, call])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rushlight.manual_seed(0)
            before = rushlight.get_rng_state()
            exec("\n".join(lines), space)
            result = eval(call, space)
            takes_numbers = not rushlight.equal(before, rushlight.get_rng_state())
            if not isinstance(result, kinds):
                return None
            shown = repr(result)
            if len(shown) > MOST_TEXT and isinstance(result, tuple):
                call, result = f"{call}[0]", result[0]
            call, shown = _short(call, result, shown)
    except Exception as error:  # a sample of another dtype or with rounded values that do not fit
        FAILED.append((call, f"{type(error).__name__}: {error}"))
        return None
    if len(shown) > MOST_TEXT or shown == "None" or "0x" in shown or "\n\n" in shown:
        return None
    is_seeded = any("manual_seed" in line for line in lines)
    if takes_numbers and not is_seeded and _depends_on_seed(lines, call, shown):
        lines = ["_ = rushlight.manual_seed(0)", *lines]
    return "\n".join([*map(prompted, [*lines, call]), shown])


def _short(call, result, shown):
    """A call that shows a part of a large result, or its shape, and what it shows."""
    if not isinstance(result, rushlight.Tensor):
        return call, shown
    short, first = call, (0,) * max(0, result.dim() - 2)
    if "\n\n" in shown:  # matrices
        short, shown = f"{call}[{', '.join(map(str, first))}]", repr(result[first])
    if len(shown) > MOST_TEXT:
        short, shown = f"{call}.shape", repr(result.shape)
    return short, shown


def _space(lines):
    """The packages that lines name, with the modules of theirs that have pages."""
    text = "\n".join(lines)
    for pages in PACKAGES.values():
        for path in pages:
            if f"{path}." in text:
                home_of(path)
    names = [p for p in PACKAGES if f"{p}." in text]
    return {"rushlight": rushlight, **{name: importlib.import_module(name) for name in names}}


def _depends_on_seed(lines, call, shown):
    """Whether another seed shows something else."""
    space = _space([*lines, call])
    rushlight.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(lines), space)
        return repr(eval(call, space)) != shown
