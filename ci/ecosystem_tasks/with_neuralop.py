"""neuraloperator: a Fourier neural operator, its losses, training, and its factorized form."""

import torch
from common import report
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO


def trained(model, x, target):
    """The losses of three steps, by two measures."""
    optimizer, found = torch.optim.Adam(model.parameters(), 0.01), []
    for _ in range(3):
        optimizer.zero_grad()
        out = model(x)
        loss = LpLoss(d=2)(out, target)
        loss.backward()
        optimizer.step()
        found.append([float(loss), float(H1Loss(d=2)(out, target))])
    return found


def main():
    torch.manual_seed(0)
    options = {"hidden_channels": 8, "in_channels": 1, "out_channels": 1, "n_layers": 2}
    model = FNO(n_modes=(4, 4), **options)
    x, target = torch.rand(2, 1, 16, 16), torch.rand(2, 1, 16, 16)
    found = {"losses": trained(model, x, target), "finer": model.eval()(torch.rand(1, 1, 32, 32))}
    other = FNO(n_modes=(4, 4), **options)
    other.load_state_dict(model.state_dict())
    found["reloaded"] = other.eval()(x) - model(x)
    found["line"] = FNO(n_modes=(5,), **options)(torch.rand(2, 1, 20))
    factorized = TFNO(n_modes=(4, 4), rank=0.5, factorization="cp", **options)
    found["factorized"] = trained(factorized, x, target)
    report(**found)


if __name__ == "__main__":
    main()
