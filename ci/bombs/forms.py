"""Tensors of impossible forms, states that are set again and again."""

from __future__ import annotations

from bombs.assembler import (
    MANY,
    archive,
    bomb,
    get,
    name,
    number,
    numbers,
    program,
    put,
    storage,
    tensor,
    text,
)


def sparse(layout: str, parts: bytes, size) -> bytes:
    made = name("torch.serialization._get_layout") + text(f"torch.{layout}") + b"\x85R"
    return (
        name("torch._utils._rebuild_sparse_tensor") + made + b"(" + parts + numbers(size) + b"t"
        + b"\x86R"
    )  # fmt: skip


@bomb("COO with one index for all")
def _coo() -> bytes:
    index = tensor(storage("LongStorage", 8), (2, 1 << 28), (0, 0))
    values = tensor(storage("FloatStorage", 16, 1), (1 << 28,), (0,))
    made = sparse("sparse_coo", index + values, (1 << 60, 1 << 60))
    return archive(program(made), (b"\1" * 64, b"\0" * 64))


@bomb("COO with overlapping indices, many times")
def _coo_many() -> bytes:
    index = tensor(storage("LongStorage", 100_000), (2, 50_000), (1, 1))
    values = tensor(storage("FloatStorage", 16, 1), (50_000,), (0,))
    kept = index + put(0) + values + put(1)
    made = sparse("sparse_coo", get(0) + get(1), (1 << 60, 1 << 60))
    return archive(program(kept, b"](", made * MANY, b"e"), (b"\1" * 800_000, b"\0" * 64))


@bomb("CSR with one index for all")
def _csr() -> bytes:
    rows = tensor(storage("LongStorage", 8), (1 << 28,), (0,))
    columns = tensor(storage("LongStorage", 8), (0,), (0,))
    values = tensor(storage("FloatStorage", 16, 1), (0,), (0,))
    made = sparse("sparse_csr", rows + columns + values, ((1 << 28) - 1, 5))
    return archive(program(made), (b"\0" * 64, b"\0" * 64))


@bomb("CSR, the same parts many times")
def _csr_many() -> bytes:
    rows = tensor(storage("LongStorage", 60_000), (60_000,), (1,))
    columns = tensor(storage("LongStorage", 8), (0,), (0,))
    values = tensor(storage("FloatStorage", 16, 1), (0,), (0,))
    kept = rows + put(0) + columns + put(1) + values + put(2)
    made = sparse("sparse_csr", get(0) + get(1) + get(2), (59_999, 5))
    return archive(program(kept, b"](", made * MANY, b"e"), (b"\0" * 480_000, b"\0" * 64))


@bomb("CSC of an expanded batch")
def _csc_batch() -> bytes:
    rows = tensor(storage("LongStorage", 8), (1 << 26, 2), (0, 1))
    columns = tensor(storage("LongStorage", 8), (1 << 26, 0), (0, 1))
    values = tensor(storage("FloatStorage", 16, 1), (1 << 26, 0), (0, 1))
    made = sparse("sparse_csc", rows + columns + values, (1 << 26, 5, 1))
    return archive(program(made), (b"\0" * 64, b"\0" * 64))


@bomb("CSR without elements, 2**40 rows")
def _csr_rows() -> bytes:
    rows = tensor(storage("LongStorage", 8), (2,), (1,))
    empty = tensor(storage("LongStorage", 8), (0,), (1,))
    return archive(program(sparse("sparse_csr", rows + empty + empty, (1 << 40, 1 << 40))),
                   (b"\0" * 64,))  # fmt: skip


def _lazy(key: str, count: int) -> bytes:
    marked = b"}" + text(key) + b"\x88s"
    kept = storage("ComplexFloatStorage", 1 << 16) + put(5)
    made = tensor(get(5), (1 << 16,), (1,), marked)
    return archive(program(kept, b"](", made * count, b"e"), (b"\0" * (1 << 19),))


@bomb("conjugates of one storage")
def _conjugates() -> bytes:
    return _lazy("conj", MANY)


@bomb("negatives of one storage")
def _negatives() -> bytes:
    return _lazy("neg", MANY)


@bomb("an expanded conjugate")
def _expanded_conjugate() -> bytes:
    marked = b"}" + text("conj") + b"\x88s"
    return archive(program(tensor(storage("ComplexFloatStorage", 8), (1 << 30,), (0,), marked)))


