"""Single things that programs write: each is taken as PyTorch takes it."""

import io
import math
import subprocess
import sys
import time
import tracemalloc

import pytest

import rushlight
from rushlight import distributions, nn, optim


def test_writes_into_an_expansion_without_repeats():
    x = rushlight.arange(5).expand(1, -1)
    assert x.copy_(rushlight.ones(1, 5, dtype=rushlight.int64)).tolist() == [[1] * 5]
    assert rushlight.zeros(3).expand(1, 1, 3).add_(2).tolist() == [[[2.0] * 3]]
    assert rushlight.zeros(3).expand(3).fill_(2).tolist() == [2.0] * 3
    with pytest.raises(RuntimeError, match="more than one element"):
        rushlight.zeros(3).expand(2, 3).add_(1)
    with pytest.raises(RuntimeError, match="more than one element"):
        rushlight.zeros(1, 3).expand(2, 3).copy_(rushlight.ones(2, 3))


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_the_gradient_of_joining_nothing(dim):
    nothing = rushlight.tensor([], requires_grad=True)
    x = rushlight.ones(2, 3, requires_grad=True)
    rushlight.cat([nothing, x, nothing], dim=dim).sum().backward()
    assert x.grad.tolist() == [[1.0] * 3] * 2
    assert nothing.grad.shape == (0,)


def test_a_name_that_is_not_there_has_no_attributes():
    assert not hasattr(rushlight.quantize_per_tensor, "anything")
    assert getattr(rushlight.quantize_per_tensor, "anything", 3) == 3
    with pytest.raises(NotImplementedError, match="Instead"):
        rushlight.quantize_per_tensor.anything  # noqa: B018 - the use is what raises


class _Careless(optim.Optimizer):
    def __init__(self, params):
        self.param_groups, self.state = [{"params": list(params)}], {}

    def step(self, closure=None):
        return 3


def test_an_optimizer_that_never_calls_its_base():
    parameter = nn.Parameter(rushlight.ones(2))
    parameter.grad = rushlight.ones(2)
    careless = _Careless([parameter])
    assert careless.step() == 3
    careless.zero_grad()
    assert parameter.grad is None


def test_zeros_in_gradients_that_are_views():
    memory = rushlight.ones(8)
    parameter = nn.Parameter(rushlight.ones(4))
    parameter.grad = memory[:4]
    optim.SGD([parameter], lr=0.1).zero_grad(set_to_none=False)
    assert memory.tolist() == [0.0] * 4 + [1.0] * 4


def test_divergences_of_any_classes():
    class Plain:
        pass

    distributions.register_kl(Plain, Plain)(lambda p, q: 3)
    assert distributions.kl_divergence(Plain(), Plain()) == 3
    with pytest.raises(TypeError, match="type_q must be a class"):
        distributions.register_kl(Plain, 3)


def test_clipping_what_is_used_up():
    parameter = nn.Parameter(rushlight.ones(2))
    parameter.grad = rushlight.ones(2)
    parameters = iter([parameter])
    generator = (p for p in parameters)
    assert nn.utils.clip_grad_norm_(generator, 1.0).item() == pytest.approx(math.sqrt(2))
    with pytest.warns(UserWarning, match="generator"):
        assert nn.utils.clip_grad_norm_(generator, 1.0).item() == 0.0
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_a_program_from_a_pipe():
    command = [sys.executable, "-m", "rushlight", "run", "/dev/stdin"]
    found = subprocess.run(
        command, input="import torch\nprint(torch.ones(2).tolist())", capture_output=True, text=True
    )
    assert found.stdout == "[1.0, 1.0]\n"


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_sparse_tensors_without_elements_are_read_back(layout):
    block = ((2, 2),) if layout[0] == "b" else ()
    made = getattr(rushlight.zeros(4, 6), f"to_sparse_{layout}")(*block)
    file = io.BytesIO()
    rushlight.save(made, file)
    file.seek(0)
    found = rushlight.load(file)
    assert (found.layout, found.shape, found._nnz()) == (made.layout, made.shape, 0)


def test_tensors_of_storages():
    x = rushlight.arange(3.0)
    storage = x.untyped_storage()
    shared = rushlight.asarray(storage, dtype=rushlight.float32)
    shared[0] = 5
    assert x[0].item() == 5
    assert rushlight.asarray(storage, dtype=rushlight.uint8).tolist() == storage.tolist()
    assert rushlight.tensor(storage, dtype=rushlight.uint8).tolist() == storage.tolist()
    assert rushlight.tensor(bytearray(b"ab")).tolist() == [97, 98]


