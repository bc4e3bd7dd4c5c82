"""Operators of one's own against PyTorch's: the same program on either library."""

import uuid
from collections.abc import Sequence

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def numbers(lib):
    return lib.tensor([0.5, -1.0, 2.0])


def scaled(lib, **options):
    """A new operator ``x * by``."""

    def scale(x, by=2.0):
        return x * by

    scale.__annotations__ = {"x": lib.Tensor, "by": float, "return": lib.Tensor}
    options = {"mutates_args": (), **options}
    return lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", scale, **options)


def plain(value):
    if isinstance(value, rushlight.Tensor | torch.Tensor):
        dtype = str(value.dtype).split(".")[-1]
        if value.device.type == "meta":
            return dtype, tuple(value.shape)
        return dtype, np.round(value.double().detach().numpy(), 6).tolist()
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value


def outcome(program, lib):
    try:
        return plain(program(lib))
    except Exception as error:  # noqa: BLE001 - its kind is compared
        return type(error).__name__


def agree(program):
    assert outcome(program, rushlight) == outcome(program, torch)


ANNOTATIONS = {
    "int": lambda lib: int,
    "str": lambda lib: str,
    "dtype": lambda lib: lib.dtype,
    "device": lambda lib: lib.device,
    "optional tensor": lambda lib: lib.Tensor | None,
    "tensors": lambda lib: list[lib.Tensor],
    "sequence of tensors": lambda lib: Sequence[lib.Tensor],
    "optional tensors": lambda lib: list[lib.Tensor] | None,
    "tensors or None": lambda lib: list[lib.Tensor | None],
    "ints": lambda lib: list[int],
    "optional ints": lambda lib: Sequence[int] | None,
    "strings": lambda lib: list[str],
    "floats": lambda lib: Sequence[float],
    "number": lambda lib: int | float | bool,
    "pair": lambda lib: tuple[int, int],
    "dict": lambda lib: dict,
    "nested": lambda lib: list[list[int]],
}
DEFAULTS = {
    "int": lambda lib: 3,
    "float": lambda lib: 1.5,
    "text": lambda lib: "abc",
    "None": lambda lib: None,
    "dtype": lambda lib: lib.float32,
    "device": lambda lib: lib.device("cpu"),
    "layout": lambda lib: lib.strided,
    "list": lambda lib: [1, 2],
}


def inferred(lib, argument, result=None, default=None, writes=()):
    def function(x, y=default):
        return x

    if default is None:

        def function(x, y):
            return x

    function.__annotations__ = {"x": lib.Tensor, "y": argument, "return": result or lib.Tensor}
    return lib.library.infer_schema(function, mutates_args=writes)


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_of_arguments(name):
    agree(lambda lib: inferred(lib, ANNOTATIONS[name](lib)))
    agree(lambda lib: inferred(lib, ANNOTATIONS[name](lib), writes={"y"}))


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_annotations_of_results(name):
    agree(lambda lib: inferred(lib, int, ANNOTATIONS[name](lib)))
    agree(lambda lib: inferred(lib, int, tuple[ANNOTATIONS[name](lib), lib.Tensor]))


@pytest.mark.parametrize("kind", ["int", "dtype", "device", "str"])
@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name, kind):
    agree(lambda lib: inferred(lib, ANNOTATIONS[kind](lib), default=DEFAULTS[name](lib)))


def test_a_default_dtype_reaches_the_function():
    def program(lib):
        cpu = lib.device("cpu")

        def cast(x, dtype=lib.float64, device=cpu):
            return x.to(dtype=dtype, device=device, copy=True)

        cast.__annotations__ = {"x": lib.Tensor, "dtype": lib.dtype, "device": lib.device,
                                "return": lib.Tensor}  # fmt: skip
        op = lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", cast, mutates_args=())
        return op(numbers(lib)), op(numbers(lib), lib.float16)

    agree(program)


