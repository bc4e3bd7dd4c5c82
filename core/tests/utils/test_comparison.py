"""`testing._comparison`, of which test suites make their own comparisons, against PyTorch's."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.testing import _comparison as ours

torch = pytest.importorskip("torch")
from torch.testing import _comparison as theirs  # noqa: E402

BOTH = {rushlight: ours, torch: theirs}


def _outcome(lib, function):
    """What a comparison found: the texts of its errors, or the error that it raised."""
    try:
        found = function(lib, BOTH[lib])
    except Exception as error:
        return type(error).__name__, str(error).replace("rushlight", "torch")
    return sorted(  # PyTorch's keys of several types stand in no order
        (e.type.__name__, e.msg.replace("rushlight", "torch"), str(e.id),
         str(e.to_error()).replace("rushlight", "torch")) for e in found
    )  # fmt: skip


class _Odd:
    def __eq__(self, other):
        raise RuntimeError("odd")

    def __repr__(self):
        return "odd"


OBJECTS = {
    "equal": lambda t, c: c.not_close_error_metas({"a": [1, "b"]}, {"a": [1, "b"]}),
    "several": lambda t, c: c.not_close_error_metas(["a", {1: 2, 0: 4}], ["b", {0: 1, 1: 3}]),
    "keys": lambda t, c: c.not_close_error_metas({"b": 1, "a": 2}, {"d": 1, "c": 2}),
    "mixed keys": lambda t, c: c.not_close_error_metas({"b": 1, 3: 2}, {3: 1, "b": 2}),
    "lengths": lambda t, c: c.not_close_error_metas([[1, 2]], [[1]]),
    "texts": lambda t, c: c.not_close_error_metas("ab", "ac"),
    "no equality": lambda t, c: c.not_close_error_metas([_Odd()], [1]),
    "sets are sequences": lambda t, c: c.not_close_error_metas(
        range(3), [0, 1, 4], sequence_types=(range, list)
    ),
    "no sequences": lambda t, c: c.not_close_error_metas([1], [2], sequence_types=()),
    "no pair": lambda t, c: c.not_close_error_metas(1, "a", pair_types=(c.NumberPair, c.NonePair)),
    "one tolerance": lambda t, c: c.not_close_error_metas(
        [1.0], [2.0], pair_types=(c.NumberPair,), rtol=0.1
    ),
    "unused options": lambda t, c: c.not_close_error_metas(
        [None, True, 2.0], [1, True, 3], pair_types=(c.NonePair, c.BooleanPair, c.NumberPair),
        what=1, equal_nan=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_nested_values(name):
    assert _outcome(rushlight, OBJECTS[name]) == _outcome(torch, OBJECTS[name])


NUMBERS = [1, 0, 2**62, 2**62 + 1, 1.0, 1.0 + 1e-9, 0.0, -3.5, float("inf"), float("nan"), 1j,
           1 + 1j, complex("nan+1j"), np.float32(0.1), np.int8(1)]  # fmt: skip


def test_pairs_of_numbers():
    for actual, expected in itertools.product(NUMBERS, repeat=2):
        for options in ({}, {"equal_nan": True}, {"rtol": 0.5, "atol": 0}, {"check_dtype": True}):

            def compared(lib, c, actual=actual, expected=expected, options=options):
                return c.not_close_error_metas(
                    actual, expected, pair_types=(c.NumberPair,), **options
                )

            assert _outcome(rushlight, compared) == _outcome(torch, compared), (actual, expected)


VALUES = {
    "float32": [0.0, 1.0, 1.000001, 1.1, -2.0, float("inf"), float("nan")],
    "bfloat16": [0.0, 1.0, 1.01, 1.1, float("nan")],
    "complex64": [0j, 1 + 1j, 1 + 1.00001j],
    "int64": [0, 1, -5, 2**40],
    "uint8": [0, 1, 255],
    "bool": [True, False],
}


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_pairs_of_tensors(dtype, shape):
    draws = np.random.default_rng(3)
    for turn in range(12):
        values = [draws.choice(np.array(VALUES[dtype]), shape).tolist() for _ in range(2)]
        options = ({}, {"equal_nan": True}, {"rtol": 0.0, "atol": 0.0}, {"rtol": 0, "atol": 2})[
            turn % 4
        ]

        def compared(lib, c, values=values, options=options):
            pair = (lib.tensor(v, dtype=getattr(lib, dtype)) for v in values)
            return c.not_close_error_metas(*pair, pair_types=(c.TensorLikePair,), **options)

        assert _outcome(rushlight, compared) == _outcome(torch, compared)


SPARSE = {
    "coo values": lambda t: (t.eye(3).to_sparse(), (t.eye(3) * 2).to_sparse()),
    "coo indices": lambda t: (t.eye(2).to_sparse(), t.eye(2).flip(0).to_sparse()),
    "coo numbers": lambda t: (t.eye(3).to_sparse(), t.ones(3, 3).to_sparse()),
    "csr values": lambda t: (t.eye(3).to_sparse_csr(), (t.eye(3) * 2).to_sparse_csr()),
    "csc indices": lambda t: (t.eye(2).to_sparse_csc(), t.eye(2).flip(0).to_sparse_csc()),
    "layouts": lambda t: (t.eye(2).to_sparse(), t.ones(2, 2)),
}


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("check_layout", [True, False])
@pytest.mark.filterwarnings("ignore:Sparse")
def test_pairs_of_sparse_tensors(name, check_layout):
    def compared(lib, c):
        return c.not_close_error_metas(
            *SPARSE[name](lib), pair_types=(c.TensorLikePair,), check_layout=check_layout
        )

    assert _outcome(rushlight, compared) == _outcome(torch, compared)


def _picture_pair(lib, c):
    """The pair that torchvision's tests compare pictures with."""

    class PicturePair(c.TensorLikePair):
        def __init__(self, actual, expected, *, mae=False, **others):
            super().__init__(actual, expected, **others)
            self.mae = mae

        def compare(self):
            actual, expected = self.actual, self.expected
            self._compare_attributes(actual, expected)
            actual, expected = self._equalize_attributes(actual, expected)
            if not self.mae:
                super()._compare_values(actual, expected)
                return
            mae = float(lib.abs(actual.int() - expected.int()).float().mean())
            if mae > self.atol:
                self._fail(AssertionError, f"The error is {mae}, but only {self.atol} is allowed.")

        def extra_repr(self):
            return *super().extra_repr(), "mae", ("more", 3)

    return PicturePair


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mae": True, "rtol": 0, "atol": 1},
        {"mae": True, "rtol": 0, "atol": 9},
        {"check_dtype": False},
    ],
)
def test_a_pair_of_ones_own(options):
    def compared(lib, c):
        pictures = [lib.arange(12, dtype=lib.uint8).reshape(3, 2, 2) + n for n in (0, 4)]
        pairs = (c.NonePair, c.BooleanPair, c.NumberPair, _picture_pair(lib, c))
        return c.not_close_error_metas(
            [None, pictures[0]], [None, pictures[1]], pair_types=pairs, **options
        )

    assert _outcome(rushlight, compared) == _outcome(torch, compared)


