"""Arrays whose NumPy dtype equals the usual one and is another object: from pickles, of another
byte order and back, with metadata, ``longlong``. Every way in gives tensors of the one dtype object
that is used inside, and the ops that programs use most give what they give otherwise."""

import copy
import importlib.util
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.machine.arrays import BY_CODE

DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64"]


def _bench():
    path = Path(__file__).parents[3] / "bench" / "ops.py"
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("bench_ops", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _copied_dtype(array):
    return array.view(pickle.loads(pickle.dumps(np.zeros(1, array.dtype))).dtype)


KINDS = {
    "pickled": lambda a: pickle.loads(pickle.dumps(a)),
    "swapped and back": lambda a: a.view(a.dtype.newbyteorder().newbyteorder()),
    "copied dtype": _copied_dtype,
    "copied deeply": lambda a: copy.deepcopy(_copied_dtype(a)),
    "with metadata": lambda a: a.view(np.dtype(a.dtype, metadata={"unit": "m"})),
    "longlong": lambda a: a.view(np.longlong) if a.dtype == np.int64 else a,
    "read-only": lambda a: np.frombuffer(a.tobytes(), _copied_dtype(a).dtype).reshape(a.shape),
}
WAYS = {
    "from_numpy": rushlight.from_numpy,
    "tensor": rushlight.tensor,
    "as_tensor": rushlight.as_tensor,
    "as_tensor of a dtype": lambda a: rushlight.as_tensor(a, dtype=rushlight.float64),
    "tensor of a dtype": lambda a: rushlight.tensor(a, dtype=rushlight.float32),
    "asarray": rushlight.asarray,
    "new_tensor": lambda a: rushlight.ones(1).new_tensor(a),
    "default_convert": rushlight.utils.data.default_convert,
    "default_collate": lambda a: rushlight.utils.data.default_collate([a, a]),
    "list of rows": lambda a: rushlight.tensor([a[0], a[1]]),
    "number of NumPy": lambda a: rushlight.tensor(a[0, 0]),
    "array interface": lambda a: np.negative(rushlight.ones(2, 3)) if a.dtype == bool else a + 0,
    "set_": lambda a: rushlight.from_numpy(a[:0]).set_(rushlight.from_numpy(a)),
    "data": lambda a: _with_data(a),
    "unpickled": lambda a: pickle.loads(pickle.dumps(rushlight.from_numpy(a))),
    "deepcopy": lambda a: copy.deepcopy(rushlight.from_numpy(a)),
    "dlpack": lambda a: rushlight.from_dlpack(a),
    "beside": lambda a: rushlight.ones(2, 3) * a,
    "numpy and back": lambda a: rushlight.from_numpy(rushlight.from_numpy(a).numpy()),
}


def _with_data(array):
    made = rushlight.empty(0, dtype=rushlight.from_numpy(array).dtype)
    made.data = rushlight.from_numpy(array)
    return made


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in(way, dtype):
    given = (np.arange(6).reshape(2, 3) - 2).astype(dtype)
    for name, kind in KINDS.items():
        if way in ("dlpack",) and name == "read-only":
            continue  # which NumPy does not export
        if dtype == "complex64" and way == "tensor of a dtype":
            continue  # drops the imaginary part, with a warning
        found, usual = WAYS[way](kind(given)), WAYS[way](given)
        if isinstance(found, rushlight.Tensor):
            assert found._array.dtype is BY_CODE[found.dtype.code], name
            assert found.dtype is usual.dtype
        np.testing.assert_array_equal(np.asarray(found), np.asarray(usual), err_msg=name)


BENCH = _bench()
EXPRESSIONS = {
    **BENCH.EXPRESSIONS,
    "linear": "F.linear(x, y, w[:, 0])", "mm": "x.mm(y.t())", "matmul": "x @ y.t()",
    "conv": "F.conv2d(x[None, None], y[None, None, :3, :3])", "bmm": "L.bmm(x[None], y.t()[None])",
}  # fmt: skip
RANDOM = {"multinomial", "empty", "empty_like", "item"}


def _names():
    return BENCH.arguments(rushlight, 1000)


def _other(value, kind):
    if isinstance(value, np.ndarray):
        return kind(value)
    if not isinstance(value, rushlight.Tensor):
        return value
    made = rushlight.from_numpy(kind(value.numpy().copy()))
    return made if value.is_contiguous() else made.t().contiguous().t()


def _arrays(result):
    if isinstance(result, tuple | list):
        return [a for part in result for a in _arrays(part)]
    return [result]


def test_the_hundred_are_among_them():
    text = " ".join(EXPRESSIONS.values())
    missing = {n for n in BENCH.MOST_USED if n not in EXPRESSIONS and n not in text}
    assert missing <= {"long", "float", "add", "to", "mul", "sub", "eq", "pow", "div", "matmul"}


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "read-only"])
def test_most_used_ops(kind):
    usual, others = (
        {name: _other(value, change) for name, value in _names().items()}
        for change in (np.copy, KINDS[kind])
    )
    for name, text in EXPRESSIONS.items():
        for _ in range(2):  # the second call goes the short way that the first has made
            results = []
            for names in (usual, others):
                rushlight.manual_seed(1)
                results.append(_arrays(eval(text, dict(names))))  # noqa: S307 - bench's own text
            for a, b in zip(*results, strict=True):
                if isinstance(b, rushlight.Tensor):
                    assert b._array.dtype is BY_CODE[b.dtype.code], name
                    assert a.dtype is b.dtype, name
                    if name not in RANDOM:
                        half = a.dtype is rushlight.bfloat16
                        a, b = (a.float(), b.float()) if half else (a, b)
                        np.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)


def test_linear_of_unpickled_arrays():
    """Which called itself without end."""
    x, w = (pickle.loads(pickle.dumps(np.ones(s, np.float32))) for s in ((4, 3), (2, 3)))
    found = rushlight.nn.functional.linear(rushlight.from_numpy(x), rushlight.from_numpy(w))
    assert found.tolist() == [[3.0, 3.0]] * 4
