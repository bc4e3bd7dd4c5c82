"""e3nn: spherical harmonics, tensor products and gates, and that they turn with their input."""

import torch
from common import report, train
from e3nn import o3
from e3nn.nn import FullyConnectedNet, Gate


def main():
    torch.manual_seed(0)
    points = torch.randn(10, 3)
    found = {"harmonics": o3.spherical_harmonics([0, 1, 2, 3], points, normalize=True)}
    first, second = o3.Irreps("4x0e + 3x1o"), o3.Irreps("2x0e + 2x1o + 1x2e")
    product = o3.FullyConnectedTensorProduct(first, second, "3x0e + 2x1o + 2x1e")
    x, y = first.randn(5, -1), second.randn(5, -1)
    found["product"] = product(x, y)
    turn = o3.rand_matrix()
    left = product(x @ first.D_from_matrix(turn).T, y @ second.D_from_matrix(turn).T)
    right = product(x, y) @ product.irreps_out.D_from_matrix(turn).T
    found["turns"] = bool((left - right).abs().max() < 1e-4)
    line = o3.Linear(first, "5x0e + 2x1o")
    found["line"] = line(x)
    gate = Gate("3x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
    found["gate"] = gate(gate.irreps_in.randn(4, -1))
    found["wigner"] = o3.wigner_3j(1, 2, 2)
    radial = FullyConnectedNet([3, 16, product.weight_numel], torch.relu)

    def loss(m, given):
        return product(x, y, m(given).mean(0)).square().mean()

    found["losses"] = train(radial, points, loss)
    report(**found)


main()
