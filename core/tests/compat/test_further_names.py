"""Names of the top level that few programs use: there as in PyTorch, or refused with advice."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sym_int", (-2.7,)), ("sym_float", (3,)), ("sym_not", (True,)), ("sym_max", (2, 3.0)),
        ("sym_max", (4, 3.0)), ("sym_min", (2, 3)), ("sym_sum", ([1, 2, 3],)), ("sym_sqrt", (2.0,)),
        ("sym_ite", (True, 1, 2)), ("sym_ite", (False, 1, 2)),
    ],
)  # fmt: skip
def test_symbolic_numbers(name, arguments):
    found, expected = (getattr(library, name)(*arguments) for library in (rushlight, torch))
    assert found == expected and type(found) is type(expected)


def test_values_of_different_types_are_not_chosen_from():
    for library in (rushlight, torch):
        with pytest.raises(AssertionError):
            library.sym_ite(True, 1, 2.0)


@pytest.mark.parametrize("name", ["celu_", "selu_", "threshold_"])
def test_activations_in_place(name):
    more = (0.3, -1.0) if name == "threshold_" else ()
    values = [-2.0, 0.1, 3.0]
    found, expected = rushlight.tensor(values), torch.tensor(values)
    assert getattr(rushlight, name)(found, *more) is found
    getattr(torch, name)(expected, *more)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_hard_shrinking_is_a_method():
    values = [-2.0, -0.3, 0.1, 3.0]
    for lambd in (0.5, 0.2):
        found = rushlight.tensor(values).hardshrink(lambd).tolist()
        assert found == torch.tensor(values).hardshrink(lambd).tolist()


def test_devices_that_are_not_there():
    for name in ("is_mkldnn", "is_mps", "is_xpu", "is_xla", "is_mtia", "is_ipu", "is_vulkan"):
        assert getattr(rushlight.ones(2), name) is False is getattr(torch.ones(2), name)


def test_anomaly_mode_by_function():
    for library in (rushlight, torch):
        library.set_anomaly_enabled(True, False)
        assert library.is_anomaly_enabled() and not library.is_anomaly_check_nan_enabled()
        library.set_anomaly_enabled(True)
        assert library.is_anomaly_check_nan_enabled()
        library.set_anomaly_enabled(False)
        assert not library.is_anomaly_enabled()


def test_denormal_numbers_stay():
    assert rushlight.set_flush_denormal(False) is False
    with pytest.raises(TypeError, match="bool"):
        rushlight.set_flush_denormal(1)
    assert rushlight.tensor([1e-40])[0].item() > 0


def test_a_new_axis():
    assert rushlight.newaxis is None and rushlight.ones(2)[rushlight.newaxis].shape == (1, 2)


@pytest.mark.parametrize("name", ["embedding_bag", "saddmm", "quantize_per_channel"])
def test_refused_names_give_advice(name):
    assert hasattr(torch, name)
    with pytest.raises(NotImplementedError, match=f"{name} is not available. Instead: "):
        getattr(rushlight, name)()


@pytest.mark.parametrize("library", [rushlight, torch])
def test_vitals_are_deprecated(library):
    with pytest.warns(UserWarning, match="'set_vital' is deprecated"):
        assert library.set_vital("Dataloader", "enabled", "True") is None