def test_mutates_args_is_no_single_name():
    agree(lambda lib: scaled(lib, mutates_args="x"))


RESULTS = {
    "a tensor for nothing": (None, lambda x: x * 1),
    "nothing for a tensor": ("Tensor", lambda x: None),
    "a number for a tensor": ("Tensor", lambda x: 3),
    "a tensor for an int": (int, lambda x: x * 1),
    "one for two": (tuple, lambda x: x * 1),
    "a list for two": (tuple, lambda x: [x * 1, x * 2]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_what_the_schema_says(name):
    def program(lib):
        kind, function = RESULTS[name]
        kinds = {"Tensor": lib.Tensor, tuple: tuple[lib.Tensor, lib.Tensor]}

        def op(x):
            return function(x)

        op.__annotations__ = {"x": lib.Tensor, "return": kinds.get(kind, kind)}
        made = lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", op, mutates_args=())
        return made(numbers(lib))

    agree(program)


def test_trailing_options_need_no_gradient():
    def program(lib):
        op = scaled(lib)
        op.register_autograd(lambda ctx, grad: grad * 7)
        x = numbers(lib).requires_grad_()
        op(x).sum().backward()
        return x.grad

    agree(program)


def test_needs_input_grad_lies_as_the_arguments_do():
    def program(lib):
        def product(xs, y):
            return xs[0] * xs[1] * y

        product.__annotations__ = {"xs": list[lib.Tensor], "y": lib.Tensor, "return": lib.Tensor}
        op = lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", product, mutates_args=())
        seen = []

        def setup(ctx, inputs, output):
            ctx.save_for_backward(*inputs[0], inputs[1])

        def backward(ctx, grad):
            seen.append([list(ctx.needs_input_grad[0]), ctx.needs_input_grad[1]])
            a, b, y = ctx.saved_tensors
            return [grad * b * y if ctx.needs_input_grad[0][0] else None, None], grad * a * b

        op.register_autograd(backward, setup_context=setup)
        x = numbers(lib).requires_grad_()
        op([x, numbers(lib) * 2], numbers(lib) * 3).sum().backward()
        return seen, x.grad

    agree(program)


def test_autocast_leaves_double_precision():
    def program(lib):
        op = scaled(lib)
        op.register_autocast("cpu", lib.float16)
        x = numbers(lib)
        with lib.autocast("cpu", dtype=lib.bfloat16):
            return op(x), op(x.double()), op(x.bfloat16())

    agree(program)


@pytest.mark.parametrize(
    "register",
    [
        lambda op: op.register_autocast("abc", None),
        lambda op: op.register_kernel("abc", lambda x, by: x),
    ],
)
def test_devices_that_do_not_exist(register):
    agree(lambda lib: register(scaled(lib)))


def test_an_operator_that_only_writes_needs_no_fake():
    def program(lib):
        def double(x):
            x.mul_(2)

        double.__annotations__ = {"x": lib.Tensor, "return": None}
        op = lib.library.custom_op(f"parity::op{uuid.uuid4().hex}", double, mutates_args={"x"})
        return op(numbers(lib).to("meta"))

    agree(program)


def made(lib, key, schema="(Tensor self, Tensor other) -> Tensor"):
    name = "op" + uuid.uuid4().hex
    library = lib.library.Library("parity", "FRAGMENT")
    KEPT.append(library)
    library.define(name + schema)
    library.impl(name, lambda a, b: a - b, key)
    return getattr(lib.ops.parity, name)


KEPT = []


def test_arguments_called_self():
    agree(lambda lib: made(lib, "CPU")(self=numbers(lib), other=numbers(lib) * 2))


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"])
def test_kernels_on_the_meta_device(key):
    agree(lambda lib: made(lib, key)(numbers(lib).to("meta"), numbers(lib).to("meta")))


def library(lib, kind="FRAGMENT", namespace="parity"):
    KEPT.append(lib.library.Library(namespace, kind))
    return KEPT[-1]


DEFINITIONS = {
    "another namespace": lambda lib: library(lib).define("another::name(Tensor x) -> Tensor"),
    "an unknown type": lambda lib: library(lib).define("name(Foo x) -> Tensor"),
    "reserved": lambda lib: library(lib, namespace="prim"),
    "no function": lambda lib: library(lib).impl("name", 3, "CPU"),
    "a number": lambda lib: lib.library.define(3, "(Tensor x) -> Tensor"),
    "no arguments": lambda lib: lib.library.define("parity::name", "Tensor x"),
    "no namespace": lambda lib: lib.library.define("name", "(Tensor x) -> Tensor"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions(name):
    agree(DEFINITIONS[name])


def test_a_definition_gives_back_the_name_as_it_was_written():
    found = library(rushlight)
    assert found.define("parity::whole(Tensor x) -> Tensor") == "parity::whole"
    assert found.define("part(Tensor x) -> Tensor") == "part"


def test_names_as_text():
    def program(lib):
        op = lib.ops.aten.add
        return repr(op), str(op), repr(op.Tensor), str(op.Tensor)

    agree(program)


def test_what_a_schema_says_of_its_arguments():
    def program(lib):
        op = made(lib, "CPU", "(Tensor self, Tensor other, *, float by=1.5, str? s=None) -> Tensor")
        schema = op.default._schema
        return (
            schema.overload_name,
            schema.is_mutable,
            [
                (a.name, a.kwarg_only, a.has_default_value(), a.default_value)
                for a in schema.arguments
            ],
        )

    agree(program)


def test_tags_are_kept():
    name = "parity::op" + uuid.uuid4().hex
    tag = rushlight.Tag.pt2_compliant_tag
    rushlight.library.define(name, "(Tensor x) -> Tensor", tags=tag)
    assert getattr(rushlight.ops.parity, name.split("::")[1]).default.tags == [tag]
    assert scaled(rushlight, tags=(tag,))._opoverload.tags == [tag]
    assert all(int(getattr(torch.Tag, t.name)) == t.value for t in rushlight.Tag)


def test_the_former_name_of_register_fake_warns():
    op = scaled(rushlight)
    with pytest.warns(FutureWarning, match="register_fake"):
        rushlight.library.impl_abstract(op._qualname, lambda x, by: rushlight.empty_like(x))
    assert op(numbers(rushlight).to("meta")).shape == (3,)
    op.register_vmap(lambda info, dims, x, by: x)
    with pytest.raises(RuntimeError, match="two returns"):
        rushlight.vmap(op)(rushlight.ones(2, 3))


@pytest.mark.parametrize("key", ["CPU", "cpu", "default", "CompositeExplicitAutograd"])
@pytest.mark.parametrize("way", ["impl", "several", "Library", "register_kernel"])
def test_implementations_may_come_before_the_operator(way, key):
    def program(lib):
        name = "parity::op" + uuid.uuid4().hex

        def three(x):
            return x * 3

        if way == "impl":
            lib.library.impl(name, key, three)
        elif way == "several":
            lib.library.impl(name, ["MPS", key, "xpu"])(three)
        elif way == "Library":
            library(lib).impl(name.partition("::")[2], three, "CPU" if key.islower() else key)
        else:
            lib.library.register_kernel(name, "cpu", three)
        packet = name.partition("::")[2]
        assert not hasattr(lib.ops.parity, packet)
        lib.library.define(name, "(Tensor x) -> Tensor")
        return getattr(lib.ops.parity, packet)(numbers(lib))

    agree(program)


@pytest.mark.parametrize("part", ["register_fake", "register_autograd", "register_vmap"])
def test_other_parts_need_the_operator(part):
    for lib in (rushlight, torch):
        with pytest.raises((RuntimeError, AttributeError)):
            getattr(lib.library, part)("parity::nowhere", lambda *values: values)