@bomb("an expanded tensor, which is legal")
def _expanded() -> bytes:
    return archive(program(tensor(storage("FloatStorage", 16), (1 << 30, 1 << 29), (0, 0))))


@bomb("parameters of an expanded tensor")
def _expanded_parameters() -> bytes:
    kept = tensor(storage("FloatStorage", 16), (1 << 30, 1 << 29), (0, 0)) + put(0)
    made = name("torch._utils._rebuild_parameter") + get(0) + b"\x88}\x87R"
    return archive(program(kept, b"](", made * MANY, b"e"))


@bomb("tensors of one large shape")
def _shapes() -> bytes:
    size = numbers((1,) * 64) + put(0)
    made = (
        name("torch._utils._rebuild_tensor_v2") + b"(" + get(1) + number(0) + get(0) + get(0)
        + b"\x89)tR"
    )  # fmt: skip
    kept = size + storage("FloatStorage", 16) + put(1)
    return archive(program(kept, b"](", made * 50_000, b"e"))


@bomb("parameters with one large state")
def _states() -> bytes:
    state = b"}(" + b"".join(text(f"a{k}") + b"N" for k in range(30_000)) + b"u" + put(1)
    kept = tensor(storage("FloatStorage", 16), (16,), (1,)) + put(0)
    made = (
        name("torch._utils._rebuild_parameter_with_state") + b"(" + get(0) + b"\x88}" + get(1)
        + b"tR"
    )  # fmt: skip
    return archive(program(state, kept, b"](", made * MANY, b"e"))


@bomb("types with one large state")
def _type_states() -> bytes:
    state = b"}(" + b"".join(text(f"a{k}") + b"N" for k in range(30_000)) + b"u" + put(1)
    kept = storage("FloatStorage", 16) + put(0)
    args = b"(" + get(0) + number(0) + numbers((1,)) + numbers((1,)) + b"\x89}t"
    made = (
        name("torch._tensor._rebuild_from_type_v2") + b"(" + name("torch._utils._rebuild_tensor_v2")
        + name("torch.Tensor") + args + get(1) + b"tR"
    )  # fmt: skip
    return archive(program(state, kept, b"](", made * MANY, b"e"))


@bomb("BUILD with one large state")
def _built() -> bytes:
    state = b"}(" + b"".join(text(f"a{k}") + b"N" for k in range(30_000)) + b"u" + put(1)
    made = name("collections.OrderedDict") + b")R" + get(1) + b"b"
    return archive(program(state, b"](", made * MANY, b"e"))


@bomb("BUILD of one object, again and again")
def _rebuilt() -> bytes:
    state = b"}(" + b"".join(text(f"a{k}") + b"N" for k in range(30_000)) + b"u" + put(1)
    made = name("collections.OrderedDict") + b")R"
    return archive(program(state, made, (get(1) + b"b") * 200_000))


@bomb("a tensor in place of a function")
def _function() -> bytes:
    kept = tensor(storage("FloatStorage", 16), (1 << 33,), (0,)) + put(0)
    made = name("torch._tensor._rebuild_from_type_v2") + b"("
    return archive(program(kept, made, get(0), name("torch.Tensor"), b")}tR"))


@bomb("a tensor in place of a word")
def _word() -> bytes:
    kept = tensor(storage("FloatStorage", 16), (1 << 33,), (0,)) + put(0)
    return archive(program(kept, b"(", get(0) * 5, b"tQ"))


@bomb("storages larger than their entries")
def _large_storages() -> bytes:
    return archive(program(b"](", storage("FloatStorage", 1 << 40) * 10, b"e"))


@bomb("one storage, many times as large types")
def _typed_storages() -> bytes:
    kinds = ("FloatStorage", "DoubleStorage", "ByteStorage", "LongStorage")
    made = b"".join(storage(kind, 4) for kind in kinds)
    return archive(program(b"](", made * 20_000, b"e"))


@bomb("tuples of storages")
def _storage_tuples() -> bytes:
    held = b"(" + get(0) + b"N" * 200_000 + b"t" + put(1)
    return archive(
        program(storage("FloatStorage", 16), put(0), held, b"](", get(1) * 100_000, b"e")
    )


@bomb("meta tensors")
def _metas() -> bytes:
    made = (
        name("torch._utils._rebuild_meta_tensor_no_storage") + b"(" + name("torch.float32")
        + numbers((1 << 30, 1 << 29)) + numbers((1, 1)) + b"\x89tR"
    )  # fmt: skip
    return archive(program(b"](", made * MANY, b"e"))
