"""shap: attributions of a small network by DeepExplainer and GradientExplainer."""

import numpy as np
import shap
import torch
from common import report, train


class Pictures(torch.nn.Module):
    """A network of small pictures."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
        )
        self.classes = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(36, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
        )

    def forward(self, x):
        return self.classes(self.features(x))


def main():
    torch.manual_seed(0)
    x, labels = torch.randn(24, 1, 8, 8), torch.randint(0, 3, (24,))
    net, found = Pictures(), {}
    loss = torch.nn.functional.cross_entropy
    found["losses"] = train(net, (x, labels), lambda m, b: loss(m(b[0]), b[1]), rate=1e-2)
    net.eval()
    deep = shap.DeepExplainer(net, x[:16])
    values = deep.shap_values(x[16:19], check_additivity=True)
    found["deep"] = torch.as_tensor(np.asarray(values))
    found["expected"] = torch.as_tensor(np.asarray(deep.expected_value))
    layer = shap.DeepExplainer((net, net.features), x[:16])
    found["layer"] = torch.as_tensor(
        np.asarray(layer.shap_values(x[16:18], check_additivity=False))
    )
    gradient = shap.GradientExplainer(net, x[:16], local_smoothing=0)
    values = gradient.shap_values(x[16:18], nsamples=20, rseed=0)
    found["gradient"] = torch.as_tensor(np.asarray(values))
    table = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Sigmoid(), torch.nn.Linear(8, 1))
    rows = torch.randn(20, 5)
    values = shap.DeepExplainer(table, rows[:10]).shap_values(rows[10:13])
    found["table"] = torch.as_tensor(np.asarray(values))
    report(**found)


main()
