"""Every op of the table, written as ONNX and run by ONNX Runtime, or refused by name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx_cases import ABSENT, narrowed
from op_models import NAMES, cases

import rushlight
from rushlight.utils import _pytree as pytree

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)

LEAST = 300  # ops that are to be written in all their samples


def compare(model, tensors):
    """One sample: what ONNX Runtime gives is what the op gives."""
    expected = [v for v in pytree.tree_leaves(model(*tensors)) if rushlight.is_tensor(v)]
    program = rushlight.onnx.export(model, tensors)
    onnx.checker.check_model(program.model_proto, full_check=True)
    found = program(*tensors)
    for ours, theirs in zip(expected, found, strict=bool(expected)):
        assert ours.dtype is theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(
            theirs.numpy(), ours.detach().numpy(), rtol=2e-4, atol=2e-5, equal_nan=True
        )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ABSENT])
def test_op(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, tensors in cases(name, narrowed):
            compare(model, tensors)


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_absent_says_so(name):
    """A sample at least is refused, by an error that names what is not there."""
    refusals = (NotImplementedError, rushlight.onnx.OnnxExporterError, RuntimeError)
    refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, tensors in cases(name, narrowed):
            try:
                compare(model, tensors)
            except refusals:
                refused += 1
    assert refused


def test_most_ops_are_written():
    assert len(set(NAMES) - ABSENT) >= LEAST
    assert ABSENT <= set(NAMES)
