"""Lists compared with tuples in compiled functions: as PyTorch takes them."""

# ruff: noqa: D103 - the names say what is in them
import pytest

import rushlight
from rushlight import jit


def shape_is(x):
    return x.shape == (2, 3)


def shape_is_not(x):
    return x.shape != (2, 3)


def tuple_first(x):
    return (2, 3) == x.shape


def part_of_a_shape(x):
    return x.shape[-1:] != (x.size(0) + 1,)


def lists(x):
    return [x.size(0), 3] == (2, 3)


def a_variable(x):
    wanted = (x.size(0), 3)
    return x.shape == wanted


def no_dimensions(x):
    return x.shape == ()


def words(x):
    return ["a"] == ("a",)


def mixed(x):
    return x.shape == (2, 3.0)


def whole_for_real(x):
    return [1.0] == (1,)


AGREE = (
    shape_is, shape_is_not, tuple_first, part_of_a_shape, lists, a_variable, no_dimensions, words
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("function", AGREE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), ()])
def test_a_tuple_beside_a_list(function, shape, tmp_path):
    torch = pytest.importorskip("torch")
    if shape == () and "size" in function.__code__.co_names:
        pytest.skip("asks for a dimension")
    compiled = jit.script(function)
    found = compiled(rushlight.zeros(shape))
    assert found == torch.jit.script(function)(torch.zeros(shape))
    compiled.save(tmp_path / "function.pt")
    assert jit.load(tmp_path / "function.pt")(rushlight.zeros(shape)) == found
    assert torch.jit.load(tmp_path / "function.pt")(torch.zeros(shape)) == found


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("function", [mixed, whole_for_real])
def test_a_tuple_of_other_types_is_refused(function):
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError):
        torch.jit.script(function)
    with pytest.raises(RuntimeError, match="is not compared with one of type 'Tuple"):
        jit.script(function)
