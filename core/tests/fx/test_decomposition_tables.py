"""Tables of ATen ops by what is called instead, for captures."""

import pytest

import rushlight
from rushlight import _decomp
from rushlight.fx.experimental.proxy_tensor import make_fx

aten = rushlight.ops.aten
F = rushlight.nn.functional


def calls(function, table):
    graph = make_fx(function, table)(rushlight.ones(2)).graph
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def test_entries_of_ops():
    silu = _decomp.get_decompositions([aten.silu])
    assert list(silu) == [aten.silu.default] == list(_decomp.get_decompositions(silu))
    assert _decomp.get_decompositions([aten.mm]) == {}
    assert calls(F.silu, {}) == ["aten.silu.default"]
    assert calls(F.silu, silu) == ["aten.sigmoid.default", "aten.mul.Tensor"]
    core = _decomp.core_aten_decompositions()
    assert len(core) > 100 and calls(F.silu, core) == calls(F.silu, silu)
    _decomp.remove_decompositions(core, [aten.silu, aten.mm])
    assert calls(F.silu, core) == calls(F.silu, {})


def test_registered_entries(monkeypatch):
    monkeypatch.setattr(_decomp, "decomposition_table", {})

    @_decomp.register_decomposition([aten.gelu.default, aten.logit.default])
    def twice(x, *options, **named):
        return x * 2

    found = _decomp.get_decompositions([aten.gelu, aten.logit])
    assert (
        set(found) == {aten.gelu.default, aten.logit.default} and found[aten.gelu.default] is twice
    )
    module = make_fx(F.gelu, found)(rushlight.ones(2))
    assert module(rushlight.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.gelu"):
        _decomp.register_decomposition(aten.gelu.default)(twice)
    own: dict = {}
    _decomp.register_decomposition(aten.gelu, own)(twice)
    assert {overload.overloadpacket for overload in own} == {aten.gelu}
    with pytest.raises(TypeError, match="an op of ATen"):
        _decomp.register_decomposition(len)