def test_representations():
    for c, lib in ((ours, rushlight), (theirs, torch)):
        made = [c.NumberPair(1, 2.0, id=("a", 0)), c.ObjectPair("a", "b"), c.NonePair(None, 1),
                _picture_pair(lib, c)(lib.ones(2), lib.ones(2))]  # fmt: skip
        texts = [repr(pair) for pair in made]
        if c is ours:
            expected = texts
    assert expected == texts


def test_booleans_say_where_they_stand():  # PyTorch's pair loses it
    found = ours.not_close_error_metas(
        [1, True], [1, np.False_], pair_types=(ours.BooleanPair, ours.NumberPair)
    )
    assert str(found[0].to_error()) == (
        "Booleans mismatch: True is not False\n\nThe failure occurred for item [1]"
    )


def test_other_errors_of_pairs_are_told():
    class Broken(ours.Pair):
        def compare(self):
            raise ZeroDivisionError("nothing")

    with pytest.raises(RuntimeError, match=r"Comparing\s+Broken\(\s+id=\(\),\s+actual=1") as found:
        ours.not_close_error_metas(1, 2, pair_types=(Broken,))
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    with pytest.raises(TypeError, match="abstract"):
        ours.Pair(1, 2)


def test_tolerances():
    for lib, c in BOTH.items():
        assert c.default_tolerances(lib.float16, lib.ones(1)) == (1e-3, 1e-5)
        assert c.default_tolerances(lib.int8) == (0.0, 0.0)
        table = {lib.float32: (0.5, 0.25)}
        assert c.default_tolerances(lib.float32, lib.int8, dtype_precisions=table) == (0.5, 0.25)
        assert c.get_tolerances(lib.float64, rtol=None, atol=None) == (1e-7, 1e-7)
        assert c.get_tolerances(lib.float64, rtol=1, atol=2) == (1, 2)
        with pytest.raises(TypeError, match="int"):
            c.default_tolerances(3)
        with pytest.raises(c.ErrorMeta) as found:
            c.get_tolerances(lib.float64, rtol=None, atol=2.0, id=("a",))
        error = found.value.to_error()
        assert type(error) is ValueError
        assert str(error).endswith("but got no rtol.\n\nThe failure occurred for item ['a']")


def test_texts_about_differences():
    for identifier in (None, "Pictures", lambda title: f"<{title}>"):
        made = []
        for lib, c in BOTH.items():
            pair = lib.tensor([1.0, 2.0]), lib.tensor([1.0, 3.0])
            options = {"rtol": 0.0, "atol": 0.5, "identifier": identifier}
            made.append((
                c.make_tensor_mismatch_msg(*pair, pair[0] == pair[1], **options),
                c.make_scalar_mismatch_msg(1, 2.0, **options),
            ))  # fmt: skip
        assert made[0] == made[1]


def test_the_error_with_a_text_of_ones_own():
    error = ours.ErrorMeta(ValueError, "bad", id=(0, "a"))
    assert str(error.to_error()) == "bad\n\nThe failure occurred for item [0]['a']"
    assert str(error.to_error("mine")) == "mine"
    assert str(error.to_error(lambda text: text[:3].upper())) == "BAD"
    assert type(error.to_error()) is ValueError
