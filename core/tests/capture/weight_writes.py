"""Ways to change the weights of a network: ``WAYS[name](net)``."""

from __future__ import annotations

import copy
import io

import numpy as np

import rushlight
from rushlight import nn


def network():
    """Convolutions, batch norm, linear layers, an LSTM's last step; in eval mode."""
    rushlight.manual_seed(0)
    front = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(2))
    return Network(front).eval()


class Network(nn.Module):
    """What :func:`network` gives; takes pictures of 3 x 8 x 8."""

    def __init__(self, front):
        super().__init__()
        self.front, self.linear = front, nn.Linear(36, 24)
        self.recurrent = nn.LSTM(24, 16, batch_first=True)

    def forward(self, x):
        return self.recurrent(rushlight.relu(self.linear(self.front(x))))[0][:, -1]


def by_ops(net):
    for parameter in net.parameters():
        parameter.mul_(0.5)


def one_element(net):
    net.linear.weight[3, 4] = 100.0


def a_view(net):
    net.linear.weight[3:9].t().fill_(0.25)


def a_detached_tensor(net):
    net.linear.weight.detach().zero_()


def data_at_once(net):
    net.linear.weight.data.add_(1)


def data_later(net):
    net.alias = net.linear.weight.data  # written to in the second step of the test


def data_of_data(net):
    net.linear.weight.data.data[2].fill_(2.0)


def data_of_all(net):
    for parameter in net.parameters():
        parameter.data.mul_(0.5)


def data_into_numpy(net):
    net.front[0].weight.data.numpy()[...] = 0.125


def numpy(net):
    net.linear.weight.numpy()[5] = 3.0


def forced_numpy(net):
    net.linear.weight.numpy(force=True)[5] = 3.0


def as_array(net):
    np.asarray(net.linear.weight)[6] = 3.0


def ufunc(net):
    array = np.asarray(net.linear.weight.detach())
    np.multiply(array, 2.0, out=array)


def dlpack(net):
    rushlight.from_dlpack(net.linear.weight.detach()).mul_(2)


def dlpack_of_numpy(net):
    np.from_dlpack(net.linear.weight.detach())  # read-only in NumPy, the memory is given away
    rushlight.from_dlpack(net.linear.weight.detach())[1] = 4.0


def bytes_of_storage(net):
    net.linear.weight.untyped_storage()[400:800] = 0


def storage(net):
    net.linear.weight.untyped_storage().fill_(0)


def other_memory(net):
    net.linear.weight.data = rushlight.ones(24, 36)


def set_(net):
    net.linear.weight.detach().set_(rushlight.ones(24, 36))
    net.linear.weight.data = rushlight.full((24, 36), 0.5)


def another_parameter(net):
    net.linear.weight = nn.Parameter(rushlight.ones(24, 36))


def loaded(net):
    net.load_state_dict({k: v + 0.25 for k, v in net.state_dict().items()})


def assigned(net):
    net.load_state_dict({k: v + 0.25 for k, v in net.state_dict().items()}, assign=True)


def read_from_a_file(net):
    file = io.BytesIO()
    rushlight.save({k: v * 2 for k, v in net.state_dict().items()}, file)
    file.seek(0)
    net.load_state_dict(rushlight.load(file))


def initialized(net):
    nn.init.constant_(net.linear.weight, 0.05)
    nn.init.xavier_uniform_(net.front[0].weight)


def reset(net):
    rushlight.manual_seed(7)
    net.recurrent.reset_parameters()


def statistics(net):
    net.train()
    with rushlight.no_grad():
        net(rushlight.randn(5, 3, 8, 8) + 3)
    net.eval()


def an_optimizer(net):
    _optimized(net, lambda p: rushlight.optim.SGD(p, 0.1))


def adam(net):
    _optimized(net, lambda p: rushlight.optim.AdamW(p, 0.1))


def adam_one_by_one(net):
    _optimized(net, lambda p: rushlight.optim.Adam(p, 0.1, foreach=False))


def adam_over_data(net):
    _optimized(net, lambda p: rushlight.optim.Adam([each.data for each in p], 0.1))


def _optimized(net, make):
    optimizer = make(list(net.parameters()))
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = rushlight.ones_like(parameter)
    optimizer.step()


def foreach(net):
    rushlight._foreach_mul_(list(net.parameters()), 0.75)


def foreach_of_data(net):
    rushlight._foreach_add_([p.data for p in net.parameters()], 0.125)


def from_a_vector(net):
    vector = nn.utils.parameters_to_vector(net.parameters()) * 0.5
    nn.utils.vector_to_parameters(vector, net.parameters())


def out(net):
    rushlight.mul(rushlight.ones(24, 36), 0.5, out=net.linear.weight)


def averaged(net):
    other = rushlight.optim.swa_utils.AveragedModel(copy.deepcopy(net))
    other.update_parameters(net)
    for mine, theirs in zip(net.parameters(), other.module.parameters(), strict=True):
        mine.lerp_(theirs + 1, 0.5)


def uncounted(net):
    with rushlight.autograd._unsafe_preserve_version_counter(net.linear.weight):
        net.linear.weight.mul_(3)


def shared(net):
    net.share_memory()
    net.linear.weight.mul_(2)


def of_another_dtype_and_back(net):
    net.double()
    net.linear.weight.mul_(2)
    net.float()


WAYS = {
    name: way
    for name, way in list(globals().items())
    if callable(way)
    and way.__module__ == __name__
    and name not in ("network", "Network", "_optimized")
}
