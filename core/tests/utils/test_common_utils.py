"""`testing._internal.common_utils`: what libraries write their tests with, beside PyTorch's."""

import collections
import enum
import itertools
import os
import unittest
import warnings

import numpy as np
import pytest

import rushlight
from rushlight.testing._internal import common_utils as ours

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # of PyTorch's module
from torch.testing._internal import common_utils as theirs  # noqa: E402

BOTH = {rushlight: ours, torch: theirs}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def values(lib):
    """Values of all kinds, by name."""
    return {
        "1": 1, "1.0": 1.0, "close": 1.0 + 1e-9, "2": 2, "True": True, "None": None, "text": "a",
        "other text": "b", "complex": 1 + 0j, "nan": float("nan"), "tensor 1": lib.tensor(1),
        "tensor [1]": lib.tensor([1]), "tensor 1.0": lib.tensor(1.0),
        "tensor True": lib.tensor(True),
        "tensors": lib.tensor([1.0, 2.0]), "doubles": lib.tensor([1.0, 2.0], dtype=lib.float64),
        "whole": lib.tensor([1, 2]), "matrix": lib.ones(2, 2), "array": np.array([1.0, 2.0], "f"),
        "array of doubles": np.array([1.0, 2.0]), "array of one": np.array([1.0]),
        "number of NumPy": np.float32(1), "bool of NumPy": np.True_, "list": [1, 2],
        "tuple": (1, 2), "list of one": [1], "nested": [[1.0, 2.0], [lib.ones(2)]],
        "dict": {"a": 1},
        "other dict": {"a": lib.tensor([1])}, "ordered": collections.OrderedDict(a=1),
        "set": {1, 2}, "frozen set": frozenset({1, 2}), "other set": {1, 3}, "type": int,
        "other type": float, "dtype": lib.float32, "other dtype": lib.float64,
        "device": lib.device("cpu"), "size": lib.Size([1, 2]), "enum": Color.RED,
        "other enum": Color.BLUE, "sparse": lib.eye(2).to_sparse(),
        "module list": lib.nn.ModuleList(), "range": range(1, 3), "bytes": b"a",
    }  # fmt: skip


def _passes(case, x, y, **options):
    try:
        case.assertEqual(x, y, **options)
    except Exception:  # also of values that nothing can compare
        return False
    return True


OPTIONS = [{}, {"exact_dtype": False}, {"atol": 1.5, "rtol": 0}, {"equal_nan": False},
           {"exact_layout": True}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_equal(options):
    cases = {lib: utils.TestCase() for lib, utils in BOTH.items()}
    tables = {lib: values(lib) for lib in BOTH}
    for first, second in itertools.product(tables[rushlight], repeat=2):
        found = [_passes(cases[lib], t[first], t[second], **options) for lib, t in tables.items()]
        assert found[0] == found[1], (first, second)


def test_tolerances_of_a_class():
    for lib, utils in BOTH.items():
        case = utils.TestCase()
        case.precision, case.rel_tol = 0.1, 0.0
        case.assertEqual(1.0, 1.05)
        case.assertEqual(lib.tensor([1.0]), lib.tensor([1.05]))
        case.assertNotEqual(1.0, 1.2)
        with pytest.raises(AssertionError, match="are not close!"):
            case.assertEqual(lib.tensor([1.0]), lib.tensor([1.2]))
        with pytest.raises(AssertionError):
            case.assertNotEqual(1.0, 1.05)


def test_texts():
    found = []
    for lib, utils in BOTH.items():
        case, texts = utils.TestCase(), []
        for msg in (None, "mine", lambda text: text.upper()):
            for pair in (
                (lib.ones(2), lib.zeros(2)),
                ([1, {"a": 2}], [1, {"a": 3}]),
                ({1}, {2}),
                ("a\nb", "a\nc"),
            ):
                with pytest.raises(AssertionError) as error:
                    case.assertEqual(*pair, msg)
                texts.append(str(error.value))
        found.append(texts)
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:Sparse")
def test_other_assertions():
    for lib, utils in BOTH.items():
        case, x = utils.TestCase(), lib.ones(2, 3)
        case.assertEqualIgnoreType(x, x.double())
        case.assertEqualTypeString(x, lib.zeros(1))
        case.assertEqualBroadcasting(x, 1)
        case.assertObjectIn(x, [lib.ones(2, 3), x])
        case.assertNotWarn(lambda: None)
        with case.assertWarnsOnceRegex(UserWarning, "an? odd"):
            warnings.warn("an odd thing", stacklevel=1)
        case.compare_with_numpy(lib.exp, np.exp, [0.5, 1.0], device="cpu", dtype=lib.float32)
        case.assertEqual(lib.eye(2).to_sparse(), lib.eye(2).to_sparse(), exact_is_coalesced=True)
        case.assertExpectedInline("a\nb", "a\nb")
        with pytest.raises(TypeError, match="unexpected keyword argument 'exact'"):
            case.assertEqual(1, 1, exact=True)
        for wrong in (
            lambda case=case, x=x: case.assertEqualTypeString(x, x.double()),
            lambda case=case, x=x: case.assertEqualBroadcasting(x, 2),
            lambda case=case, x=x, lib=lib: case.assertObjectIn(x, [lib.ones(2, 3)]),
            lambda case=case: case.assertNotWarn(lambda: warnings.warn("odd", stacklevel=1)),
            lambda case=case, x=x: case.compare_with_numpy(lambda t: t + 1, np.exp, x),
        ):
            with pytest.raises(AssertionError):
                wrong()


def test_sparse_tensors_that_are_coalesced_or_not():  # PyTorch's leaves the argument aside
    case, x = ours.TestCase(), rushlight.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,))
    case.assertEqual(x, x.coalesce())
    case.assertEqual(x.coalesce(), x.coalesce(), exact_is_coalesced=True)
    with pytest.raises(AssertionError, match="is_coalesced.. do not match: False != True"):
        case.assertEqual(x, x.coalesce(), exact_is_coalesced=True)


