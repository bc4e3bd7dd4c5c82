"""PennyLane: quantum circuits of tensors, their gradients by three ways, a layer of a network."""

import pennylane as qml
import torch
from common import report, train


def main():
    torch.manual_seed(0)
    device = qml.device("default.qubit", wires=2)
    found = {}

    def circuit(inputs, weights):
        qml.AngleEmbedding(inputs, wires=range(2))
        qml.StronglyEntanglingLayers(weights, wires=range(2))
        return [qml.expval(qml.PauliZ(i)) for i in range(2)]

    for method in ("backprop", "parameter-shift", "adjoint"):
        node = qml.QNode(circuit, device, interface="torch", diff_method=method)
        weights = torch.rand(
            2, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
        ).requires_grad_()
        out = torch.stack(list(node(torch.tensor([0.3, 0.5], dtype=torch.float64), weights)))
        out.sum().backward()
        found[method] = [out, weights.grad]
    node = qml.QNode(circuit, device, interface="torch", diff_method="backprop")
    layer = qml.qnn.TorchLayer(node, {"weights": (2, 2, 3)})
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), layer, torch.nn.Linear(2, 1))
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    found["losses"] = train(net, x, lambda m, b: (m(b) - y).square().mean(), rate=0.05)

    @qml.qnode(device, interface="torch")
    def state(t):
        qml.RX(t, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.state()

    found["state"] = state(torch.tensor(0.4, dtype=torch.float64))
    found["jacobian"] = torch.autograd.functional.jacobian(
        lambda t: torch.stack([v for v in node(t, torch.ones(1, 2, 3, dtype=torch.float64))]),
        torch.ones(2, dtype=torch.float64),
    )
    report(**found)


main()
