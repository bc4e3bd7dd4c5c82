"""What traced modules keep beside weights: plain attributes, exported methods; compiled modules
asked as PyTorch's programs ask ``module._c``; switches of PyTorch's executor."""

import io

import pytest

import rushlight
from rushlight import nn

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

PLAIN = {"factor": 3, "label": "abc", "scale": 2.5, "flag": True, "sizes": [1, 2], "none": None,
         "pair": (1, 2.0), "table": {"a": 1}}  # fmt: skip


def network(library):
    """A module with attributes of many kinds and an exported method."""
    net = library.nn

    class Network(net.Module):
        def __init__(self):
            super().__init__()
            self.lin = net.Linear(2, 2)
            self.__dict__.update(PLAIN)
            self.hook = print
            for i, value in enumerate(self.parameters()):
                value.data.fill_(0.5 + i)

        def forward(self, x):
            return self.lin(x) * self.factor

        @library.jit.export
        def extra(self, x):
            return x + self.factor + self.sizes[1]

    return Network()


def test_traced_modules_keep_attributes_and_exported_methods():
    model, x = network(rushlight), rushlight.ones(1, 2)
    traced = rushlight.jit.trace(model, x)
    assert {name: getattr(traced, name) for name in PLAIN} == PLAIN
    assert not hasattr(traced, "hook") and traced.sizes is not model.sizes
    assert traced.extra(x).tolist() == [[6.0, 6.0]]
    rushlight.testing.assert_close(traced(x), model(x))
    traced.factor = 10  # of the trace's copy: what was recorded stays
    assert traced.extra(x).tolist() == [[13.0, 13.0]] and model.factor == 3
    rushlight.testing.assert_close(traced(x), model(x))


def test_methods_that_are_traced_are_not_compiled():
    model, x = network(rushlight), rushlight.ones(1, 2)
    traced = rushlight.jit.trace_module(model, {"forward": x, "extra": x})
    assert "factor" not in traced.extra.code and traced.extra(x).tolist() == [[6.0, 6.0]]


@pytest.mark.parametrize("reader", ["rushlight", "torch"])
def test_archives_have_attributes_and_exported_methods(reader):
    library = pytest.importorskip(reader)
    x = rushlight.ones(1, 2)
    traced = rushlight.jit.trace(network(rushlight), x)
    loaded = library.jit.load(io.BytesIO(traced.save_to_buffer()))
    assert {name: getattr(loaded, name) for name in PLAIN} == PLAIN
    assert loaded.extra(library.ones(1, 2)).tolist() == [[6.0, 6.0]]
    assert loaded(library.ones(1, 2)).tolist() == traced(x).tolist()


def compiled_half(library):
    """What ``_c`` of a trace answers."""
    half = library.jit.trace(network(library), library.ones(1, 2))._c
    lin = half.getattr("lin")
    half.setattr("factor", 5)
    return (
        half._type().name(), half._has_method("forward"), half._has_method("backward"),
        half.hasattr("lin"), half.hasattr("forward"), half.hasattr("training"), half.hasattr("z"),
        half.getattr("factor"), lin.getattr("weight").tolist(), lin._type().name(),
        half._method_names(), half._get_method("extra").name,
        half._type().qualified_name().split(".")[0],
    )  # fmt: skip


def test_compiled_halves_answer_as_in_pytorch():
    torch = pytest.importorskip("torch")
    assert compiled_half(rushlight) == compiled_half(torch)


def test_compiled_halves_refuse_other_names():
    half = rushlight.jit.script(nn.Linear(2, 3))._c
    for call in (lambda: half.getattr("z"), lambda: half.setattr("z", 1)):
        with pytest.raises(RuntimeError, match="no attribute 'z'"):
            call()
    with pytest.raises(RuntimeError, match="Method 'z' is not defined"):
        half._get_method("z")


def test_graphs_for_arguments():
    model, x = network(rushlight), rushlight.ones(1, 2)
    for made in (rushlight.jit.trace(model, x), rushlight.jit.script(model)):
        assert "aten::linear" in str(made.graph_for(x))

    @rushlight.jit.script
    def double(x, times: int = 2):
        return x * times

    assert "aten::mul" in str(double.graph_for(x, 3))
    with pytest.raises(RuntimeError):
        double.graph_for()
    assert rushlight.jit.load(io.BytesIO(double.save_to_buffer()))(x, 3).tolist() == [[3.0, 3.0]]


def switches(jit):
    """What the executor's switches answer, and errors."""
    found = [jit.onednn_fusion_enabled(), jit.enable_onednn_fusion(True)]
    found += [jit.onednn_fusion_enabled(), jit.enable_onednn_fusion(False)]
    found += [jit.set_fusion_strategy([("STATIC", 1)]), jit.set_fusion_strategy([("DYNAMIC", 10)])]
    jit.set_fusion_strategy(found[-2])
    with jit.optimized_execution(False), jit.fuser("fuser1"):
        found.append("inside")
    for call in (lambda: jit.set_fusion_strategy([("X", 1)]), lambda: jit.fuser("x").__enter__()):
        with pytest.raises(Exception, match="FusionBehavior|unrecognized fuser option") as error:
            call()
        found.append((type(error.value), str(error.value)))
    return found


def test_switches_of_the_executor_answer_as_in_pytorch():
    torch = pytest.importorskip("torch")
    assert switches(rushlight.jit) == switches(torch.jit)
