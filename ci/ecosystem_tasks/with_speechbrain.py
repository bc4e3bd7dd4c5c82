"""speechbrain: features, a recurrent and an attention network, CTC, and its `Brain`."""

import logging

import torch
from common import report
from speechbrain import Brain
from speechbrain.lobes.features import MFCC, Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.nnet.losses import ctc_loss, nll_loss
from speechbrain.nnet.RNN import GRU
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("speechbrain").setLevel(logging.ERROR)


class Words(Brain):
    """A classifier of frames."""

    def compute_forward(self, batch, stage):
        return self.modules.net(batch[0]).log_softmax(-1)

    def compute_objectives(self, predictions, batch, stage):
        return nll_loss(predictions, batch[1])

    def on_stage_end(self, stage, stage_loss, epoch):
        self.seen = [*getattr(self, "seen", []), stage_loss]


def main():
    torch.manual_seed(0)
    sound = torch.rand(2, 8000) - 0.5
    found = {"fbank": Fbank()(sound), "mfcc": MFCC(deltas=False)(sound)}
    torch.manual_seed(1)
    speakers = ECAPA_TDNN(
        80,
        channels=[16, 16, 16, 16, 48],
        kernel_sizes=[5, 3, 3, 3, 1],
        dilations=[1, 2, 3, 4, 1],
        attention_channels=8,
        lin_neurons=12,
    ).eval()
    found["speakers"] = speakers(torch.rand(2, 30, 80))
    found["recurrent"] = GRU(hidden_size=6, input_shape=(2, 9, 5))(torch.rand(2, 9, 5))[0]
    scores = torch.randn(2, 12, 6).log_softmax(-1)
    found["ctc"] = ctc_loss(
        scores, torch.tensor([[1, 2, 3], [2, 3, 4]]), torch.ones(2), torch.ones(2), 0
    )
    torch.manual_seed(2)
    data = TensorDataset(torch.randn(16, 5, 4), torch.randint(0, 3, (16, 5)))
    brain = Words(
        {"net": torch.nn.Linear(4, 3)},
        lambda p: torch.optim.SGD(p, lr=0.1),
        run_opts={"device": "cpu", "noprogressbar": True},
    )
    brain.fit(range(2), DataLoader(data, 4), DataLoader(data, 4))
    found["losses"] = [float(x) for x in brain.seen]
    report(**found)


main()
