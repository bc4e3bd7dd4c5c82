"""torch.jit.script of transforms and of programs that call functions of audio."""

import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import models
from rushlight_audio import transforms as T

WAVE = 0.3 * rl.sin(rl.arange(8000) / 5).reshape(2, 4000)
MEL = {"n_fft": 64, "n_mels": 8}


class Recogniser(rl.nn.Module):
    def __init__(self):
        super().__init__()
        self.front = rl.nn.Sequential(T.MelSpectrogram(8000, **MEL), T.AmplitudeToDB(top_db=80))
        self.linear = rl.nn.Linear(8, 3)

    def forward(self, waveform: rl.Tensor) -> rl.Tensor:
        filtered = F.lowpass_biquad(waveform, 8000, 3000.0)
        return self.linear(self.front(filtered).transpose(-1, -2)).mean(-2)


def test_a_network_over_a_spectrogram_trains_when_scripted(tmp_path):
    network = Recogniser()
    scripted = rl.jit.script(network)
    assert rl.equal(scripted(WAVE), network(WAVE))
    wave = WAVE.clone().requires_grad_()
    scripted(wave).square().sum().backward()
    found, wave.grad, network.linear.weight.grad = wave.grad, None, None
    network(wave).square().sum().backward()
    assert rl.equal(found, wave.grad)
    with pytest.raises(RuntimeError, match="recursive_filter cannot be written"):
        scripted.save(tmp_path / "network.pt")


@pytest.mark.parametrize("norm", ["group_norm", "layer_norm"])
@pytest.mark.parametrize("lengths", [None, [2000, 1500]])
def test_a_scripted_wav2vec2(norm, lengths):
    layers, first = [(16, 10, 5), (16, 8, 4)], norm == "layer_norm"
    sizes = (norm, layers, False, 24, 0.1, 16, 4, 2, 4, 0.1, 48, 0.1, 0.1, first, 0.0, 10)
    model = models.wav2vec2_model(*sizes).eval()
    given = (WAVE[:, :2000], None if lengths is None else rl.tensor(lengths))
    for eager, compiled in zip(model(*given), rl.jit.script(model)(*given), strict=True):
        assert (eager is None and compiled is None) or rl.allclose(eager, compiled, atol=1e-6)


def test_a_scripted_wavernn():
    sizes = {"n_res_block": 1, "n_rnn": 16, "n_fc": 16, "n_freq": 8, "n_hidden": 8, "n_output": 8}
    model = models.WaveRNN([2, 2, 3], 16, 12, **sizes).eval()
    given = rl.linspace(-1, 1, 72).reshape(1, 1, 72), rl.linspace(0, 1, 80).reshape(1, 1, 8, 10)
    assert rl.allclose(model(*given), rl.jit.script(model)(*given), atol=1e-6)


@pytest.mark.parametrize("memories", [0, 2])
def test_a_scripted_emformer(memories):
    sizes = {"left_context_length": 4, "right_context_length": 1, "max_memory_size": memories}
    model = models.Emformer(16, 4, 32, 2, 4, **sizes).eval()
    given = rl.linspace(-1, 1, 320).reshape(2, 10, 16), rl.tensor([9, 7])
    for eager, compiled in zip(model(*given), rl.jit.script(model)(*given), strict=True):
        assert rl.allclose(eager, compiled, atol=1e-6)
