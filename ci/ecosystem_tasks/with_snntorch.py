"""snntorch: leaky, synaptic and recurrent neurons, surrogate gradients, losses over spikes."""

import snntorch as snn
import torch
from common import reloaded, report, train
from snntorch import functional, spikegen, surrogate


class Net(torch.nn.Module):
    """Two layers of leaky neurons."""

    def __init__(self, gradient):
        super().__init__()
        self.first, self.second = torch.nn.Linear(10, 16), torch.nn.Linear(16, 3)
        self.leaky = snn.Leaky(beta=0.9, spike_grad=gradient, learn_beta=True)
        self.out = snn.Synaptic(alpha=0.8, beta=0.9, spike_grad=gradient)

    def forward(self, x):
        mem, (syn, last), spikes = self.leaky.init_leaky(), self.out.init_synaptic(), []
        for step in x:
            spike, mem = self.leaky(self.first(step), mem)
            spike, syn, last = self.out(self.second(spike), syn, last)
            spikes.append(spike)
        return torch.stack(spikes)


def main():
    torch.manual_seed(0)
    data, labels = torch.rand(8, 10), torch.randint(0, 3, (8,))
    found = {
        "rate": spikegen.rate(data, num_steps=6),
        "latency": spikegen.latency(data, num_steps=6, normalize=True, linear=True),
        "delta": spikegen.delta(data, threshold=0.1),
    }
    spikes = spikegen.rate(data, num_steps=12)
    loss = functional.ce_rate_loss()
    for name in ("fast_sigmoid", "atan", "sigmoid", "triangular"):
        torch.manual_seed(1)
        net = Net(getattr(surrogate, name)())
        found[name] = train(net, spikes, lambda m, b: loss(m(b), labels), rate=1e-2)
    out = net(spikes)
    found["accuracy"] = float(functional.accuracy_rate(out, labels))
    found["counts"] = functional.mse_count_loss(correct_rate=0.8, incorrect_rate=0.2)(out, labels)
    found["again"] = reloaded(net, lambda: Net(surrogate.triangular()))(spikes)
    recurrent = snn.RLeaky(beta=0.8, linear_features=10)
    spike, mem = recurrent.init_rleaky()
    for step in spikes:
        spike, mem = recurrent(step, spike, mem)
    found["recurrent"] = [spike, mem]
    long_short = snn.SLSTM(10, 5)
    syn, mem = long_short.init_slstm()
    for step in spikes:
        spike, syn, mem = long_short(step, syn, mem)
    found["slstm"] = [spike, syn, mem]
    report(**found)


main()
