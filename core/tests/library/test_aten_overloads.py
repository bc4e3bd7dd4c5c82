"""ATen's overload names: those that ops declare are among PyTorch's, which has odd ones too."""

import importlib
import pkgutil

import pytest

import rushlight
from rushlight import ops
from rushlight.library.aten import _OVERLOADS
from rushlight.ops._table.op import TABLE

torch = pytest.importorskip("torch")

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"rushlight.ops.{module.name}")


def declared_names():
    """Every ATen name that an op of the table has by its declaration."""
    for op in TABLE.values():
        if "aten" in op.options:
            yield op.name
        if "aten_inplace" in op.options:
            yield op.name + "_"
        yield from op.options.get("aten_aliases", ())


@pytest.mark.parametrize("name", sorted({*_OVERLOADS, *declared_names()}))
def test_overloads_are_those_of_pytorch(name):
    found = getattr(rushlight.ops.aten, name).overloads()
    assert found
    assert set(found) <= set(getattr(torch.ops.aten, name).overloads())


def test_ops_that_declare_none_have_a_default_and_an_out():
    declared = set(declared_names())
    plain = [name for name in TABLE if name not in declared and hasattr(torch.ops.aten, name)]
    packets = {name: getattr(rushlight.ops.aten, name, None) for name in plain}
    found = {name: packet.overloads() for name, packet in packets.items() if packet is not None}
    assert len(found) > 100
    assert set(map(tuple, found.values())) == {("default", "out")}


def test_the_logarithm_of_sigmoid_has_its_aten_name():
    x = [-3.0, 0.0, 2.0]
    ours = rushlight.ops.aten.log_sigmoid(rushlight.tensor(x)).tolist()
    assert ours == pytest.approx(torch.ops.aten.log_sigmoid(torch.tensor(x)).tolist())
    assert not hasattr(rushlight.ops.aten, "logsigmoid")
