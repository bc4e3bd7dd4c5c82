"""Inner modules of PyTorch that libraries import: they are there, and do what they do there."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
from pathlib import Path

import pytest

import rushlight
from rushlight.compat.paths import module_behind

torch = pytest.importorskip("torch")
PAIR = (rushlight, torch)
# A private file of ours whose name PyTorch gives to something else.
OTHERS = {"torch.onnx._constants"}


def private_modules():
    """The modules of ours with a private part in their names that PyTorch has as well."""
    root = Path(rushlight.__file__).parent
    for file in sorted(root.rglob("*.py")):
        path = file.relative_to(root).with_suffix("").parts
        path = path[:-1] if path[-1] == "__init__" else path
        if any(part.startswith("_") and not part.startswith("__") for part in path):
            name = ".".join(("torch", *path))
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
                yield name


def test_private_modules_of_pytorchs_names_are_found_under_them():
    found = {name: module_behind(name) for name in private_modules() if name not in OTHERS}
    assert len(found) > 20
    assert [name for name, home in found.items() if home is None] == []


def module_pair(name):
    """A module of both libraries."""
    ours = importlib.import_module(module_behind(f"torch.{name}"))
    return ours, importlib.import_module(f"torch.{name}")


def outcome(function):
    """A result, or the kind of its error."""
    try:
        return function()
    except Exception as error:
        return type(error)


def traced(home, kind="_DecoratorContextManager"):
    """A decorating manager of a library's class, and what it has written down."""
    seen = []

    class Manager(getattr(home, kind)):
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *exc):
            seen.append(f"out {exc[0] and exc[0].__name__}")

    return Manager, seen


def run_generator(home):
    """A decorated generator that is sent a value, thrown an error, and closed."""
    Manager, seen = traced(home)

    @Manager()
    def numbers():
        try:
            for i in itertools.count():
                try:
                    seen.append((yield i))
                except KeyError:
                    seen.append("caught")
        finally:
            seen.append("closed")

    generator = numbers()
    seen += [next(generator), generator.send("x"), generator.throw(KeyError("k"))]
    generator.close()
    return seen


def run_function(home, kind="_DecoratorContextManager"):
    """A decorated function that ends, and one that raises."""
    Manager, seen = traced(home, kind)
    manage = Manager() if kind == "_DecoratorContextManager" else Manager
    seen.append(manage(lambda x: x + 1)(1))
    seen.append(outcome(manage(lambda: {}["a"])))
    return seen


@pytest.mark.parametrize(
    "run",
    [
        run_generator,
        run_function,
        lambda home: run_function(home, "_NoParamDecoratorContextManager"),
        lambda home: outcome(lambda: home._DecoratorContextManager().__enter__()),
        lambda home: outcome(lambda: home.context_decorator(contextlib.nullcontext, len)),
        lambda home: outcome(lambda: home.context_decorator(lambda: None, dict)),
        lambda home: home.context_decorator(lambda: contextlib.suppress(KeyError), {}.pop)("a"),
    ],
)
def test_decorating_managers(run):
    ours, theirs = map(run, module_pair("utils._contextlib"))
    assert ours == theirs


def test_a_decorated_class_is_made_inside_of_the_manager():
    for home in module_pair("utils._contextlib"):
        Manager, seen = traced(home)
        first = {"__init__": lambda self, seen=seen: seen.append("made")}
        with pytest.warns(FutureWarning):
            made = Manager()(type("K", (), first))
        made()
        assert seen == ["in", "made", "out None"]


def test_what_is_thrown_into_a_generator_without_gradients_reaches_it():
    for home in PAIR:
        seen = []

        @home.no_grad()
        def steps(home=home, seen=seen):
            try:
                yield home.is_grad_enabled()
            except KeyError:
                seen.append(home.is_grad_enabled())
                yield "caught"

        generator = steps()
        seen += [next(generator), generator.throw(KeyError("k")), home.is_grad_enabled()]
        assert seen == [False, False, "caught", True]


