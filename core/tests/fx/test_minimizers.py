"""Searches for calls on which two ways to run a graph disagree, beside PyTorch's."""

import contextlib
import importlib
import io

import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)


def of(library, name="net_min_base"):
    return importlib.import_module(f"{library.__name__}.fx.passes.{name}")


def chain(library):
    """Calls in a row, one with two readers."""

    def program(x, y):
        a = library.sin(x)
        b = library.cos(a + y)
        c = library.exp(b) * a
        return library.relu(c - y)

    return library.fx.symbolic_trace(program)


def equal(a, b, names):
    a, b = (tuple(v) if isinstance(v, (tuple, list)) else (v,) for v in (a, b))
    worst = max(float((x - y).abs().max()) for x, y in zip(a, b, strict=True))
    return worst, worst == 0


def minimizer(library, wrong, raising=(), exclusion=None, exporter=None, **settings):
    """A minimizer whose second way is wrong at the calls of these names."""
    base = of(library)

    class Interpreter(library.fx.Interpreter):
        def run_node(self, n):
            result = super().run_node(n)
            if not n.op.startswith("call"):
                return result
            if n.name in raising:
                raise RuntimeError(f"no {n.name}")
            return result + 1 if n.name in wrong else result

    class Minimizer(base._MinimizerBase):
        def run_a(self, mod, inputs, report_idx=-1):
            return mod(*inputs)

        def run_b(self, mod, inputs, report_idx=-1):
            return Interpreter(mod).run(*inputs)

    x = library.tensor([0.3, 0.7]), library.tensor([0.1, 0.2])
    setting = base._MinimizerSettingBase(**settings)
    return Minimizer(chain(library), x, equal, setting, exporter, exclusion)


def found(library, *args, search=None, **options):
    """Names of culprits, and what was measured."""
    made = minimizer(library, *args, **options)
    with contextlib.redirect_stdout(io.StringIO()):
        culprits = made.minimize(**(search or {}))
    return sorted(node.name for node in culprits), made.results, made.iteration


def agree(*args, **options):
    ours, theirs = (found(library, *args, **options) for library in LIBRARIES)
    method = options.get("traverse_method")
    if method != "defined":  # PyTorch's finds nobody
        assert ours[0] == theirs[0]
    if method != "block":  # whose beginnings differ in PyTorch
        assert ours[1] == pytest.approx(theirs[1], abs=1e-6)
    return ours


@pytest.mark.parametrize("wrong", [(), ("sin",), ("cos",), ("exp", "relu"), ("relu",)], ids=str)
@pytest.mark.parametrize("accumulate", [False, True])
def test_one_call_after_the_other(wrong, accumulate):
    culprits, *_ = agree(wrong, find_all=True, accumulate_error=accumulate)
    if not accumulate:
        assert culprits == sorted(wrong)
    first, *_ = agree(wrong, accumulate_error=accumulate)
    assert len(first) == min(len(wrong), 1)


@pytest.mark.parametrize("method", ["binary", "accumulate", "defined", "block"])
@pytest.mark.parametrize("wrong", [(), ("sin",), ("add",), ("exp",), ("sub",)], ids=str)
def test_other_ways_to_search(method, wrong):
    culprits, *_ = agree(wrong, traverse_method=method)
    if method in ("binary", "accumulate", "block"):
        assert culprits == sorted(wrong)
    elif wrong:
        assert len(culprits) == 7
    else:
        assert not culprits


def test_halves_find_all():
    """PyTorch's search forgets the culprits of the first half."""
    wrong = {"sin", "relu"}
    culprits, *_ = found(rushlight, wrong, traverse_method="binary", find_all=True)
    assert culprits == sorted(wrong)


def test_blocks_end_where_the_first_culprit_is():
    culprits, *_ = found(rushlight, {"cos", "relu"}, traverse_method="block")
    assert culprits == ["cos"]
    for last, expected in (
        (True, ["add", "cos", "sin"]),
        (False, ["cos", "exp", "mul", "relu", "sub"]),
    ):
        culprits, *_ = agree({"cos"}, traverse_method="block", search={"find_last_node": last})
        assert culprits == expected


def test_runs_between_what_is_skipped():
    skipped = {"search": {"skip_nodes": ["cos", "mul"]}, "traverse_method": "skip"}
    assert agree({"relu"}, **skipped)[0] == ["relu", "sub"]
    assert agree((), **skipped)[0] == []
    for library in LIBRARIES:
        with pytest.raises(RuntimeError, match="'skip_nodes' can't be None"):
            found(library, (), traverse_method="skip")
        with pytest.raises(RuntimeError, match="Unknown traverse method odd!"):
            found(library, (), traverse_method="odd")


def test_errors_are_culprits_too():
    assert agree((), ("exp",), find_all=True)[0] == ["exp"]
    assert agree((), ("exp",), traverse_method="binary")[0] == ["exp"]
    text = io.StringIO()
    made = minimizer(rushlight, (), ("exp",))
    with contextlib.redirect_stdout(text):
        made.run_nodes("cos", "mul")
    assert text.getvalue() == "Exception raised when running minimize: no exp\n"


def test_parts_of_the_graph_and_exclusions():
    assert agree({"sin", "exp"}, search={"start": "add", "end": "mul"})[0] == ["exp"]

    def not_exp(nodes, start, end):
        nodes[:] = [node for node in nodes if node.name != "exp"]

    assert agree({"exp", "relu"}, exclusion=not_exp, find_all=True)[0] == ["relu"]
    assert found(rushlight, {"exp", "relu"}, exclusion=not_exp)[0] == ["relu"]


def test_parts_that_differ_are_exported():
    names = []
    for library in LIBRARIES:
        names.append([])

        def export(inputs, module, name, seen=names[-1]):
            seen.append((name, len(inputs), [n.name for n in module.graph.nodes]))

        found(library, {"exp"}, exporter=export)
    assert names[0] == names[1] and names[0][0][0] == "exp_cpu"


def test_intermediate_results_and_refusals():
    results = []
    for library in LIBRARIES:
        made = minimizer(library, (), return_intermediate=True)
        with contextlib.redirect_stdout(io.StringIO()):
            made.run_nodes("sin", "cos")
        results.append(made.results)
        with pytest.raises(AssertionError, match="Expected GraphModule"):
            of(library)._MinimizerBase(library.nn.ReLU(), (), equal, None)
        with pytest.raises(AssertionError, match="Placeholder count"):
            of(library)._MinimizerBase(
                library.fx.symbolic_trace(lambda x, y=None: x), (library.ones(1),), equal, None
            )
        plain = of(library)._MinimizerBase(
            chain(library), (library.ones(1), library.ones(1)), equal, None
        )
        with pytest.raises(RuntimeError, match="is not implemented"):
            plain.run_a(None, ())
    assert list(results[0]) == list(results[1]) == [(("sin", "add", "cos"),)]
    assert str(of(rushlight)._MinimizerSettingBase()) == str(of(torch)._MinimizerSettingBase())