def test_large_buffers_are_not_walked():
    """A walk in Python over as many bytes would take minutes."""
    storage = rushlight.zeros(20_000_000).untyped_storage()
    begin = time.monotonic()
    assert rushlight.asarray(storage, dtype=rushlight.uint8).shape == (80_000_000,)
    assert rushlight.tensor(bytearray(80_000_000)).shape == (80_000_000,)
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("again", [False, True])
def test_pairs(again):
    x = rushlight.tensor([3, 1, 2])
    found = rushlight.combinations(x, with_replacement=again).tolist()
    rows = [[3, 3], [3, 1], [3, 2], [1, 1], [1, 2], [2, 2]]
    assert found == (rows if again else [r for r in rows if r[0] != r[1]])
    assert rushlight.combinations(x[:1]).shape == (0, 2)
    assert rushlight.combinations(rushlight.arange(3000)).shape == (4_498_500, 2)
    assert rushlight.combinations(x, 3).tolist() == [[3, 1, 2]]


# `vars` of the top level and of nn.functional leave out what has not been used yet: they stand
# before calls of functions, where a module that can list more takes 10 ns longer each time.
LISTED = (
    "optim optim.lr_scheduler nn nn.init nn.utils linalg fft special distributions autograd "
    "utils.data amp func sparse random profiler overrides library masked"
).split()


def _listed(lines):
    """What a fresh process prints."""
    text = f"import importlib\n{lines}"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.parametrize("name", LISTED)
def test_vars_of_modules(name):
    """Programs look names up in ``vars(optim)`` and walk over it."""
    library = pytest.importorskip("torch")
    for part in name.split("."):
        library = getattr(library, part)
    lines = f"m = importlib.import_module('rushlight.{name}')\nprint(*dir(m), '-', *vars(m))"
    names, listed = " ".join(_listed(lines)).split(" - ")
    public = {n for n in vars(library) if n[0] != "_"}
    assert not (public & {*names.split()}) - {*listed.split()}


def test_modules_are_ordinary_once_listed():
    lines = (
        "from rushlight import optim\n"
        "print(type(optim).__name__, 'Adam' in optim.__dict__, type(optim).__name__)\n"
        "print(sorted(n for n in vars(optim) if n in ('SGD', 'Adam', 'lr_scheduler')))\n"
    )
    found = _listed(lines)
    assert found == ["_Unlisted", "True", "module", "['Adam',", "'SGD',", "'lr_scheduler']"]


_FULL, _LONG = [1] * 64, [2, *[1] * 68, 3]
# What gives more dimensions than an array of NumPy's has.
MANY_DIMS = {
    "ones": lambda: rushlight.ones(_LONG), "zeros": lambda: rushlight.zeros(*_LONG),
    "full": lambda: rushlight.full(_LONG, 2.0), "rand": lambda: rushlight.rand(_LONG),
    "meta": lambda: rushlight.ones(_LONG, device="meta"),
    "reshape": lambda: rushlight.arange(6).reshape(_LONG),
    "view": lambda: rushlight.arange(6).view(_LONG),
    "unflatten": lambda: rushlight.arange(6).unflatten(0, _LONG),
    "as_strided": lambda: rushlight.ones(6).as_strided(_LONG, [1] * 70),
    "unsqueeze": lambda: rushlight.ones(_FULL).unsqueeze(0),
    "None": lambda: rushlight.ones(_FULL)[None],
    "many None": lambda: rushlight.ones(2)[(None,) * 65],
    "expand": lambda: rushlight.ones(1).expand(_LONG),
    "repeat": lambda: rushlight.ones(1).repeat(_LONG),
    "stack": lambda: rushlight.stack([rushlight.ones(_FULL)] * 2),
    "index": lambda: rushlight.ones(2, 2)[rushlight.zeros(_FULL, dtype=rushlight.int64)],
    "tensordot": lambda: rushlight.tensordot(rushlight.ones(_FULL), rushlight.ones(_FULL), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY_DIMS)
def test_more_dimensions_than_there_can_be(name):
    with pytest.raises((NotImplementedError, ValueError, IndexError), match=r"\b64\b"):
        MANY_DIMS[name]()


def test_as_many_dimensions_as_there_can_be():
    x = rushlight.ones(_FULL, requires_grad=True)
    y = (x.permute(*range(63, -1, -1)) + x).sum()
    y.backward()
    assert (x.grad.shape, x.grad.item()) == (rushlight.Size(_FULL), 2.0)
    assert rushlight.cartesian_prod(*[x.reshape(1)] * 65, rushlight.ones(2)).shape == (2, 66)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("r", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_combinations(count, r, again):
    torch = pytest.importorskip("torch")
    given = torch.arange(float(count)) * 2
    x = rushlight.tensor(given.numpy(), requires_grad=True)
    theirs = torch.combinations(given.requires_grad_(), r, again)
    found = rushlight.combinations(x, r, again)
    assert found.tolist() == theirs.tolist()
    assert tuple(found.shape) == tuple(theirs.shape)
    assert rushlight.combinations(x.detach(), r, again).tolist() == theirs.tolist()
    theirs.sum().backward()
    found.sum().backward()
    assert x.grad.tolist() == given.grad.tolist()


def test_combinations_need_little_more_memory_than_their_result():
    x = rushlight.arange(2000.0)
    tracemalloc.start()
    try:
        found = rushlight.combinations(x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1.5 * found.nbytes