GROUPED = {
    "two dtypes": [["f", "d", "f"], ["f", "d", "f"]],
    "steps": [["d", "f"], ["f", "f"]],
    "mixed precision": [["f"], ["b"]],
    "an empty list": [["f", "f"], []],
    "none behind the first": [["f", "d"], [None, "d"]],
    "none in the first": [[None], ["f"]],
    "no lists": [],
    "no tensors": [[]],
    "lengths": [["f", "f"], ["f"]],
    "dtypes apart": [["f"], ["i"]],
}


@pytest.mark.parametrize("name", GROUPED)
def test_tensors_grouped_by_device_and_dtype(name):
    letters = {"f": "float32", "d": "float64", "b": "bfloat16", "i": "int32"}

    def found(home, module):
        def tensor(letter, number):
            dtype = letter and getattr(home, letters[letter])
            return letter and home.full((1,), number, dtype=dtype)

        lists = [[tensor(x, i) for i, x in enumerate(each)] for each in GROUPED[name]]
        groups = module._group_tensors_by_device_and_dtype(lists, with_indices=True)
        return {
            (str(device), str(dtype)): (
                [[x if x is None else float(x) for x in each] for each in own],
                positions,
            )
            for (device, dtype), (own, positions) in groups.items()
        }

    pairs = zip(PAIR, module_pair("utils._foreach_utils"), strict=True)
    ours, theirs = [outcome(lambda pair=pair: found(*pair)) for pair in pairs]
    if isinstance(ours, dict):
        ours = {(kind[0], kind[1].replace("rushlight", "torch")): v for kind, v in ours.items()}
    assert ours == theirs


def test_devices_of_functions_over_many_tensors():
    for home, module in zip(PAIR, module_pair("utils._foreach_utils"), strict=True):
        plain, derived = [home.ones(1), None], home.nn.Parameter(home.ones(1))
        assert not module._has_foreach_support([derived], home.device("cpu"))
        assert module._has_foreach_support(plain, home.device("cpu"))
        assert not module._has_foreach_support([3], home.device("cpu"))
        assert module._device_has_foreach_support(home.device("cpu"))
        assert not module._device_has_foreach_support(home.device("meta"))


