"""Tracers as libraries write them: leaves by class, paths of nodes, features of inner layers."""

import math
import sys
from collections import OrderedDict
from pathlib import Path

import pytest

import rushlight
from rushlight import fx, nn

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import rows, same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402


def by_class(library):
    class LeafModuleAwareTracer(library.fx.Tracer):
        def __init__(self, *args, **kwargs):
            self.leaf_modules = {}
            if "leaf_modules" in kwargs:
                self.leaf_modules = kwargs.pop("leaf_modules")
            super().__init__(*args, **kwargs)

        def is_leaf_module(self, m, module_qualname):
            if isinstance(m, tuple(self.leaf_modules)):
                return True
            return super().is_leaf_module(m, module_qualname)

    class NodePathTracer(LeafModuleAwareTracer):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.current_module_qualname = ""
            self.node_to_qualname = OrderedDict()

        def call_module(self, m, forward, args, kwargs):
            old = self.current_module_qualname
            try:
                module_qualname = self.path_of_module(m)
                self.current_module_qualname = module_qualname
                if not self.is_leaf_module(m, module_qualname):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", module_qualname, args, kwargs)
            finally:
                self.current_module_qualname = old

        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *rest):
            proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr)
            self.node_to_qualname[proxy.node] = f"{self.current_module_qualname}.{proxy.node}"
            return proxy

    return NodePathTracer


@pytest.mark.parametrize("name", ["ResNet", "MobileNet", "Transformer"])
def test_paths_of_nodes_are_pytorchs(name):
    found = []
    for library in (torch, rushlight):
        model = models(library)[name][0]
        kinds = [type(m) for m in model.modules() if type(m).__name__ in ("Residual", "Attention")]
        tracer = by_class(library)(leaf_modules=kinds)
        graph = tracer.trace(model)
        paths = {node.name: path for node, path in tracer.node_to_qualname.items()}
        found.append((graph, paths))
    same_graphs(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_features_of_inner_layers():
    """What torchvision's feature extraction does: new outputs, dead code removed."""
    model = models(rushlight)["ResNet"][0].eval()
    graph = by_class(rushlight)().trace(model)
    module = fx.GraphModule(model, graph)
    inner = {n.name: n for n in graph.nodes}["layer1_1_relu_1"]
    old = graph.output_node()
    graph.erase_node(old)
    with graph.inserting_after(next(iter(reversed(graph.nodes)))):
        graph.output({"feature": inner})
    graph.eliminate_dead_code()
    module.recompile()
    module.delete_all_unused_submodules()
    x = rushlight.randn(1, 3, 16, 16)
    found = module(x)["feature"]
    same_values(found, model.layer1(model.maxpool(model.conv1(x))), 1e-5)
    assert "fc" not in dict(module.named_modules())


def test_module_stack_names_the_modules_around_a_node():
    metas = []
    for library in (torch, rushlight):
        model = models(library)["ResNet"][0]
        graph = library.fx.Tracer().trace(model)
        stacks = [n.meta.get("nn_module_stack") for n in graph.nodes]
        metas.append([{k: (p, t.__name__) for k, (p, t) in (s or {}).items()} for s in stacks])
    assert metas[0] == metas[1]


def test_stack_traces_are_of_the_program():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(models(rushlight)["MobileNet"][0])
    node = next(n for n in graph.nodes if n.op == "call_function")
    assert "programs.py" in node.stack_trace and "rushlight/fx" not in node.stack_trace
    assert fx.Tracer().trace(nn.Linear(1, 1)).output_node().stack_trace is None


def test_wrapped_functions_are_one_call():
    import wrapping

    for name, wanted in wrapping.WANTED.items():
        module = fx.symbolic_trace(getattr(wrapping, name))
        assert [n.target for n in module.graph.nodes if n.op == "call_function"] == wanted
        x = rushlight.ones(2, 3)
        same_values(module(x), getattr(wrapping, name)(x))
        assert "rushlight.fx._symbolic_trace.wrap(" in module.code


def test_functions_given_to_the_tracer_are_one_call():
    def inner(x):
        return x + 1

    namespace = {"inner": inner}
    exec("def outer(x):\n    return inner(x) * 2", namespace)
    graph = fx.Tracer(autowrap_functions=(inner,)).trace(namespace["outer"])
    assert [n.target for n in graph.nodes][1] is inner
    assert len(fx.Tracer().trace(namespace["outer"]).nodes) == 4
    graph = fx.Tracer(autowrap_modules=()).trace(lambda x: x + math.pi)
    assert len(graph.nodes) == 3


def test_own_proxies_and_answers():
    class Typed(fx.Proxy):
        pass

    class Answering(fx.Tracer):
        def proxy(self, node):
            return Typed(node, self)

        def to_bool(self, obj):
            assert isinstance(obj, Typed)
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1]])

    graph = Answering().trace(lambda x: [i * 2 for i in x] if x.sum() > 0 else 3)
    assert [n.name for n in graph.nodes][-3:] == ["mul", "mul_1", "output"]


def test_buffers_as_proxies():
    class Held(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", rushlight.ones(2))

        def forward(self, x):
            return self.b.add(self.b) * x

    tracer = fx.Tracer()
    tracer.proxy_buffer_attributes = True
    found = rows(tracer.trace(Held()))
    assert found[1:3] == [("get_attr", "b", "b"), ("call_method", "add", "add")]


def test_classes_made_of_proxies():
    class Box(metaclass=fx.ProxyableClassMeta):
        def __init__(self, inner, factor):
            self.inner, self.factor = inner, factor

        def value(self):
            return self.inner * self.factor

    def program(x):
        return Box(x, 3).value(), Box(x, 2)

    module = fx.GraphModule({}, fx.Tracer().trace(program))
    value, box = module(rushlight.ones(2))
    same_values(value, rushlight.full((2,), 3.0))
    assert type(box) is Box and box.factor == 2


def test_module_that_is_not_the_models_is_refused():
    other = nn.Linear(2, 2)
    with pytest.raises(NameError, match="not installed as a submodule"):
        fx.symbolic_trace(lambda x: other(x))


def test_constants_become_attributes_that_are_kept():
    table = rushlight.arange(3.0)
    module = fx.symbolic_trace(lambda x: x + table + rushlight.tensor(1.0))
    assert [*dict(module.named_buffers())] == ["_tensor_constant0", "_tensor_constant1"]
    same_values(module(rushlight.ones(3)), rushlight.arange(3.0) + 2)


def test_method_to_trace_has_another_name():
    class Named(nn.Module):
        def features(self, x):
            return x + 1

    tracer = fx.Tracer()
    tracer.traced_func_name = "features"
    assert len(tracer.trace(Named()).nodes) == 3
    tracer.traced_func_name = "missing"
    with pytest.raises(AssertionError, match="missing"):
        tracer.trace(Named())