def _suite(lib, utils):
    """A class of parametrized tests, and what they were called with."""
    seen = []

    class Suite(utils.TestCase):
        @utils.parametrize("x", [1, 2.5, "a", None, True, lib.float32, int, (1, 2)])
        def test_one(self, x):
            seen.append(("one", str(x).replace("rushlight", "torch")))

        @utils.parametrize("x,y", [(1, 2), utils.subtest((3, 4), name="three")])
        def test_two(self, x, y):
            seen.append(("two", x, y))

        @utils.parametrize("x", [1, 2])
        @utils.parametrize("y", ["u", "v"])
        def test_product(self, x, y):
            seen.append(("product", x, y))

        @utils.parametrize("x", [1, 2], name_fn=lambda x: f"n{x}")
        def test_named(self, x):
            seen.append(("named", x))

        @utils.parametrize("x", [utils.subtest(1, decorators=[unittest.skip("no")]), 2])
        def test_decorated(self, x):
            seen.append(("decorated", x))

        @utils.decorateIf(unittest.expectedFailure, lambda values: values["x"] == 2)
        @utils.parametrize("x", [1, 2])
        def test_drawn(self, x):
            seen.append(("drawn", lib.rand(1).item()))

    utils.instantiate_parametrized_tests(Suite)
    return Suite, seen


def test_parametrized_tests():
    found = []
    for lib, utils in BOTH.items():
        Suite, seen = _suite(lib, utils)
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Suite).run(result)
        names = [name for name in dir(Suite) if name.startswith("test_")]
        found.append((names, sorted(map(str, seen)), result.testsRun, len(result.skipped)))
        assert not result.errors and not result.failures
    assert found[0] == found[1]
    with pytest.raises(RuntimeError, match="Expected # values == # arg names"):

        class Wrong(ours.TestCase):
            @ours.parametrize("x,y", [(1, 2, 3)])
            def test_it(self, x, y):
                pass

        ours.instantiate_parametrized_tests(Wrong)


def test_blocks_and_files():
    rushlight.manual_seed(0)
    before = rushlight.get_rng_state()
    with ours.freeze_rng_state():
        rushlight.rand(3)
    assert rushlight.equal(rushlight.get_rng_state(), before)
    with ours.set_default_dtype(rushlight.float64):
        assert rushlight.ones(1).dtype is rushlight.float64
    assert rushlight.ones(1).dtype is rushlight.float32
    with ours.TemporaryFileName(suffix=".pt") as name:
        rushlight.save([1], name)
        assert rushlight.load(name) == [1] and name.endswith(".pt")
    assert not os.path.exists(name)
    with ours.TemporaryDirectoryName() as folder:
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    ours.set_rng_seed(3)
    first = rushlight.rand(1).item(), np.random.rand()
    ours.set_rng_seed(3)
    assert (rushlight.rand(1).item(), np.random.rand()) == first


def test_slow_tests_and_repeated_ones(monkeypatch):
    calls = []

    @ours.retry(ValueError, tries=3, delay=0)
    def fails(times):
        calls.append(times)
        if len(calls) <= times:
            raise ValueError("again")
        return len(calls)

    assert fails(2) == 3
    calls.clear()
    with pytest.raises(ValueError, match="again"):
        fails(3)
    calls.clear()
    skipping = ours.retry(ValueError, tries=1, delay=0, skip_after_retries=True)(fails)
    with pytest.raises(unittest.SkipTest):
        skipping(9)
    slow = ours.slowTest(lambda: 5)
    with pytest.raises(unittest.SkipTest):
        slow()
    monkeypatch.setattr("rushlight.testing._internal.common_utils.TEST_WITH_SLOW", True)
    assert slow() == 5


def test_tables_and_flags():
    def shown(table):
        return sorted(
            (str(k).rpartition(".")[2], str(v).rpartition(".")[2]) for k, v in table.items()
        )

    for name in ("numpy_to_torch_dtype_dict", "torch_to_numpy_dtype_dict"):
        known = shown(getattr(theirs, name))
        assert [row for row in shown(getattr(ours, name)) if row not in known] == []
    for name in ("IS_LINUX", "IS_MACOS", "IS_WINDOWS", "IS_X86", "IS_ARM64", "TEST_NUMPY", "SEED"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.TEST_CUDA is rushlight.cuda.is_available()
    assert ours.dtype_name(rushlight.int8) == theirs.dtype_name(torch.int8)


def test_gaps():
    x = rushlight.arange(6.0).reshape(2, 3).requires_grad_()
    found = ours.noncontiguous_like(x)
    assert rushlight.equal(found, x) and not found.is_contiguous() and found.requires_grad
    assert ours.noncontiguous_like(found) is found