def tracked(home, module):
    """What a tracker says in the forward and backward of a network with two inputs."""
    tracker, seen = module.ModuleTracker(), []

    class Both(home.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return grad

    class Layer(home.nn.Module):
        def forward(self, x):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return Both.apply(x)

    net = home.nn.Sequential(home.nn.Linear(2, 2), Layer(), home.nn.Sequential(Layer()))
    for needs in (True, False):
        with tracker:
            net(home.ones(1, 2, requires_grad=needs)).sum().backward()
            seen.append((sorted(tracker.parents), tracker.is_bw))
    net(home.ones(1, 2))
    return seen


def test_module_tracker():
    ours, theirs = itertools.starmap(
        tracked, zip(PAIR, module_pair("utils.module_tracker"), strict=True)
    )
    assert ours == theirs
    assert (["Global", "Sequential", "Sequential.2", "Sequential.2.0"], True) in ours


def members(home, module):
    """What becomes of a layer whose tensors are swapped."""
    layer, one = home.nn.Linear(2, 1), home.ones(1, 2)
    seen = [tuple(module.swap_tensor(layer, "weight", one).shape), list(layer._parameters)]
    mark = module.swap_tensor(layer, "new", one, allow_missing=True)
    seen += [hasattr(layer, "new"), layer(one).shape[0], float(layer.weight.sum())]
    module.swap_tensor(layer, "new", mark)
    seen.append(hasattr(layer, "new"))
    for call in (
        lambda: module.swap_tensor(layer, "nope", one),
        lambda: module.swap_tensor(layer, "weight", 3),
        lambda: module.swap_tensor(layer, "forward", one, True),
        lambda: module.swap_tensor(layer, "a.b", one, True),
        lambda: module.swap_tensor(layer, "", one, True),
        lambda: module.swap_tensor(3, "a", one),
        lambda: module.swap_submodule(layer, "a", layer),
    ):
        seen.append(outcome(call))
    return seen


def accessed(home, module):
    """What an accessor reads and changes."""
    net = home.nn.Sequential(home.nn.Linear(2, 1), home.nn.BatchNorm1d(1))
    access = module.NamedMemberAccessor(net)
    one = home.ones(1, 2)
    before, missing = access.swap_tensors_dict({"0.weight": one, "0.new": one}, allow_missing=True)
    seen = [sorted(before), missing, float(access.get_tensor("0.weight").sum())]
    access.swap_tensors_dict(before, allow_missing=True)
    seen.append(hasattr(net[0], "new"))
    weights = access.get_tensors(["0.weight", "0.bias"])
    seen.append(outcome(lambda: access.swap_tensors_dict({"0.weight": one, "0.none": one})))
    seen.append(net[0].weight is weights[0])
    access.del_tensor("0.bias")
    seen += ["bias" in net[0]._parameters, [list(k) for k in access.check_keys(["0.weight", "x"])]]
    seen.append(type(access.swap_submodule("1", home.nn.Identity())).__name__)
    return [*seen, outcome(lambda: access.get_tensor("0.nope"))]


@pytest.mark.parametrize("run", [members, accessed])
def test_members_by_name(run):
    pairs = zip(PAIR, module_pair("nn.utils._named_member_accessor"), strict=True)
    ours, theirs = itertools.starmap(run, pairs)
    assert ours == theirs


@pytest.mark.parametrize(
    "text",
    [
        "home.utils.data._utils.worker._generate_state(12345678901234, 3)",
        "home.nn.modules.utils._reverse_repeat_tuple((1, 2), 2)",
        "home.nn.modules.utils._list_with_default([None, 3], [1, 2, 5])",
        "home.nn.modules.utils._list_with_default(4, [1, 2, 5])",
        "home.nn.modules.utils._list_with_default([None, 3], [1])",
        "home.distributions.transforms._clipped_sigmoid(home.tensor([-200., 0., 200.])).tolist()",
        "isinstance(home.ones(1), home._ops.HigherOrderOperator)",
        "isinstance(home.ops.aten.add.Tensor, home._ops.OpOverload)",
        "home._guards.detect_fake_mode([home.ones(1)])",
        "home._guards.active_fake_mode(), home._guards.TracingContext.try_get()",
        "home._guards.TracingContext.get()",
        "type(home.nn.Parameter) is home.nn.parameter._ParameterMeta",
        "isinstance(home.ones(1), home.TensorType)",
        "home._utils._element_size(home.float64), home._utils._get_available_device_type()",
        "home._utils._element_size(3)",
        "home._utils._flatten_dense_tensors([home.eye(2), home.ones(3)]).tolist()",
        "[t.tolist() for t in home._utils._unflatten_dense_tensors("
        "home.arange(5), [home.eye(2), home.ones(1)])]",
        "[[t.numel() for t in part] for part in home._utils._take_tensors("
        "[home.ones(n, dtype=d) for n in (2, 3, 9, 1) for d in (home.float32, home.int64)], 24)]",
        "repr(home.DictType(home.StringType.get(), home.ListType(home.IntType.get())))",
        "repr(home.TupleType([home.OptionalType(home.TensorType.get()), home.AnyType.get()]))",
        "home.ListType(home.IntType.get()) == home.ListType(home.IntType.get())",
        "home.ListType(home.IntType.get()) == home.ListType(home.FloatType.get())",
        "home.ListType(home.IntType.get()).getElementType() == home.IntType.get()",
        "home.IntType()",
        *(
            f"(home.{kind}Type.get().annotation_str, home.{kind}Type.get().kind())"
            for kind in "Any Bool Complex DeviceObj Float Int None Number PyObject StreamObj "
            "String SymBool SymInt Tensor".split()
        ),
    ],
)
def test_small_names(text):
    import torch.utils.data._utils.worker  # noqa: F401 - for the names in `text`

    ours, theirs = (outcome(lambda home=home: eval(text, {"home": home})) for home in PAIR)  # noqa: S307
    assert ours == theirs


@pytest.mark.parametrize(
    "name", ["quint4x2", "quint2x4", "per_tensor_symmetric", "per_channel_affine_float_qparams"]
)
def test_names_of_quantized_tensors_refuse(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(rushlight, name).anything  # noqa: B018 - the attribute is what refuses
    with pytest.raises(NotImplementedError, match="custom_op"):
        rushlight._ops.HigherOrderOperator("scan")
