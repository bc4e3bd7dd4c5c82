"""Random tensors, with PyTorch's CPU numbers for the same seed."""

from __future__ import annotations

import functools
import importlib
import math

from rushlight import devices, dtypes
from rushlight.autograd.mode import mode
from rushlight.dtypes import FLOAT, as_dtype, default
from rushlight.errors import argument_error
from rushlight.kernels.random import sampled_indices as drawn_indices
from rushlight.kernels.random.normals import box_muller
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE, cast
from rushlight.ops._table.aten import in_aten
from rushlight.ops._table.inplace import check_writable, written
from rushlight.ops._table.number_limits import check_uniform
from rushlight.ops._table.numpy_names import numpy_names
from rushlight.ops._table.recording import record
from rushlight.ops._table.rules import as_numbers
from rushlight.ops.creation import aten_forms as forms
from rushlight.ops.creation.tensors import empty_like, finish, size_of
from rushlight.ops.random import compiled_sampling as drawing
from rushlight.ops.random.functional_draws import BY_VALUE, draws
from rushlight.ops.random.generators import (  # noqa: F401 - names that are looked for here
    Generator,
    _on_devices,
    _restore,
    default_generator,
    generator_of,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from rushlight.tensor.dispatch import captured, readable, stack, through_levels
from rushlight.tensor.layout import only_strided
from rushlight.tensor.overriding import overridable
from rushlight.tensor.shape import as_int, normalize_size
from rushlight.tensor.tensor import Tensor, make_tensor


def transformable(function):
    """A random function that asks the function transforms around it, if there are any."""

    @numpy_names
    @functools.wraps(function)
    def call(*args, **kwargs):
        if stack.levels:
            found = captured(function, args, kwargs)
            if found is not NotImplemented:
                return found
            draw = importlib.import_module("rushlight.ops._transforms.batching_random").draw
            return draw(function, args, kwargs)
        try:
            return function(*args, **kwargs)
        except MemoryError as error:
            raise memory.refused(error) from None

    return call


def for_examples(parameter):
    """A parameter of draws, one for each example of a `vmap` in which they differ."""
    if stack.levels:
        return importlib.import_module("rushlight.ops._transforms.batching_random").per_example(
            parameter
        )
    return parameter


def _engine(generator, device=devices.cpu):
    if generator is None:
        return generator_of(device).engine
    if not isinstance(generator, Generator):
        raise argument_error("", "generator", "Generator", generator)
    if device is not devices.meta and generator.device is not device:
        raise RuntimeError(
            f"Expected a '{device.type}' device type for generator but found "
            f"'{generator.device.type}'"
        )
    return generator.engine


def _sample(draw, size, dtype, generator, device=devices.cpu):
    """An array of `size` in `dtype` from ``draw(engine, count, double)``."""
    size = normalize_size(size)
    count = 1
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
        count *= n
    if not 0 < count < 1 << 60:
        memory.bytes_of(size, dtype.itemsize)  # which says what is too large
    engine = _engine(generator, device)
    with engine.lock, np.errstate(all="ignore"):  # what the dtype cannot hold is infinite
        values = draw(engine, count, dtype is dtypes.float64)
        return values.reshape(size).astype(BY_CODE[dtype.code], copy=False)


def _is_half(dtype):
    return dtype.category == FLOAT and dtype.itemsize == 2


def _uniforms(low, high, size, dtype, generator, device=devices.cpu):
    """Uniforms from [low, high); where rounding to a half-width dtype gives `high`, `low`."""

    def draw(engine, count, double):
        return engine.uniform_between(count, low, high, double)

    array = _sample(draw, size, dtype, generator, device)
    if not _is_half(dtype):
        return array
    if type(array) is not np.ndarray:
        kind = array.dtype.type
        return np.where(array == kind(high), kind(low), array)
    array[array == array.dtype.type(high)] = low
    return array


def _normals(mean, std, size, dtype, generator, device=devices.cpu):
    """Normal samples of a dtype."""
    half = _is_half(dtype)

    def draw(engine, count, double):
        return engine.normal(count, mean, std, double, half, box_muller)

    return _sample(draw, size, dtype, generator, device)


def _float(dtype, name, complex_too=False):
    dtype = default.float if dtype is None else as_dtype(dtype)
    if dtype.category == FLOAT:
        dtypes.refuse_limited(name, dtype)
    if dtype.category != FLOAT and not (complex_too and dtype.is_complex):
        raise RuntimeError(f'"{name}" not implemented for {dtype}')
    return dtype


def _maker(name, sample, short, doc):
    quick, plain = short

    def make(
        *size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
        pin_memory=False,
    ):  # fmt: skip
        if layout is not None:
            only_strided(name, layout)
        if out is None:
            made = quick(size, dtype, generator, device, requires_grad)
            if made is not None:
                return made
        dtype = out._dtype if out is not None and dtype is None else dtype
        dtype = _float(dtype, name, True)
        place = _place(device if out is None else out._device)
        if dtype.is_complex:
            draw = _complex_normals if name == "randn" else _complex_uniforms
            array = draw(size, dtype, generator, place)
        else:
            array = sample(0.0, 1.0, size, dtype, generator, place)
        if out is not None:
            from rushlight.ops.creation.tensors import _write

            return _write(out, make_tensor(array, dtype))
        return finish(array, dtype, device, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    schema = forms.sized(name)
    in_aten(schema, forms.drawn(schema), call=forms.by_size(name))(make)
    transformed = transformable(make)

    @functools.wraps(make)
    def call(*size, **options):
        if "size" in options or not size:
            size = size_of(name, size, options.pop("size", None))
        usual = not options or len(options) == 1 and devices.is_cpu(options.get("device", ""))
        if usual and not stack.levels and (made := plain(size)) is not None:
            return made
        return transformed(*size, **options)

    return call


def _place(device):
    """Where samples for a device are drawn: on a GPU there, else on the CPU."""
    device = devices.as_device(device)
    return device if device.type == "cuda" else devices.cpu


def _complex_normals(size, dtype, generator, device=devices.cpu, mean=0.0, std=1.0):
    """Complex normal samples: either part has this mean and half the variance, one after the
    other."""
    size, real = normalize_size(size), dtype.to_real()
    parts = _normals(mean, std / math.sqrt(2.0), (*size, 2), real, generator, device)
    return parts.view(BY_CODE[dtype.code])[..., 0]


def _complex_uniforms(size, dtype, generator, device=devices.cpu):
    """Complex samples whose parts are uniform on [0, 1), one after the other."""
    parts = _uniforms(0.0, 1.0, (*normalize_size(size), 2), dtype.to_real(), generator, device)
    return parts.view(BY_CODE[dtype.code])[..., 0]


rand = _maker("rand", _uniforms, drawing.UNIFORM, "Uniform samples from [0, 1).")
randn = _maker("randn", _normals, drawing.NORMAL, "Samples from the standard normal distribution.")


@transformable
@in_aten(
    forms.ranged("randint", "SymInt high, SymInt[] size"),
    forms.ranged("randint.low", "SymInt low, SymInt high, SymInt[] size"),
    forms.drawn(forms.ranged("randint", "SymInt high, SymInt[] size")),
    forms.drawn(forms.ranged("randint.low", "SymInt low, SymInt high, SymInt[] size")),
    call=forms.randint,
)
def randint(
    low=None, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None,
    device=None, requires_grad=False, pin_memory=False,
):  # fmt: skip
    """Integers from [low, high); ``randint(high, size)`` starts at 0."""
    only_strided("randint", layout)
    if size is None:
        low, high, size = None, low, high
    if low is None or high is None:  # randint(high, size), by keyword or not
        low, high = 0, low if high is None else high
    low, high = whole_bounds("randint", low, high, size)
    if out is None and (dtype is None or dtype is dtypes.int64):
        made = drawing.whole(low, high, size, generator, device, requires_grad)
        if made is not None:
            return made
    usual = dtypes.int64 if out is None else out._dtype
    dtype = usual if dtype is None else as_dtype(dtype)
    if dtype.category == dtypes.INTEGER:
        _check_holds(dtype, low, high - 1)
    elif dtype.is_complex:
        raise RuntimeError(
            "randint: only integral, floating-point and boolean dtypes have bounds to draw "
            f"between; got {dtype}"
        )
    place = _place(device if out is None else out._device)
    array = _sample(
        lambda e, count, _: e.integers(count, low, high), (size,), dtype, generator, place
    )
    if out is not None:
        from rushlight.ops.creation.tensors import _write

        return _write(out, make_tensor(array, dtype))
    return finish(array, dtype, device, requires_grad)


def whole_bounds(op, low, high, size=()):
    """The bounds of whole samples as Python's numbers, those of tensors of one element, too."""
    if high is None or size is None:
        raise TypeError("randint(): expected high and size, or low, high and size")
    if type(low) is not int or type(high) is not int:
        low, high = as_int(low, "low", op), as_int(high, "high", op)
    if high <= low:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    return low, high


def real_numbers(op, **named):
    """The parameters of a distribution as floats, those of tensors of one element, too."""
    return [float(value) for value in as_numbers(op, **named)]


@transformable
@in_aten(
    forms.ranged("randperm", "SymInt n"),
    forms.drawn(forms.ranged("randperm", "SymInt n")),
    call=lambda n, **named: ("randperm", {"n": n, **forms.options(**named)}),
)
def randperm(
    n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
    pin_memory=False,
):  # fmt: skip
    """A random permutation of 0 .. n-1."""
    only_strided("randperm", layout)
    if as_int(n, "n", "randperm") < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    usual = dtypes.int64 if out is None else out._dtype
    dtype = usual if dtype is None else as_dtype(dtype)
    dtypes.refuse_limited("randperm", dtype)
    engine = _engine(generator, _place(device if out is None else out._device))
    with engine.lock:
        array = drawing.permutation(engine, n)
        if array is not None:
            pass
        elif engine is not default_generator.engine and hasattr(engine, "permutation"):
            array = engine.permutation(n)
        else:
            steps = engine.swap_steps(n)
            from rushlight.kernels.random import (  # with the first shuffle, not the package
                shuffling,
            )

            array = shuffling.permutation(steps) if n else np.empty(0, np.int64)
    array = array.astype(BY_CODE[dtype.code], copy=False)
    if out is not None:
        from rushlight.ops.creation.tensors import _write

        return _write(out, make_tensor(array, dtype))
    return finish(array, dtype, device, requires_grad)


def _shape_for(*values):
    return np.broadcast_shapes(*[v._array.shape for v in values if isinstance(v, Tensor)])


def _normal(mean, std=1.0, size=None, **named):
    """ATen's op, whose `size` stands third."""
    return normal(mean, std, size, **named)


@overridable(as_given=True)
@transformable
@in_aten(
    "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
    "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
    "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
    "normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
    "Tensor",
    call=forms.normal, run={"normal": _normal},
)  # fmt: skip
def normal(
    mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
    requires_grad=False, pin_memory=False,
):  # fmt: skip
    """Normal samples with means and standard deviations given as numbers or tensors."""
    only_strided("normal", layout)
    if size is not None:
        mean, std = _single(mean), _single(std)
    _check_numbers(mean, std)
    if out is None and type(mean) is float and type(std) is float and type(size) is tuple:
        made = drawing.normals(size, dtype, generator, device, requires_grad, mean, std)
        if made is not None:
            return made
    found = [v._dtype for v in (mean, std, out) if isinstance(v, Tensor)]
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError(
                "normal() received an invalid combination of arguments: with numbers for mean and "
                "std it needs a size"
            )
        dtype = _float(dtype or (found[0] if found else None), "normal", True)
        shape = normalize_size((size,))
        if dtype.is_complex:
            array = _complex_normals(shape, dtype, generator, _place(device), mean, std)
        else:
            array = _normals(mean, std, shape, dtype, generator, _place(device))
        made = finish(array, dtype, device, False)
    else:
        dtype = _float(found[0], "normal", True)
        try:
            shape = _shape_for(mean, std)
        except ValueError:
            raise RuntimeError(
                f"normal: the shapes of mean {list(mean.shape)} and std {list(std.shape)} do not "
                "broadcast"
            ) from None
        tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
        device = tensors[0]._device if device is None else device
        draw = _complex_normals if dtype.is_complex else functools.partial(_normals, 0.0, 1.0)
        sample = draw(shape, dtype, generator, _place(device))
        parts = [v.detach() if isinstance(v, Tensor) else v for v in (std, mean)]
        made = (finish(sample, dtype, device, False) * parts[0] + parts[1]).to(dtype)
        for part in (mean, std):
            if isinstance(part, Tensor) and part.requires_grad:
                made = made + part * 0  # the samples do not depend on it, but the graph does
    if out is not None:
        from rushlight.ops.creation.tensors import _write

        return _write(out, made)
    return made.requires_grad_() if requires_grad else made


def _single(value):
    """The number of a tensor without dimensions, which stands for one where a size is given."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() or value.requires_grad:
        raise TypeError(
            "normal() received an invalid combination of arguments: with a size, mean and std must "
            "be numbers, or tensors of no dimensions without gradients, got a tensor of shape "
            f"{list(value.shape)}"
        )
    return value.item()


def _check_numbers(mean, std):
    if not isinstance(mean, Tensor):
        as_numbers("normal", mean=mean)
    if not isinstance(std, Tensor):
        if as_numbers("normal", std=std)[0] >= 0:
            return
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if std._dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if std.numel() and readable(std) and bool((std < 0).any()):
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _bernoulli(self, p=None, **named):
    """ATen's op, whose `p` may be a tensor too."""
    return bernoulli(self, **named) if p is None else BY_VALUE[bernoulli_](self, p, **named)


@overridable(as_given=True)
@transformable
@in_aten(
    "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
    "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
    call=lambda input, p=None, **named: (
        "bernoulli", {"self": input} | ({} if p is None else {"p": p}),
    ),
    run={"bernoulli": _bernoulli},
)  # fmt: skip
def bernoulli(input, p=None, *, generator=None, out=None):
    """0 or 1, with the probabilities in `input` (or `p`)."""
    if not isinstance(input, Tensor):
        raise TypeError(f"bernoulli(): argument 'input' must be Tensor, not {type(input).__name__}")
    if p is None:
        _float(input._dtype, "bernoulli")
        chances = _checked_chances(input._array, input._array.shape)
        if out is None and not input.requires_grad and chances.dtype == np.float32:
            made = drawing.chosen(chances, input, generator)
            if made is not None:
                return made
        draw = _with_chances(chances)
    else:
        draw = _with_chance(p)
    place = _place(input._device)
    array = _sample(draw, (tuple(input._array.shape),), input._dtype, generator, place)
    made = make_tensor(array, input._dtype, input._device)
    if out is not None:
        from rushlight.ops.creation.tensors import _write

        return _write(out, made, (input,))
    return made + input * 0 if input.requires_grad else made


def _with_chance(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return lambda engine, count, _: engine.bernoulli(count, p)


def _checked_chances(chances, shape):
    """One probability for each sample."""
    chances = chances if chances.shape == shape else np.broadcast_to(chances, shape)
    chances = chances.reshape(-1)
    known = type(chances) is np.ndarray  # looking at them would wait for a GPU
    if known and chances.size and not (chances.min() >= 0 and chances.max() <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return chances


def _with_chances(chances):
    """Draws with probabilities: against 53-bit uniforms where they are float64, 24-bit ones
    otherwise."""
    double = chances.dtype == np.float64
    chances = chances.astype(np.float64 if double else np.float32)
    return lambda engine, count, _: engine.uniform(count, double) < chances


@overridable(as_given=True)
@transformable
@in_aten(
    "multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
    "Generator? generator=None) -> "
    "Tensor",
    call=lambda input, num_samples, replacement=False, **named: ("multinomial", {
        "self": input, "num_samples": num_samples, "replacement": replacement,
    }),
)  # fmt: skip
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with the (unnormalised) probabilities in each row of `input`."""
    _check_multinomial(input, num_samples, replacement)
    if out is not None and out._dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out._dtype}")
    again = replacement and num_samples > 1
    rows = input._array.reshape(-1, input.shape[-1])
    if again and input._dtype.itemsize == 2:
        rows = rows.astype(np.float32)  # in which running sums are rounded
    sums = drawn_indices.running_sums(rows) if again else None
    if sums is None:
        rows = rows if again and type(rows) is np.ndarray else rows.astype(np.float64)
        if type(rows) is np.ndarray:  # looking at them would wait for a GPU
            drawn_indices.check(rows)
    engine = _engine(generator, _place(input._device))
    with engine.lock:
        if again:
            found = drawn_indices.with_replacement(engine, rows, num_samples, sums)
        else:
            noise = _noise_like(engine, input, rows.shape)
            found = drawn_indices.largest(rows / noise, num_samples)
    shape = (num_samples,) if input.dim() == 1 else (rows.shape[0], num_samples)
    if type(found) is np.ndarray:
        found = np.ascontiguousarray(found, np.int64)
    made = make_tensor(found.reshape(shape), dtypes.int64)
    if out is not None:
        from rushlight.ops.creation.tensors import _write

        return _write(out, made)
    return made


def _noise_like(engine, input, shape):
    """Exponential samples for rows of this shape, in memory as a tensor like the input is."""
    noise = engine.exponential(math.prod(shape), 1.0)
    like = input if input.is_contiguous() else empty_like(input)
    rows_first = like.dim() == 1 or like.is_contiguous()
    return noise.reshape(shape) if rows_first else noise.reshape(shape[::-1]).T


def _check_multinomial_kinds(input, num_samples, replacement):
    """Refuse arguments of other types than PyTorch takes."""
    if not isinstance(input, Tensor):
        raise argument_error("multinomial", "input", "Tensor", input)
    if type(num_samples) is not int and (
        isinstance(num_samples, bool) or not hasattr(num_samples, "__index__")
    ):
        raise argument_error("multinomial", "num_samples", "int", num_samples)
    if type(replacement) is not bool:
        raise argument_error("multinomial", "replacement", "bool", replacement)


def _check_multinomial(input, num_samples, replacement):
    _check_multinomial_kinds(input, num_samples, replacement)
    if input.dim() not in (1, 2):
        raise RuntimeError(
            f"multinomial: prob_dist must be 1 or 2 dim, got shape {list(input.shape)}"
        )
    if input._dtype.category != FLOAT:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {input._dtype}"
        )
    if num_samples <= 0:
        raise RuntimeError(f"multinomial: cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(
            "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without "
            f"replacement, got {num_samples} of {input.shape[-1]}"
        )
    if not input.shape[-1]:
        raise RuntimeError(f"multinomial: prob_dist is empty: its shape is {list(input.shape)}")


# ----------------------------------------------------------------------------------------- in place
def _fill(self, draw, generator):
    """Fill with samples of ``draw(engine, count, double)``; the old values' gradient is 0."""
    place = _place(self._device)
    return fill_with(self, lambda size: _sample(draw, size, self._dtype, generator, place))


def fill_with(self, sample):
    """Fill with ``sample(size)``, an array; the old values' gradient is 0."""
    from rushlight.ops.creation import conversion

    if stack.levels:
        found = through_levels(fill_with, (self,), (self, sample), {})
        if found is not NotImplemented:
            return found
        importlib.import_module("rushlight.ops._transforms.batching_random").check_fill()
    recording = mode.recording and self._node is not None
    check_writable(self, recording)
    node = None
    if recording:
        fresh = make_tensor(self._array, self._dtype)
        node = record(conversion._fill.op, (self,), [None, 0.0], (fresh,))
    if self._device.type != "meta":
        target = self._array.transpose(_memory_order(self._array))
        target[...] = cast(sample(target.shape), self._dtype.code)
    written(self, node)
    return self


def _memory_order(array):
    """The dimensions from the largest stride to the smallest: the order in which fills go."""
    return tuple(sorted(range(array.ndim), key=lambda d: -abs(array.strides[d])))


def _between(self, from_=0.0, to=1.0, **named):
    low = named.get("from", named.get("a", from_))
    return {"self": self, "from": low, "to": named.get("b", to)}


@draws(
    "uniform_(Tensor(a!) self, float from=0.0, float to=1.0, *, Generator? generator=None) -> "
    "Tensor(a!)",
    by_value="uniform",
    call=_between,
)
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **named):
    """Fill with uniforms from [from, to)."""
    low = named.pop("from", named.pop("a", from_))
    to = named.pop("b", to)
    low, to = float(low), float(to)
    check_uniform(self._dtype.to_real(), low, to)
    if drawing.filled(self, "between", generator, to - low, low):
        return self
    _float(self._dtype, "uniform_", True)
    place = _place(self._device)
    if self._dtype.is_complex:
        real = self._dtype.to_real()
        return fill_with(
            self,
            lambda size: _uniforms(low, to, (*size, 2), real, generator, place).view(
                BY_CODE[self._dtype.code]
            )[..., 0],
        )
    return fill_with(self, lambda size: _uniforms(low, to, size, self._dtype, generator, place))


@draws(
    "normal_(Tensor(a!) self, float mean=0.0, float std=1.0, *, Generator? generator=None) -> "
    "Tensor(a!)",
    by_value="normal_functional",
)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal samples."""
    mean, std = real_numbers("normal_", mean=mean, std=std)
    if not std >= 0:
        raise RuntimeError(f"normal_ expects std >= 0.0, but found std {std}")
    if drawing.filled(self, "normal", generator, float(mean), float(std)):
        return self
    _float(self._dtype, "normal_", True)
    place = _place(self._device)
    if self._dtype.is_complex:
        return fill_with(
            self,
            lambda size: _complex_normals(size, self._dtype, generator, place, mean, std),
        )
    if not self._array.flags.c_contiguous:
        return _fill(self, lambda e, n, _: e.serial_normals(n) * std + mean, generator)
    return fill_with(self, lambda size: _normals(mean, std, size, self._dtype, generator, place))


@draws(
    "bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
    "bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)",
    by_value="bernoulli.p",
)
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with 0 or 1, with probability `p` (a number or a tensor) of 1."""
    dtypes.refuse_limited("bernoulli_", self._dtype)
    if not isinstance(p, Tensor):
        draw = _with_chance(p)
        if drawing.filled(self, "kept", generator, float(p), 1.0):
            return self
        return _fill(self, draw, generator)
    _float(p._dtype, "bernoulli_")
    if stack.levels:
        return self.copy_(bernoulli(p.expand_as(self), generator=generator))
    try:
        chances = np.broadcast_to(p._array, self._array.shape)
    except ValueError:
        raise RuntimeError(
            f"bernoulli_: p of shape {list(p.shape)} does not broadcast to {list(self.shape)}"
        ) from None
    chances = chances.transpose(_memory_order(self._array))
    return _fill(self, _with_chances(_checked_chances(chances, chances.shape)), generator)


@draws(
    "exponential_(Tensor(a!) self, float lambd=1.0, *, Generator? generator=None) -> Tensor(a!)",
    by_value="exponential",
)
def exponential_(self, lambd=1.0, *, generator=None):
    """Fill with exponential samples of rate `lambd`."""
    (lambd,) = real_numbers("exponential_", lambd=lambd)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    _float(self._dtype, "exponential_")
    return _fill(self, lambda e, n, _: e.exponential(n, lambd), generator)


def _among(self, from_=0, to=None):
    if to is not None:
        return {"self": self, "from": from_, "to": to}
    return {"self": self, "to": from_} if from_ else {"self": self}


@draws(
    "random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)",
    "random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)",
    "random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    by_value="random",
    call=_among,
)
def random_(self, from_=0, to=None, *, generator=None):
    """Fill with integers from [from, to); by default up to what the dtype holds exactly."""
    wide = None
    from_ = as_int(from_, "from", "random_")
    if to is None and from_:
        from_, to = 0, from_
    if to is None:
        dtypes.refuse_limited("random_", self._dtype)
        wide = self._dtype.itemsize == 8
        bits = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8}.get(self._dtype.name)
        if bits:
            to = (1 << bits) + 1
        else:
            to = 2 if self._dtype is dtypes.bool_ else dtypes.iinfo(self._dtype).max + 1
    from_, to = whole_bounds("random_", from_, to)
    _check_holds(self._dtype, from_, to - 1)
    return _fill(self, lambda e, n, _: e.integers(n, from_, to, wide), generator)


def _check_holds(dtype, low, high):
    """Refuse bounds that an integer dtype cannot hold."""
    if dtype.category == FLOAT or dtype is dtypes.bool_:
        least, most = (0, 1) if dtype is dtypes.bool_ else (-math.inf, math.inf)
    else:
        limits = dtypes.iinfo(dtype)
        least, most = limits.min, limits.max
    for word, value in (("from", low), ("to - 1", high)):
        if not least <= value <= most:
            raise RuntimeError(f"{word} is out of bounds for {dtype}: {value}")


Tensor.uniform_, Tensor.normal_, Tensor.exponential_ = uniform_, normal_, exponential_
Tensor.random_, Tensor.bernoulli_, Tensor.bernoulli = random_, bernoulli_, bernoulli
Tensor.multinomial = multinomial
