"""What ops declare for autocast: a known rule, and one wherever PyTorch's CPU casts."""

import pytest

from rushlight.amp.mode import RULES
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.op import TABLE
from rushlight.ops.former import private_names

_deferred.load_all()
# A composite whose product is seen and cast.
OPENED = {private_names._addmm_activation.op.name}


def test_every_declared_rule_is_known():
    declared = {
        op.name: op.options["autocast"] for op in TABLE.values() if "autocast" in op.options
    }
    assert len(declared) > 100
    assert not {name: rule for name, rule in declared.items() if rule not in RULES}
    on_gpu = {op.options["autocast_on_gpu"] for op in TABLE.values() if _differs_on_gpu(op)}
    assert on_gpu == {"float32"}


def _differs_on_gpu(op):
    return "autocast_on_gpu" in op.options


def test_ops_that_pytorch_casts_on_the_cpu_declare_a_rule():
    torch = pytest.importorskip("torch")
    if "rushlight" in torch.__version__:
        pytest.skip("torch is Rushlight")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    overloads = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::")]
    cast = {n[len("aten::") :].split(".")[0] for n in overloads if has_kernel(n, "AutocastCPU")}
    theirs = cast & set(TABLE)
    assert len(theirs) > 70
    assert {name for name in theirs if "autocast" not in TABLE[name].options} == OPENED
