"""Calls of attention that nothing records go by their arrays at once: values and errors are those
of the calls that do not."""

import pytest

import rushlight
from rushlight.ops.neural import attention_calls

sdpa = rushlight.nn.functional.scaled_dot_product_attention


def heads(batch=2, count=4, length=3, keys=5, shared=None, width=8, depth=6):
    rushlight.manual_seed(0)
    shared = shared or count
    shapes = (count, length, width), (shared, keys, width), (shared, keys, depth)
    return [rushlight.randn(batch, *shape) for shape in shapes]


MASK = rushlight.tensor([0.0, -1.0, 2.0, float("-inf"), 0.5])
TAKEN = {
    "plain": (heads(), {}),
    "one row": (heads(length=1, keys=40), {}),
    "causal": (heads(length=5), {"is_causal": True}),
    "scale": (heads(), {"scale": 2}),
    "mask": (heads(), {"attn_mask": MASK.expand(1, 1, 1, 5)}),
    "mask of batches": (heads(), {"attn_mask": MASK.expand(2, 1, 3, 5)}),
    "shared heads": (heads(shared=2), {"enable_gqa": True}),
    "views": ([t.transpose(1, 2).contiguous().transpose(1, 2) for t in heads()], {}),
}
LEFT = {
    "mask of keys": (heads(), {"attn_mask": MASK}),
    "bool mask": (heads(), {"attn_mask": (MASK > 0).expand(2, 4, 3, 5)}),
    "float64": ([t.double() for t in heads()], {}),
    "two dimensions": ([t[0, 0] for t in heads()], {}),
    "no keys": (heads(keys=0), {}),
    "no width": (heads(width=0), {}),
    "no batch": (heads(batch=0), {}),
}


@pytest.mark.parametrize("name", [*TAKEN, *LEFT])
def test_values_are_those_of_the_general_call(name, monkeypatch):
    inputs, options = {**TAKEN, **LEFT}[name]
    found = []
    of_arrays = attention_calls.of_arrays

    def noted(*arguments):
        found.append(of_arrays(*arguments))
        return found[-1]

    monkeypatch.setattr(attention_calls, "of_arrays", noted)
    result = sdpa(*inputs, **options)
    assert (found[0] is result) == (name in TAKEN or name == "no batch")
    monkeypatch.setattr(attention_calls, "of_arrays", lambda *arguments: None)
    general = sdpa(*inputs, **options)
    rushlight.testing.assert_close(result, general, rtol=0, atol=0)
    assert result.stride() == general.stride() and not result.requires_grad


def test_gradients_are_recorded():
    query, key, value = heads()
    assert sdpa(query.requires_grad_(), key, value).requires_grad
    with rushlight.no_grad():
        assert not sdpa(query, key, value).requires_grad
    with rushlight.inference_mode():
        assert sdpa(query.detach(), key, value).is_inference()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda q, k, v: (q[..., :4], k, v), {}, "must agree in their last size"),
        (lambda q, k, v: (q, k, v[:, :, :2]), {}, "must agree in their last size"),
        (lambda q, k, v: (q, k[:, :2], v[:, :2]), {}, r"size|shape|match|broadcast"),
        (lambda q, k, v: (q, k[:, :3], v[:, :3]), {"enable_gqa": True}, "must divide those"),
        (lambda q, k, v: (q, k.double(), v), {}, "same dtype"),
        (lambda q, k, v: (q, k, v), {"attn_mask": rushlight.zeros(2, 4, 3, 5), "is_causal": True},
         "should not be set"),
        (lambda q, k, v: (q, k, v), {"attn_mask": rushlight.zeros(1, 1, 3, 5).long()}, "dtype"),
        (lambda q, k, v: (q, k, v), {"attn_mask": rushlight.zeros(1, 1, 2, 5)}, "size|shape|match"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told(change, options, message):
    with pytest.raises(RuntimeError, match=message):
        sdpa(*change(*heads()), **options)
