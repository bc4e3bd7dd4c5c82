"""What restricted loads are charged for, and what they give: one case of each kind. Thousands of
files that were made to exceed it are in `ci/bombs`."""

import importlib
import io
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight.serialization import budget, keys

safe_globals = importlib.import_module("rushlight.serialization.safe_globals")

CI = Path(__file__).parents[3] / "ci"
FAR_MORE = "far more memory than the file has bytes"


@pytest.fixture(scope="module")
def bombs():
    sys.path.insert(0, str(CI))
    try:
        yield importlib.import_module("bombs.assembler")
    finally:
        sys.path.remove(str(CI))


def _load(bombs, *parts, storages=(b"\1" * 64,)):
    return rushlight.load(io.BytesIO(bombs.archive(bombs.program(*parts), storages)))


@pytest.mark.parametrize(
    "name", ("builtins.set", "builtins.frozenset", "torch.Size", "torch.Tensor",
             "collections.OrderedDict"),
)  # fmt: skip
def test_a_call_is_charged_for_what_it_makes(bombs, name):
    """Of one list of 60,000 members, once it is made and a thousand times it is refused."""
    members = b"](" + b"".join(map(bombs.number, range(60_000))) + b"e"
    if name == "collections.OrderedDict":
        members = b"](" + b"".join(bombs.number(k) + b"N\x86" for k in range(60_000)) + b"e"
    call = bombs.get(0) + bombs.get(1) + b"\x85R"
    head = bombs.name(name) + bombs.put(0) + members + bombs.put(1)
    assert len(_load(bombs, head, call)) == 60_000
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, head, b"](", call * 1000, b"e")


@pytest.mark.parametrize(
    ("name", "more"), (("builtins.bytes", b"\x85"), ("builtins.bytearray", b"\x85"),
                       ("_codecs.encode", b"\x86")),
)  # fmt: skip
def test_a_call_is_charged_for_bytes(bombs, name, more):
    data = b"B" + (1 << 20).to_bytes(4, "little") + b"a" * (1 << 20)
    if name == "_codecs.encode":
        data, more = bombs.text("a" * (1 << 20)), bombs.text("latin1") + more
    head = bombs.name(name) + bombs.put(0) + data + bombs.put(1)
    call = bombs.get(0) + bombs.get(1) + more + b"R"
    assert _load(bombs, head, call) == b"a" * (1 << 20)
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, head, b"](", call * 100, b"e")


def test_a_tensor_of_sizes_is_zero(bombs):
    """`torch.Tensor(n)` is uninitialised memory in PyTorch."""
    made = _load(bombs, bombs.name("torch.Tensor"), bombs.number(16384), b"\x85R")
    assert made.shape == (16384,) and not made.any()
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, bombs.name("torch.Tensor"), bombs.number(1 << 33), b"\x85R")
    nested = b"](" + bombs.real(2.0) * 3 + b"e" + bombs.put(0) + b"](" + bombs.get(0) * 2 + b"e"
    assert _load(bombs, bombs.name("torch.Tensor"), nested, b"\x85R").tolist() == [[2.0] * 3] * 2


def test_expanded_tensors_take_no_memory(bombs):
    made = _load(bombs, bombs.tensor(bombs.storage("FloatStorage", 16), (1 << 30, 1 << 29), (0, 0)))
    assert made.shape == (1 << 30, 1 << 29) and made.stride() == (0, 0)


NAMES = sorted(f"{module}.{name}" for module, name in safe_globals.FIXED)


@pytest.mark.parametrize("name", NAMES)
def test_words_are_not_compared_with_tensors(bombs, name):
    """A tensor of 2**33 elements in the place of any argument is refused by its type, or kept;
    nor are its elements written into the error."""
    huge = bombs.tensor(bombs.storage("FloatStorage", 16), (1 << 33,), (0,)) + bombs.put(1)
    for count, tupled in ((1, b"\x85"), (2, b"\x86"), (3, b"\x87")):
        try:
            _load(bombs, huge, bombs.name(name), bombs.get(1) * count, tupled, b"R")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no lack of memory
            assert not isinstance(error.__cause__, MemoryError), error


