"""Modules of graphs: their code, copies, files, and the modules inside them."""

import copy
import importlib
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import pytest

import rushlight
from rushlight import fx, nn

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import rows, same_values  # noqa: E402


def network(library):
    class Network(library.nn.Module):
        def __init__(self):
            super().__init__()
            inner = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU())
            self.first, self.unused = inner, library.nn.Linear(2, 2)
            self.scale = library.nn.Parameter(library.ones(4))
            self.register_buffer("shift", library.zeros(4))

        def forward(self, x):
            return self.first(x) * self.scale + self.shift

    return Network()


def layers(module, x):
    """What the layers of a network give."""
    return getattr(module.first, "1")(getattr(module.first, "0")(x))


def traced(library=rushlight):
    return library.fx.symbolic_trace(network(library))


def test_state_is_the_models():
    module, theirs = traced(), traced(torch)
    assert [*module.state_dict()] == [*theirs.state_dict()]
    assert [n for n, _ in module.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert type(module).__name__ == type(theirs).__name__ == "Network"
    assert isinstance(module, fx.GraphModule)
    assert str(module).replace("rushlight", "torch") == str(theirs)


def test_code_follows_the_graph():
    module, x = traced(), rushlight.randn(2, 3)
    before = module(x)
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target.__name__ == "mul":
            node.target = rushlight.sub
    same_values(module(x), before)  # nothing changes until the code is generated
    made = module.recompile()
    assert "rushlight.sub(" in module.code == made.src
    same_values(module(x), layers(module, x) - module.scale + module.shift)


def test_two_modules_of_one_class_keep_their_own_code():
    one, two = traced(), traced()
    output = two.graph.output_node()
    output.args = (output.args[0].args[0],)
    two.recompile()
    assert type(one) is not type(two) and one.code != two.code
    with pytest.raises(AssertionError, match="Graph instance"):
        one.graph = 3


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_have_their_own_state(duplicate):
    module, x = traced().eval(), rushlight.randn(2, 3)
    module.meta["note"], module.extra = 3, "text"
    again = duplicate(module)
    assert again.code == module.code and rows(again.graph) == rows(module.graph)
    assert again.extra == "text" and not again.training and again.meta == {"note": 3}
    assert type(again).__name__ == "Network" and isinstance(again, fx.GraphModule)
    same_values(again(x), module(x))
    with rushlight.no_grad():
        again.scale.mul_(2)
    assert not rushlight.equal(again(x), module(x))
    again.graph.erase_node(again.graph.call_function(rushlight.relu, ()))
    assert again.graph.owning_module is again


def test_pickled_functions_are_found_again():
    def program(x):
        y = nn.functional.gelu(x) + rushlight.special.erf(x) + rushlight.linalg.norm(x)
        y = y.relu_() + nn.functional.leaky_relu(x, 0.1, inplace=False)
        return rushlight.fft.fft(y).real, rushlight.where(x > 0, x, float("-inf"))

    module, x = fx.symbolic_trace(program), rushlight.randn(4)
    again = pickle.loads(pickle.dumps(module))
    assert [n.target for n in again.graph.nodes] == [n.target for n in module.graph.nodes]
    same_values(again(x), module(x))


def test_errors_show_the_generated_line():
    module = traced()
    with pytest.raises(RuntimeError) as caught:
        module(rushlight.ones(2, 5))
    text = "".join(traceback.format_exception(caught.value))
    assert 'first_0 = getattr(self.first, "0")(x)' in text


def test_interpreter_says_where_it_was():
    module = traced()
    with pytest.raises(RuntimeError) as caught:
        fx.Interpreter(module).run(rushlight.ones(2, 5))
    assert any("While executing %first_0" in note for note in caught.value.__notes__)


def test_submodules_come_and_go():
    module, theirs = traced(), traced(torch)
    for each, library in ((module, rushlight), (theirs, torch)):
        assert each.add_submodule("a.b.c", library.nn.Linear(2, 2))
        assert not each.add_submodule("scale.b", library.nn.Linear(2, 2))
        assert each.delete_submodule("a.b.c") and not each.delete_submodule("a.b.nothing")
        each.add_submodule("first.extra", library.nn.Linear(2, 2))
    names = [n for n, _ in module.named_modules()]
    assert names == [n for n, _ in theirs.named_modules()] and "first.extra" in names
    for each in (module, theirs):
        each.delete_all_unused_submodules()
    names = [n for n, _ in module.named_modules()]
    assert names == [n for n, _ in theirs.named_modules()] == ["", "first", "first.0", "first.1"]
    assert module(rushlight.ones(1, 3)).shape == (1, 4)


def test_modules_of_dicts():
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("a.layer", (x,)))
    graph_of_bias = copy.deepcopy(graph)
    layer = nn.Linear(2, 2)
    module = fx.GraphModule({"a.layer": layer}, graph, "Named")
    assert module.a.layer is layer and type(module).__name__ == "Named"
    same_values(module(rushlight.ones(1, 2)), layer(rushlight.ones(1, 2)))
    with pytest.raises(RuntimeError, match="'a.layer'"):
        fx.GraphModule({}, graph_of_bias)
    with pytest.raises(RuntimeError, match="passed for root"):
        fx.GraphModule(3, graph_of_bias)


