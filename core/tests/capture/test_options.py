"""`compile(options=...)` knows PyTorch's options, and `compiler.compile` is `compile`."""

import pytest

import rushlight
from rushlight import _inductor


def double(x):
    return x * 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_autotune": 1}, "Unexpected type of attr max_autotune, got int should be bool"),
        ({"freezing": None}, "attr freezing, got NoneType should be bool"),
        ({"nosuch": True}, "Unexpected optimization option nosuch, known options are"),
        ({"triton.nosuch": 1}, "Unexpected optimization option triton.nosuch"),
        ({3: 1}, "Unexpected optimization option 3"),
    ],
)
def test_what_is_no_option_is_refused_as_by_pytorch(options, text):
    with pytest.raises(RuntimeError, match=text):
        rushlight.compile(double, options=options)
    torch = pytest.importorskip("torch")
    if all(isinstance(name, str) for name in options):
        with pytest.raises(RuntimeError, match=text):
            torch.compile(double, options=options)


def test_pytorchs_options_are_taken():
    options = {"max-autotune": True, "triton.cudagraphs": False, "cpp.simdlen": 8}
    call = rushlight.compile(double, options=options)
    assert call(rushlight.ones(2)).tolist() == [2, 2]


def test_another_backend_gets_options_of_its_own():
    seen = []

    def backend(module, inputs, options):
        seen.append(options)
        return module.forward

    call = rushlight.compile(double, backend=backend, options={"nosuch": 1})
    assert call(rushlight.ones(2)).tolist() == [2, 2]
    assert seen == [{"nosuch": 1}]


def test_the_list_of_options_is_pytorchs():
    inductor = pytest.importorskip("torch._inductor")
    assert set(_inductor.list_options()) == set(inductor.list_options()) - {"TYPE_CHECKING"}


def test_compiler_compile_is_compile():
    @rushlight.compiler.compile(fullgraph=True)
    def f(x):
        return x.sin() + 1

    x = rushlight.rand(3)
    assert f(x).tolist() == (x.sin() + 1).tolist()
    assert type(rushlight.compiler.compile(rushlight.nn.Linear(2, 1))).__name__ == "OptimizedModule"
