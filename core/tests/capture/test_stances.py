"""``compiler``'s public marks, beside PyTorch's: whether code is captured, stances, backends by
default, functions in place of others."""

from __future__ import annotations

import heapq

import pytest

import rushlight
from rushlight.compiler import substitutes

LIBRARIES = ["rushlight", "torch"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    found = pytest.importorskip(request.param)
    found._dynamo.reset()
    yield found
    found.compiler.set_stance("default")
    found.compiler.set_default_backend(None)
    found._dynamo.reset()


def marks(library):
    names = "is_compiling", "is_dynamo_compiling", "is_exporting"
    return [getattr(library.compiler, name)() for name in names]


def test_marks_of_compiled_programs(library):
    def program(x):
        return x + 1, marks(library)

    assert marks(library) == [False] * 3
    assert library.compile(program, backend="eager")(library.ones(2))[1] == [True, True, False]
    assert program(library.ones(2))[1] == [False] * 3


def test_marks_of_exported_programs(library):
    seen = []

    class Model(library.nn.Module):
        def forward(self, x):
            seen.append(marks(library))
            return x + 1

    library.export.export(Model(), (library.ones(2),))
    assert seen and all(each == [True, False, True] for each in seen)
    assert marks(library) == [False] * 3


def test_marks_are_off_after_a_break(library):
    seen = []

    def program(x):
        print("", end="")
        seen.append(library.compiler.is_compiling())
        return x.numpy().sum()

    library.compile(program, backend="eager")(library.ones(2))
    assert not library.compiler.is_compiling()


CALLS = {
    "default": [True, True, True, True],
    "force_eager": [False, False, False, False],
    "eager_on_recompile": [False, False, False, False],
    "eager_then_compile": [False, True, True, True],
    "aot_eager_then_compile": [True, True, True, True],
}


@pytest.mark.parametrize("stance", CALLS)
def test_stances(library, stance):
    def program(x):
        return x * (3 if library.compiler.is_compiling() else 2)

    compiled = library.compile(program, backend="eager")
    with library.compiler.set_stance(stance):
        found = [compiled(library.ones(size))[0].item() for size in (2, 2, 5, 6)]
    assert found == [3 if captured else 2 for captured in CALLS[stance]]
    assert compiled(library.ones(7))[0].item() == 3


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_graphs_that_there_are_run(library, backend):
    if backend == "inductor" and library is not rushlight:
        pytest.skip("it needs a compiler")

    def program(x):
        return x * (3 if library.compiler.is_compiling() else 2)

    compiled = library.compile(program, backend=backend)
    x, other = library.ones(2), library.ones(2, 2)
    assert compiled(x)[0].item() == 3
    with library.compiler.set_stance("eager_on_recompile"):
        assert compiled(x)[0].item() == 3 and compiled(other)[0, 0].item() == 2
    with library.compiler.set_stance("fail_on_recompile"):
        assert compiled(x)[0].item() == 3
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is"):
            compiled(other)
    assert compiled(other)[0, 0].item() == 3


def test_stances_of_functions_and_for_good(library):
    def program(x):
        return x * (3 if library.compiler.is_compiling() else 2)

    compiled = library.compile(program, backend="eager")

    @library.compiler.set_stance("force_eager")
    def outer(x):
        return compiled(x)

    x = library.ones(2)
    assert [outer(x)[0].item(), compiled(x)[0].item(), outer(x)[0].item()] == [2, 3, 2]
    library.compiler.set_stance("force_eager")
    assert compiled(x)[0].item() == 2
    library.compiler.set_stance("default")
    assert compiled(x)[0].item() == 3


def doubling(seen):
    def backend(module, examples):
        seen.append(len(examples))
        return lambda *given: tuple(2 * each for each in module.forward(*given))

    return backend


def test_a_backend_for_all(library):
    seen = []
    compiled = library.compile(lambda x: x + 1, backend="eager")
    with library.compiler.set_stance(force_backend=doubling(seen)):
        assert [compiled(library.ones(1)).item() for _ in range(2)] == [4, 4]
    assert compiled(library.ones(1)).item() == 2 and seen == [1]
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        library.compiler.set_stance("force_eager", force_backend="eager")


def test_the_default_backend(library):
    compiler, seen = library.compiler, []
    assert compiler.get_default_backend() == "inductor"
    backend = doubling(seen)
    compiler.set_default_backend(backend)
    assert compiler.get_default_backend() is backend
    assert library.compile(lambda x: x + 1)(library.ones(1)).item() == 4
    assert library.compile(lambda x: x + 1, backend="eager")(library.ones(1)).item() == 2
    with pytest.raises(TypeError, match="backend must be a string or callable, got <class 'int'>"):
        compiler.set_default_backend(3)
    compiler.set_default_backend(None)
    assert compiler.get_default_backend() == "inductor"
    assert "inductor" in compiler.list_backends() and "eager" not in compiler.list_backends()
    assert {"eager", "aot_eager"} <= set(compiler.list_backends(None))


def test_unknown_words_are_named():
    with pytest.raises(ValueError, match="stance must be one of .*, got 'nonsense'"):
        rushlight.compiler.set_stance("nonsense")
    rushlight.compiler.set_default_backend("nonsense")
    try:
        with pytest.raises(rushlight._dynamo.exc.InvalidBackend, match="got 'nonsense'"):
            rushlight.compile(lambda x: x)
    finally:
        rushlight.compiler.set_default_backend(None)


def test_functions_in_place_of_others(library):
    def original(x):
        return x + 1

    @library.compiler.substitute_in_graph(original)
    def substitute(x):
        return x + 5

    zero = library.zeros(1)
    assert original(zero).item() == substitute(zero).item() == 1
    compiled = library.compile(lambda x: original(x) * 1, backend="eager")
    assert compiled(zero).item() == 5
    with pytest.raises(ValueError, match="uplicate|already"):
        library.compiler.substitute_in_graph(original)(lambda x: x)
    with pytest.raises(TypeError, match="expects a function but got"):
        library.compiler.substitute_in_graph(3)
    other = lambda x, y: x  # noqa: E731 - of the parameters that the next one lacks
    with pytest.raises(TypeError, match="Signature mismatch between"):
        library.compiler.substitute_in_graph(other)(lambda x: x)
    checked = library.compiler.substitute_in_graph(other, skip_signature_check=True)
    assert checked(lambda x: x)(zero, zero) is zero


def test_a_builtin_function_in_a_graph(monkeypatch):
    monkeypatch.setattr(substitutes, "_known", {})

    def program(x):
        return x * heapq.nlargest(1, [1, x.shape[0]])[0] + max(x)

    def largest(x):
        return x.amax()

    x = rushlight.tensor([1.0, 5.0, 2.0])
    with pytest.raises(rushlight._dynamo.exc.Unsupported):
        rushlight.compile(program, fullgraph=True)(x)
    rushlight.compiler.substitute_in_graph(max, skip_signature_check=True)(largest)
    rushlight.compiler.substitute_in_graph(heapq.nlargest, skip_signature_check=True)(
        lambda n, values: sorted(values)[-n:]
    )
    found = rushlight.compile(program, fullgraph=True)(x)
    assert found.tolist() == [8.0, 20.0, 11.0]


def test_regions_are_as_they_were(library):
    def region(x):
        return x * 2

    assert library.compiler.nested_compile_region(region)(library.ones(1)).item() == 2


def test_reset_forgets_graphs():
    function = rushlight.compile(lambda x: x + 1, backend="eager")
    function(rushlight.ones(2))
    with rushlight.compiler.set_stance("fail_on_recompile"):
        function(rushlight.ones(2))
        rushlight.compiler.reset()
        with pytest.raises(RuntimeError, match="Detected recompile"):
            function(rushlight.ones(2))
