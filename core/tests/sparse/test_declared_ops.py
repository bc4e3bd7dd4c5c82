"""Ops that say what they do with sparse tensors: rules, values and slopes as of dense ones."""

import pytest

import rushlight
from rushlight import sparse  # noqa: F401 - binds the rules
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.ops.sparse.tensors import RULES

_deferred.load_all()
DECLARED = sorted(name for name, op in TABLE.items() if "sparse" in op.options)


def test_every_declared_op_has_a_rule_under_all_its_names():
    assert len(DECLARED) > 30
    for name in DECLARED:
        op = TABLE[name]
        assert op.options["sparse"] in ("elements", "linear", "plain"), name
        assert all(word in RULES and word + "_" in RULES for word in (name, *op.aliases)), name


@pytest.mark.parametrize("name", DECLARED)
def test_values_are_those_of_the_dense_tensor(name):
    function = getattr(rushlight, name)
    dense = rushlight.tensor([[0.0, 0.5, 0.0], [-0.25, 0.0, 0.75]])
    found = function(dense.to_sparse())
    assert found.is_sparse
    rushlight.testing.assert_close(
        found.to_dense(), function(dense), rtol=0, atol=0, equal_nan=True
    )


@pytest.mark.parametrize("name", [n for n in DECLARED if "sparse_slope" in TABLE[n].options])
def test_slopes_are_those_of_the_dense_tensor(name):
    function = getattr(rushlight, name)
    values = rushlight.tensor([[0.0, 0.5, 0.0], [-0.25, 0.0, 0.75]], dtype=rushlight.float64)
    dense, whole = values.clone().requires_grad_(), values.to_sparse().requires_grad_()
    function(dense).sum().backward()
    function(whole).to_dense().sum().backward()
    assert whole.grad.to_dense().allclose(dense.grad * (values != 0))


@pytest.mark.parametrize("name", ["hardshrink", "softshrink"])
def test_what_pytorch_does_not_have_is_refused(name):
    with pytest.raises(NotImplementedError, match=name):
        getattr(rushlight.nn.functional, name)(rushlight.eye(2).to_sparse())
