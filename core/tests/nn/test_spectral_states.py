"""State dicts of modules with the hook form of ``spectral_norm``."""

import pytest
import torch

import rushlight


def normed(lib):
    """A layer whose weight is divided, after one forward."""
    lib.manual_seed(0)
    layer = lib.nn.utils.spectral_norm(lib.nn.Linear(3, 2))
    layer(lib.ones(1, 3))
    return layer.eval()


def former(lib):
    """A state dict as versions before the first note wrote it, and the layer."""
    layer = normed(lib)
    state = {name: value.clone() for name, value in layer.state_dict().items()}
    state["weight"] = layer.weight.detach().clone()
    state.pop("weight_v")
    return state, layer


def test_hooks_write_to_the_metadata_of_state_dicts():
    for lib in (rushlight, torch):
        noted = normed(lib).state_dict()._metadata
        assert dict(noted) == {"": {"version": 1, "spectral_norm": {"weight.version": 1}}}


def test_a_former_state_is_completed():
    state, layer = former(rushlight)
    again = rushlight.nn.utils.spectral_norm(rushlight.nn.Linear(3, 2)).eval()
    assert not any(again.load_state_dict(state))
    x = rushlight.arange(6.0).reshape(2, 3)
    assert rushlight.allclose(again(x), layer(x), rtol=1e-4)
    u, v = again.weight_u, again.weight_v
    sigma = u.dot(again.weight_orig.mv(v))
    assert rushlight.allclose(again.weight_orig / sigma, layer.weight, rtol=1e-4)


@pytest.mark.parametrize("absent", ["weight_u", "weight_orig", "weight"])
def test_what_a_former_state_lacks_is_named(absent):
    def missing(lib):
        state = {k: v for k, v in former(lib)[0].items() if k != absent}
        layer = lib.nn.utils.spectral_norm(lib.nn.Linear(3, 2))
        return list(layer.load_state_dict(state, strict=False))

    assert missing(rushlight) == missing(torch)


def test_removed_norms_load_plain_states():
    layer = rushlight.nn.utils.remove_spectral_norm(normed(rushlight))
    state = rushlight.nn.Linear(3, 2).state_dict()
    assert not any(layer.load_state_dict(state))
    assert layer.weight.tolist() == state["weight"].tolist()


def test_hooks_of_programs_take_the_norm():
    spectral = rushlight.nn.utils.spectral_normalization
    norm = spectral.SpectralNorm("weight")
    noted = {}
    spectral.SpectralNormStateDictHook(norm)(None, {}, "", noted)
    assert noted == {"spectral_norm": {"weight.version": 1}}
    with pytest.raises(RuntimeError, match="Unexpected key in metadata"):
        spectral.SpectralNormStateDictHook(norm)(None, {}, "", noted)
    wanted = []
    load = spectral.SpectralNormLoadStateDictPreHook(norm)
    load({"a.weight_u": 0}, "a.", {}, True, wanted, [], [])
    assert wanted == ["a.weight_orig", "a.weight"]
    load({}, "a.", noted, True, wanted, [], [])
    assert len(wanted) == 2
