"""Tracing of programs: nodes, code and text as PyTorch's, and values as the program's."""

import copy
import operator
import pickle
import sys
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import fx

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import rows, same_graphs, same_values, traced  # noqa: E402
from programs import checked, functions, models  # noqa: E402

MODELS, FUNCTIONS = sorted(models(rushlight)), sorted(functions(rushlight))
# Programs with functions that PyTorch names otherwise in code: in C++ modules, or with defaults.
OTHER_CODE = {"layers", "unpacked"}


def program(library, name):
    return models(library)[name][0] if name in MODELS else functions(library)[name]


@pytest.mark.parametrize("name", MODELS + FUNCTIONS)
def test_graph_and_code_are_pytorchs(name):
    theirs, ours = traced(torch, program(torch, name)), traced(rushlight, program(rushlight, name))
    same_graphs(theirs, ours)
    if name not in OTHER_CODE:
        source = ours.python_code("self").src
        assert source.replace("rushlight", "torch") == theirs.python_code("self").src
        assert str(ours).replace("rushlight", "torch") == str(theirs)
    ours.lint()


@pytest.mark.parametrize("name", MODELS)
def test_traced_model_computes_the_same(name):
    model, shapes = models(rushlight)[name]
    rushlight.manual_seed(1)
    inputs = [
        rushlight.randint(0, 11, (2, 6)) if shape == "tokens" else rushlight.randn(shape)
        for shape in shapes
    ]
    model.eval()
    module = fx.symbolic_trace(model)
    wanted = model(*inputs)
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert each.code == module.code and rows(each.graph) == rows(module.graph)
        same_values(each(*inputs), wanted, 1e-6)
    same_values(fx.Interpreter(module).run(*inputs), wanted, 1e-6)
    assert not module.training and [*module.state_dict()] <= [*model.state_dict()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_function_computes_the_same(name):
    function = functions(rushlight)[name]
    x = rushlight.arange(16.0).reshape(4, 4) - 5.5
    args, kwargs = ((x, x) if name == "names" else ()), {}
    args = (x, *args)
    if name == "everything":
        args, kwargs = (x, 2 * x), {"scale": 3.0}
    module = fx.symbolic_trace(function)
    found, wanted = module(*args, **kwargs), function(*args, **kwargs)
    assert type(found) is type(wanted)
    if isinstance(wanted, (tuple, dict)):
        pairs = zip(list(found), list(wanted), strict=True)
        assert all(type(a) is type(b) for a, b in pairs)
    if name not in ("attributes", "constants", "structured"):
        same_values(found, wanted)
    else:
        assert repr(found) == repr(wanted)


def test_training_reaches_the_parameters_of_the_model():
    model = rushlight.nn.Sequential(rushlight.nn.Linear(3, 2), rushlight.nn.ReLU())
    module = fx.symbolic_trace(model)
    module(rushlight.ones(4, 3)).sum().backward()
    assert dict(module.named_parameters())["0.weight"] is model[0].weight
    assert model[0].weight.grad is not None


CONTROL = {
    "if": (lambda x: 1 if x.sum() > 0 else 2, "control flow"),
    "and": (lambda x: x and 2, "control flow"),
    "for": (lambda x: [item for item in x], "iterated"),
    "star": (lambda x: max(*x), "iterated"),
}


@pytest.mark.parametrize("name", CONTROL)
def test_control_flow_is_refused_with_the_line(name):
    function, text = CONTROL[name]
    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(function)
    with pytest.raises(fx.proxy.TraceError, match=text) as caught:
        fx.symbolic_trace(function)
    assert isinstance(caught.value, ValueError)
    assert f"{Path(__file__).name}:{function.__code__.co_firstlineno}" in str(caught.value)


REFUSED = {
    "length": lambda x: len(x),
    "a key": lambda x: {x: 1},
    "an object": lambda x: x.method(object()),
    "an index": lambda x: [1, 2][x],
    "an int": lambda x: int(x),
    "a range": lambda x: range(x),
    "a Python function": lambda x: "a" in x,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_values_can_do_is_refused_alike(name):
    function = REFUSED[name]
    with pytest.raises(Exception) as theirs:
        torch.fx.symbolic_trace(function)
    with pytest.raises(Exception) as ours:
        fx.symbolic_trace(function)
    assert type(ours.value).__name__ == type(theirs.value).__name__


def concrete(library):
    def two(x, flag, scale=1.0):
        return x * scale if flag else x + 1

    def nested(x, pair):
        return {"sum": x["a"] + pair[0], "rest": [x["b"], pair[1]]}

    class Choosing(library.nn.Module):
        def forward(self, x, mode):
            return x + 1 if mode is None else x * 2

    ph = library.fx.PH
    return [
        (two, {"flag": True}),
        (two, {"flag": False, "scale": 2.0}),
        (nested, {"x": {"a": ph, "b": 3}, "pair": (ph, ph)}),
        (Choosing(), {"mode": None}),
        (two, (ph, True, 4)),
    ]


@pytest.mark.parametrize("case", range(5))
def test_concrete_arguments(case):
    (theirs, given), (ours, ours_given) = concrete(torch)[case], concrete(rushlight)[case]
    theirs = torch.fx.symbolic_trace(theirs, concrete_args=given)
    module = fx.symbolic_trace(ours, concrete_args=ours_given)
    same_graphs(theirs.graph, module.graph)
    assert module.code.replace("rushlight", "torch") == theirs.code


def test_concrete_structures_are_run_and_kept():
    nested, given = concrete(rushlight)[2]
    module = fx.symbolic_trace(nested, concrete_args=given)
    a, b, c = (rushlight.full((2,), float(i)) for i in range(3))
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        found = each({"a": a, "b": 3}, (b, c))
        assert found.keys() == {"sum", "rest"}
        same_values(found, nested({"a": a, "b": 3}, (b, c)))
        with pytest.raises(AssertionError, match="specialized to have value 3"):
            each({"a": a, "b": 4}, (b, c))
    same_values(
        fx.Interpreter(module).run({"a": a, "b": 3}, (b, c)), module({"a": a, "b": 3}, (b, c))
    )


def test_other_values_than_the_concrete_ones_are_refused():
    function, given = concrete(rushlight)[0]
    module = fx.symbolic_trace(function, concrete_args=given)
    x = rushlight.ones(2)
    same_values(module(x, True, 3.0), function(x, True, 3.0))
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        module(x, False, 3.0)


def test_parameters_as_proxies_know_their_shape():
    class Sized(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = rushlight.nn.Parameter(rushlight.ones(3, 2))

        def forward(self, x):
            return x * 2 if self.weight.shape[0] == 3 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Sized())
    assert [n.op for n in graph.nodes] == ["placeholder", "get_attr", "call_function", "output"]
    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(Sized())


def test_asserts_are_written_down_if_asked_for():
    tracer = fx.Tracer()
    tracer.trace_asserts = True
    module = fx.GraphModule(rushlight.nn.Module(), tracer.trace(checked))
    assert module(rushlight.ones(2)).sum() == 2
    with pytest.raises(AssertionError):
        module(-rushlight.ones(2))
    with pytest.raises(fx.proxy.TraceError):
        fx.Tracer().trace(checked)


def test_nothing_stays_patched():
    module_type = rushlight.nn.Module
    before = module_type.__call__, module_type.__getattr__, rushlight.zeros, dict(vars(rushlight))
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(CONTROL["if"][0])
    fx.symbolic_trace(rushlight.nn.Linear(2, 2))
    after = module_type.__call__, module_type.__getattr__, rushlight.zeros, dict(vars(rushlight))
    assert before == after
    assert not fx._symbolic_trace.is_fx_tracing()


def test_import_is_late():
    import subprocess

    code = "import sys, rushlight; print('rushlight.fx' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_operators_of_tensors_reach_the_proxy():
    class Held(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", rushlight.arange(6.0).reshape(3, 2))

        def forward(self, x):
            return self.table[x], self.table[0, x], self.table[: x.size(0)] + x[:, None]

    module, x = fx.symbolic_trace(Held()), rushlight.tensor([1, 0, 1])
    methods = [n.target for n in module.graph.nodes if n.op == "call_method"]
    assert methods == ["__getitem__", "__getitem__", "size", "__getitem__"]
    same_values(module(x), Held()(x))


def test_class_that_is_not_patched_keeps_its_warning():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        fx.symbolic_trace(lambda x, y: x, concrete_args={"y": object()})
    assert any("Was not able to add assertion" in str(w.message) for w in seen)


def test_proxies_of_an_existing_graph_add_to_it():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))
    y = rushlight.relu(x) + 1
    graph.output(y.node)
    assert [n.target for n in graph.nodes][1:3] == [rushlight.relu, operator.add]
    module = fx.GraphModule({}, graph)
    same_values(module(rushlight.tensor([-1.0, 1.0])), rushlight.tensor([1.0, 2.0]))


def test_what_is_not_there_can_be_imported_and_says_so():
    from rushlight.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

    with pytest.raises(NotImplementedError, match="fx.symbolic_trace"):
        ProxyTorchDispatchMode()
    with pytest.raises(NotImplementedError, match="fx.Nothing"):
        fx.Nothing()
    with pytest.raises(NotImplementedError, match="fx.passes"):
        fx.passes.pass_of_a_later_version()


def test_a_model_that_counts_keeps_its_buffer():
    """PyTorch leaves a proxy in it."""

    class Counting(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", rushlight.zeros((), dtype=rushlight.int64))

        def forward(self, x):
            self.seen += x.shape[0]
            return x * 2

    model = Counting()
    graph_module = fx.symbolic_trace(model)
    assert type(model.seen) is rushlight.Tensor
    assert type(graph_module.seen) is rushlight.Tensor
    x = rushlight.ones(3, 2)
    assert rushlight.equal(graph_module(x), x * 2)
    assert model.seen.item() == 3


def test_what_is_no_function_is_refused():
    for library in (torch, rushlight):
        with pytest.raises(AssertionError, match="Expected FunctionType, got <class 'int'>"):
            library.fx.symbolic_trace(3)