def test_module_is_written_as_a_package(tmp_path, monkeypatch):
    module, x = traced(), rushlight.randn(2, 3)
    module.to_folder(tmp_path / "written", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    again = importlib.import_module("written").Written()
    assert isinstance(again, nn.Module)
    same_values(again(x), module(x))
    assert [*again.state_dict()] == [*module.state_dict()]


def test_written_package_has_pytorchs_files_and_runs_there(tmp_path, monkeypatch):
    def written(library, folder):
        class Net(library.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.norm = library.nn.Linear(3, 4), library.nn.BatchNorm1d(4)
                self.rest = library.nn.Sequential(library.nn.Linear(4, 2), library.nn.ReLU())
                self.scale = library.nn.Parameter(library.full((2,), 3.0))
                self.register_buffer("shift", library.ones(2))

            def forward(self, x):
                return self.rest(self.norm(self.first(x))) * self.scale + self.shift

        module = library.fx.symbolic_trace(Net().eval())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's about modules that are pickled
            module.to_folder(folder, "Written")
        return module

    written(torch, tmp_path / "theirs")
    module, ours = written(rushlight, tmp_path / "in_torch"), tmp_path / "in_torch"
    assert sorted(p.name for p in ours.iterdir()) == sorted(
        p.name for p in (tmp_path / "theirs").iterdir()
    )
    source = (ours / "module.py").read_text()
    assert "self.add_module('first', rushlight.nn.Linear(in_features=3" in source
    (ours / "module.py").write_text(source.replace("rushlight", "torch"))
    monkeypatch.syspath_prepend(str(tmp_path))
    there = importlib.import_module("in_torch").Written().eval()
    x = rushlight.randn(5, 3)
    same_values(there(torch.tensor(x.tolist())), module(x), 1e-6)


@pytest.mark.parametrize("change", ["double", "frozen", "eval"])
def test_written_layers_are_what_they_were(tmp_path, monkeypatch, change):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model = {
        "double": model.double, "eval": model.eval, "frozen": lambda: model.requires_grad_(False),
    }[change]()  # fmt: skip

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = model

        def forward(self, x):
            return self.second(self.first(x))

    fx.symbolic_trace(Outer()).to_folder(tmp_path / f"kept_{change}", "Kept")
    monkeypatch.syspath_prepend(str(tmp_path))
    kept = importlib.import_module(f"kept_{change}").Kept()
    for name in ("first", "second"):
        new, old = getattr(kept, name), dict(zip(("first", "second"), model, strict=True))[name]
        assert new.training is old.training
        for mine, theirs in zip(new.parameters(), old.parameters(), strict=True):
            assert (mine.dtype, mine.requires_grad) == (theirs.dtype, theirs.requires_grad)
            same_values(mine, theirs)


def test_readable_source_names_the_lines_of_the_program(capsys):
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    model = network(rushlight)
    module = fx.GraphModule(model, tracer.trace(model), "Readable")
    text = module.print_readable()
    assert capsys.readouterr().out == text + "\n"
    assert text.startswith("class Readable(rushlight.nn.Module):\n    def forward(self, x):")
    assert "test_graph_module.py:" in text and "code: return self.first(x) * self.scale" in text
    compile(text, "text", "exec")


def test_graph_module_inside_of_another_is_a_leaf_with_its_own_code():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = traced()

        def forward(self, x):
            return self.inner(x) + 1

    module = fx.symbolic_trace(Outer())
    names = [n.name for n in module.graph.nodes]
    assert names[:3] == ["x", "inner_first_0", "inner_first_1"]
    x = rushlight.ones(1, 3)
    same_values(module(x), layers(module.inner, x) + 1)


def test_code_of_a_collected_module_is_forgotten():
    import gc
    import linecache

    module = traced()
    file = type(module).forward.__code__.co_filename
    assert file in linecache.cache
    del module
    gc.collect()
    assert file not in linecache.cache


def test_wrapped_functions_are_still_one_call_after_pickling():
    import wrapping

    for name, wanted in wrapping.WANTED.items():
        again = pickle.loads(pickle.dumps(fx.symbolic_trace(getattr(wrapping, name))))
        assert [n.target for n in again.graph.nodes if n.op == "call_function"] == wanted
        x = rushlight.ones(2, 3)
        same_values(again(x), getattr(wrapping, name)(x))


def test_source_of_forward_can_be_asked_for():
    import inspect

    module = traced()
    assert inspect.getsource(type(module).forward).strip() == module.code.strip()


def test_subclasses_keep_their_methods():
    class Named(fx.GraphModule):
        def title(self):
            return f"{type(self).__name__} of {len(self.graph.nodes)}"

    module = Named(nn.Module(), fx.symbolic_trace(lambda x: x + 1).graph, "Mine")
    assert isinstance(module, Named) and module.title() == "Mine of 3"
    assert type(copy.deepcopy(module)).__mro__[1] is Named and copy.copy(module).code == module.code