def test_a_hundred_members_with_one_hash(bombs):
    """Are put in, tens of thousands are not."""
    sys.path.insert(0, str(CI))
    pairs = importlib.import_module("bombs.keys").colliding_pairs(4000)
    sys.path.remove(str(CI))
    assert len({hash(pair) for pair in pairs}) == 1

    def items(count):
        return b"".join(bombs.number(a) + bombs.number(b) + b"\x86N" for a, b in pairs[:count])

    assert list(_load(bombs, b"}(", items(100), b"u")) == pairs[:100]
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, b"}(", items(4000), b"u")


def test_time_is_charged_for_in_large_dicts_only(monkeypatch):
    clock = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(keys.time, "thread_time_ns", lambda: next(clock))
    spent = budget.Budget(10**9)
    keys.Keys(spent).put({}, list(range(100)))
    assert spent.left == 10**9
    keys.Keys(spent).put({}, list(range(keys._LARGE + 2)))
    pieces = -(-(keys._LARGE + 2) // keys._PIECE)
    assert spent.left == 10**9 - pieces * (10**9 // keys._NANOSECONDS)


def test_attributes_are_named_by_strings(bombs):
    made = bombs.name("collections.OrderedDict") + b")R"
    assert _load(bombs, made, b"}", bombs.text("tag"), b"Nsb").tag is None
    with pytest.raises(Exception, match="an attribute's name is not a string"):
        _load(bombs, made, b"}K\x01Nsb")


def test_memo_numbers_may_leave_some_out(bombs):
    assert _load(bombs, b"K\x07q\x01r\x00\x01\x00\x000h\x01") == 7
    with pytest.raises(Exception, match="nothing was kept as number 5"):
        _load(bombs, b"K\x07q\x09h\x05")
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, b"Nr\xff\xff\xff\x7f")


def test_storages_and_objects_are_charged_together(bombs):
    """What storages have of the file's size is not there for objects."""
    stored = bombs.storage("ByteStorage", 60 << 20)
    lists = b"](" + b"]" * 800_000 + b"e"
    with pytest.raises(RuntimeError, match=FAR_MORE):
        _load(bombs, b"(", stored, lists, b"t", storages=(b"\0" * (60 << 20),))


def test_thirty_thousand_small_tensors(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save(
        {f"layer.{i}.weight": rushlight.full((4,), float(i)) for i in range(30_000)}, path
    )
    loaded = rushlight.load(path)
    assert loaded["layer.29999.weight"].tolist() == [29999.0] * 4


def test_a_load_inside_of_a_load_has_its_own_budget(tmp_path):
    path = tmp_path / "x.pt"
    rushlight.save(rushlight.ones(3), path)
    inner = []

    def place(storage, location):
        inner.append(budget.current())
        rushlight.load(path)
        assert budget.current() is inner[-1]

    rushlight.load(path, map_location=place)
    assert len(inner) == 1 and budget.current() is not inner[0]


def test_large_headers_of_safetensors_are_bounded(tmp_path):
    """A header is held beside its text, which takes four bytes a character where one needs them."""
    import json
    import resource

    from rushlight import safetensors

    for text, fits in (("a", True), ("\U0001f600", False)):
        header = json.dumps({"__metadata__": {"x": text}}, ensure_ascii=False)
        raw = (header[:-1] + " " * (20 << 20) + "}").encode()
        path = tmp_path / "a.safetensors"
        path.write_bytes(len(raw).to_bytes(8, "little") + raw)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if fits:
            assert safetensors.load_file(path) == {}
        else:
            with pytest.raises(RuntimeError, match="takes too much memory"):
                safetensors.load_file(path)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (20 + 64) << 10


def test_files_of_many_small_objects_say_how_to_load_them(tmp_path):
    path = tmp_path / "a.pt"
    words = {f"word{i}": i for i in range(400_000)}
    rushlight.save(words, path)
    with pytest.raises(RuntimeError, match="a.pt' is refused: .*far more memory.* spare=1 << 30"):
        rushlight.load(path)
    assert rushlight.load(path, spare=1 << 30) == words
    with pytest.raises(RuntimeError, match="is refused"):
        rushlight.load(path, spare=0)
