"""``compiler.config``: switches of all compiled functions, beside PyTorch's."""

import importlib
import subprocess
import sys

import pytest

import rushlight

NAMES = ("recompile_limit", "accumulated_recompile_limit", "fail_on_recompile_limit_hit")


@pytest.fixture(params=["rushlight", "torch"])
def library(request):
    found = pytest.importorskip(request.param)
    importlib.import_module(f"{request.param}.compiler.config")
    importlib.import_module(f"{request.param}._dynamo")
    found._dynamo.reset()
    yield found
    found._dynamo.reset()


def test_defaults_and_aliases(library):
    config, inner = library.compiler.config, library._dynamo.config
    assert [getattr(config, name) for name in NAMES] == [8, 256, False]
    assert (inner.cache_size_limit, inner.accumulated_cache_size_limit) == (8, 256)
    with config.patch(recompile_limit=3, accumulated_recompile_limit=5):
        assert (inner.recompile_limit, inner.cache_size_limit) == (3, 3)
        assert (inner.accumulated_recompile_limit, inner.accumulated_cache_size_limit) == (5, 5)
    with inner.patch(recompile_limit=4):
        assert config.recompile_limit == 4
    assert (config.recompile_limit, inner.recompile_limit) == (8, 8)


def test_other_names_do_not_exist(library):
    config = library.compiler.config
    with pytest.raises(AttributeError, match="nothing does not exist"):
        config.nothing = 1
    with pytest.raises(AttributeError, match="nothing does not exist"):
        config.nothing  # noqa: B018 - the lookup is what fails
    with pytest.raises(AttributeError, match="does not exist"), config.patch(nothing=1):
        pass


@pytest.mark.parametrize("limit", [1, 3])
def test_more_graphs_than_the_limit_fail(library, limit):
    """The number that a program reads makes each of its graphs."""
    held = {"scale": 0.0}

    def program(x):
        return x * held["scale"]

    compiled = library.compile(program, backend="eager", dynamic=False)
    switches = {"recompile_limit": limit, "fail_on_recompile_limit_hit": True}
    failure = library._dynamo.exc.FailOnRecompileLimitHit
    with library.compiler.config.patch(switches):
        for turn in range(limit):
            held["scale"] = f = float(turn + 2)
            assert compiled(library.ones(1)).tolist() == [f]
        held["scale"] = 99.0
        with pytest.raises(failure):
            compiled(library.ones(1))


def test_values_have_kinds():
    config = rushlight.compiler.config
    for name, value in (("recompile_limit", "x"), ("recompile_limit", True),
                        ("fail_on_recompile_limit_hit", 1)):  # fmt: skip
        with pytest.raises(TypeError, match=f"{name} must be of type"):
            setattr(config, name, value)
    assert (config.recompile_limit, config.fail_on_recompile_limit_hit) == (8, False)


def test_the_module_is_an_attribute():
    program = "import rushlight; print(rushlight.compiler.config.recompile_limit)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "8", found.stderr
