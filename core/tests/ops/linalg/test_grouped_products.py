"""Grouped products and products of scaled eight-bit floats, against PyTorch's of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
SHAPES = {
    "rows": ((8, 16), (3, 16, 8), True),
    "columns": ((3, 8, 16), (16, 8), True),
    "sums": ((8, 8), (8, 16), True),
    "batches": ((3, 8, 16), (3, 16, 8), False),
}
_ROUGH = {"float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}


def _tensor(lib, shape, seed, dtype="float32"):
    values = np.random.default_rng(seed).normal(size=shape).astype("f")
    return lib.from_numpy(values).to(getattr(lib, dtype))


def _ends(lib, *ends, dtype="int32"):
    return lib.tensor(ends, dtype=getattr(lib, dtype))


def _plain(tensor):
    return tensor.detach().float().numpy()


@pytest.mark.parametrize("dtype", _ROUGH)
@pytest.mark.parametrize("case", SHAPES)
def test_values_and_gradients(case, dtype):
    first, second, grouped = SHAPES[case]

    def program(lib):
        a, b = (_tensor(lib, s, i, dtype).requires_grad_() for i, s in enumerate((first, second)))
        out = lib.nn.functional.grouped_mm(a, b, offs=_ends(lib, 2, 2, 8) if grouped else None)
        out.backward(_tensor(lib, out.shape, 3, dtype))
        assert str(out.dtype).endswith(dtype) and out.is_contiguous()
        private = lib._grouped_mm(a, b, _ends(lib, 2, 2, 8) if grouped else None)
        return [_plain(t) for t in (out, a.grad, b.grad, private)]

    for ours, theirs in zip(*map(program, LIBRARIES), strict=True):
        scale = abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, _ROUGH[dtype], _ROUGH[dtype] * scale)


def test_transposed_batches_and_rows_in_no_group():
    a, b = (_tensor(rushlight, s, i) for i, s in enumerate(((8, 16), (3, 8, 16))))
    out = rushlight.nn.functional.grouped_mm(a, b.mT, offs=_ends(rushlight, 1, 4, 6))
    expected = [a[:1] @ b[0].T, a[1:4] @ b[1].T, a[4:6] @ b[2].T, rushlight.zeros(2, 8)]
    assert rushlight.allclose(out, rushlight.cat(expected), rtol=1e-5, atol=1e-5)
    theirs = torch.nn.functional.grouped_mm(
        *(_tensor(torch, s, i).mT if i else _tensor(torch, s, i) for i, s in
          enumerate(((8, 16), (3, 8, 16)))), offs=_ends(torch, 1, 4, 6),
    )  # fmt: skip
    np.testing.assert_allclose(_plain(out)[:6], _plain(theirs)[:6], 1e-5, 1e-5)


def test_transforms():
    """Of examples at once, in forward mode and twice, by the ops that it is made of."""
    a, b = (_tensor(rushlight, s, i) for i, s in enumerate(((2, 8, 16), (3, 16, 8))))
    ends = _ends(rushlight, 2, 5, 8)

    def product(a):
        return rushlight.nn.functional.grouped_mm(a, b, offs=ends)

    looped = rushlight.stack([product(one) for one in a])
    assert rushlight.allclose(rushlight.func.vmap(product)(a), looped, atol=1e-5)
    _, tangent = rushlight.func.jvp(product, (a[0],), (a[1],))
    assert rushlight.allclose(tangent, looped[1], atol=1e-5)
    x = a[0].clone().requires_grad_()
    (first,) = rushlight.autograd.grad((product(x) ** 2).sum(), x, create_graph=True)
    (second,) = rushlight.autograd.grad((first * a[1]).sum(), x)
    (expected,) = rushlight.autograd.grad((product(x) * 2 * looped[1]).sum(), x)
    assert rushlight.allclose(second, expected, rtol=1e-4, atol=1e-4)


WRONG = {
    "no offsets": lambda lib, a, b: (a, b, {}),
    "offsets of batches": lambda lib, a, b: (b.mT, b, {"offs": _ends(lib, 4, 8, 8)}),
    "contraction": lambda lib, a, b: (a[:, :8], b, {"offs": _ends(lib, 4, 8, 8)}),
    "wide offsets": lambda lib, a, b: (a, b, {"offs": _ends(lib, 4, 8, 8, dtype="int64")}),
    "few offsets": lambda lib, a, b: (a, b, {"offs": _ends(lib, 4, 8)}),
    "rows of offsets": lambda lib, a, b: (a, b, {"offs": _ends(lib, 4, 8, 8)[None]}),
    "bias": lambda lib, a, b: (a, b, {"offs": _ends(lib, 4, 8, 8), "bias": a[0, :8]}),
    "out_dtype": lambda lib, a, b: (
        a, b, {"offs": _ends(lib, 4, 8, 8), "out_dtype": lib.bfloat16}
    ),
    "a vector": lambda lib, a, b: (a[0], b, {"offs": _ends(lib, 4, 8, 8)}),
    "four dimensions": lambda lib, a, b: (a, b[None], {"offs": _ends(lib, 4, 8, 8)}),
    "batches of other lengths": lambda lib, a, b: (b[:2].mT, b, {}),
    "double": lambda lib, a, b: (a.double(), b.double(), {"offs": _ends(lib, 4, 8, 8)}),
    "gaps": lambda lib, a, b: (a[:, ::2], b[:, :8], {"offs": _ends(lib, 4, 8, 8)}),
    "short lines": lambda lib, a, b: (
        _tensor(lib, (8, 15), 0), b[:, :15], {"offs": _ends(lib, 4, 8, 8)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_pytorchs(case):
    messages = []
    for lib in LIBRARIES:
        a, b = (_tensor(lib, s, i) for i, s in enumerate(((8, 16), (3, 16, 8))))
        a, b, options = WRONG[case](lib, a, b)
        with pytest.raises(RuntimeError) as caught:
            lib.nn.functional.grouped_mm(a, b, **options)
        messages.append(" ".join(str(caught.value).split()[:4]))
    assert messages[0] == messages[1]


def test_offsets_that_decrease_or_go_too_far_are_refused():
    a, b = (_tensor(rushlight, s, i) for i, s in enumerate(((8, 16), (3, 16, 8))))
    for ends in ((4, 3, 8), (4, 8, 9)):
        with pytest.raises(RuntimeError, match="offs must not decrease nor exceed 8"):
            rushlight.nn.functional.grouped_mm(a, b, offs=_ends(rushlight, *ends))


# --------------------------------------------------------------------------------- eight-bit floats
def _scaled(lib, by_row, listed, output, biased):
    functional = lib.nn.functional
    kind = functional.ScalingType.RowWise if by_row else functional.ScalingType.TensorWise
    a, b = (_tensor(lib, (16, 32), i).to(lib.float8_e4m3fn) for i in range(2))
    shapes = ((16, 1), (1, 16)) if by_row else ((), ())
    first, second = (_tensor(lib, s, 5 + i).abs() for i, s in enumerate(shapes))
    if listed:
        first, second, kind = [first], [second], [kind]
    options = {} if output is None else {"output_dtype": getattr(lib, output)}
    if biased:
        options["bias"] = _tensor(lib, (16,), 9, output or "bfloat16")
    return functional.scaled_mm(a, b.t(), first, kind, second, kind, **options)


@pytest.mark.parametrize("by_row", (False, True), ids=("tensor", "rows"))
@pytest.mark.parametrize("output", (None, "float32"))
@pytest.mark.parametrize("biased", (False, True), ids=("plain", "biased"))
def test_scaled_products(by_row, output, biased):
    for listed in (False, True):
        ours, theirs = (_scaled(lib, by_row, listed, output, biased) for lib in LIBRARIES)
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        rough = 1e-5 if output else 8e-3
        np.testing.assert_allclose(_plain(ours), _plain(theirs), rough, rough)


def test_scales_of_blocks_and_grouped_scaled_products_are_refused():
    for lib in LIBRARIES:
        functional = lib.nn.functional
        assert [(k.name, k.value) for k in functional.ScalingType.__members__.values()] == [
            ("TensorWise", 0), ("RowWise", 1), ("BlockWise1x16", 2), ("BlockWise1x32", 3),
            ("BlockWise1x128", 4), ("BlockWise128x128", 5),
        ]  # fmt: skip
        assert list(functional.SwizzleType.__members__) == ["NO_SWIZZLE", "SWIZZLE_32_4_4"]
        a, scale = lib.ones(16, 16).to(lib.float8_e4m3fn), lib.ones(16, 1)
        blocks, each = functional.ScalingType.BlockWise1x128, functional.ScalingType.TensorWise
        with pytest.raises(ValueError, match="Invalid scaling configuration"):
            functional.scaled_mm(a, a.t(), scale, blocks, scale.t(), blocks)
        with pytest.raises(NotImplementedError):
            functional.scaled_grouped_mm(
                a, a.t(), scale[0], each, scale[0], each, offs=_ends(lib, 4, 16)
            )
