"""Products of several operands in the order that the package opt_einsum plans."""

from types import SimpleNamespace

import pytest

import rushlight
from rushlight.backends import opt_einsum
from rushlight.ops.linalg import einsum


@pytest.fixture
def planner(monkeypatch):
    """A stand-in for the package: it notes what it is asked, and answers with `path`."""
    noted = SimpleNamespace(path=[(0, 1), (0, 1)], asked=[])

    def contract_path(text, *shapes, optimize, **options):
        assert options == {"shapes": True}
        noted.asked.append((text, shapes, optimize))
        return noted.path, "a report"

    package = SimpleNamespace(contract_path=contract_path)
    monkeypatch.setattr(opt_einsum, "get_opt_einsum", lambda: package)
    monkeypatch.setattr(opt_einsum, "enabled", True)
    monkeypatch.setattr(opt_einsum, "strategy", "auto")
    einsum._plan.cache_clear()
    yield noted
    einsum._plan.cache_clear()


PATHS = [[(0, 1), (0, 1)], [(1, 2), (0, 1)], [(0, 2), (1, 0)], [(0, 1, 2)], [(1,), (0, 2), (0, 1)]]
EQUATIONS = ["ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl->lki", "...j,jk,k...->...", "ij,jk,kl"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_values_do_not_depend_on_the_plan(planner, path, equation):
    rushlight.manual_seed(0)
    operands = [rushlight.randn(*s, dtype=rushlight.float64) for s in ((2, 3), (3, 4), (4, 2))]
    planner.path = path
    found = rushlight.einsum(equation, *operands)
    with opt_einsum.flags(enabled=False):
        wanted = rushlight.einsum(equation, *operands)
    assert found.shape == wanted.shape and rushlight.allclose(found, wanted, rtol=1e-12)
    assert len(planner.asked) == 1 and planner.asked[0][1:] == (((2, 3), (3, 4), (4, 2)), "auto")


def test_gradients_follow_the_plan(planner):
    planner.path = [(1, 2), (0, 1)]
    a, b, c = (rushlight.ones(2, 2, requires_grad=True) for _ in range(3))
    rushlight.einsum("ij,jk,kl->il", a, b, c).sum().backward()
    assert a.grad.tolist() == b.grad.tolist() == c.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_a_plan_is_asked_for_once_and_for_three_operands_or_more(planner):
    x = rushlight.ones(2, 2)
    for _ in range(3):
        rushlight.einsum("ij,jk->ik", x, x)
        rushlight.einsum("ij,jk,kl->il", x, x, x)
    assert [text for text, *_ in planner.asked] == ["ij,jk,kl->il"]
    with opt_einsum.flags(strategy="greedy"):
        rushlight.einsum("ij,jk,kl->il", x, x, x)
    assert planner.asked[-1][2] == "greedy" and opt_einsum.strategy == "auto"


def test_switches_without_the_package(monkeypatch):
    monkeypatch.setattr(opt_einsum, "get_opt_einsum", lambda: None)
    monkeypatch.setattr(opt_einsum, "enabled", False)
    monkeypatch.setattr(opt_einsum, "strategy", None)
    assert not rushlight.backends.opt_einsum.is_available()
    for wrong in ({"_enabled": True}, {"_strategy": "greedy"}):
        with pytest.raises(ValueError, match="opt_einsum is not available"):
            opt_einsum.set_flags(**wrong)
    assert opt_einsum.set_flags(False) == (False, None)
