"""bayesian-torch, blitz: layers of random weights, divergences, models made random."""

import torch
from bayesian_torch.layers import Conv2dFlipout, LinearReparameterization
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator
from common import report, train


class Net(torch.nn.Module):
    """Two random layers, whose divergence is added up."""

    def __init__(self):
        super().__init__()
        self.conv = Conv2dFlipout(1, 4, 3, prior_mean=0.0, prior_variance=1.0)
        self.linear = LinearReparameterization(4 * 36, 3)

    def forward(self, x):
        x, first = self.conv(x)
        x, second = self.linear(x.relu().flatten(1))
        return x, first + second


@variational_estimator
class Blitz(torch.nn.Module):
    """Random layers of blitz."""

    def __init__(self):
        super().__init__()
        self.conv, self.lstm, self.out = (
            BayesianConv2d(1, 2, (3, 3)),
            BayesianLSTM(12, 5),
            BayesianLinear(5, 3),
        )

    def forward(self, x):
        x = self.conv(x).flatten(1, 2).view(x.shape[0], 6, 12)
        return self.out(self.lstm(x)[0][:, -1])


def main():
    torch.manual_seed(0)
    x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 3, (6,))
    loss = torch.nn.functional.cross_entropy
    found = {}

    def both(model, batch):
        out, divergence = model(batch)
        return loss(out, y) + divergence / 100

    found["bayesian"] = train(Net(), x, both)
    plain = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
    )
    dnn_to_bnn(
        plain,
        {
            "prior_mu": 0.0,
            "prior_sigma": 1.0,
            "posterior_mu_init": 0.0,
            "posterior_rho_init": -3.0,
            "type": "Reparameterization",
            "moped_enable": True,
            "moped_delta": 0.5,
        },
    )
    found["made"] = train(plain, x, lambda m, b: loss(m(b), y) + get_kl_loss(m) / 100)
    model = Blitz()
    found["blitz"] = train(
        model,
        x,
        lambda m, b: m.sample_elbo(
            inputs=b, labels=y, criterion=loss, sample_nbr=2, complexity_cost_weight=1e-3
        ),
    )
    report(**found)


main()
