"""tensordict: dicts of tensors as tensors, classes of them, modules over them, files."""

import tempfile

import torch
from common import report, train
from tensordict import TensorDict, TensorDictParams, lazy_stack, tensorclass
from tensordict.nn import (
    ProbabilisticTensorDictModule,
    ProbabilisticTensorDictSequential,
    TensorDictModule,
)


@tensorclass
class Pair:
    """Pictures with labels."""

    picture: torch.Tensor
    label: torch.Tensor


def shapes(found):
    """Reshaping, indexing, stacking and arithmetic."""
    data = TensorDict({"a": torch.randn(4, 3), "in": {"b": torch.arange(8.0).view(4, 2)}}, [4])
    found["row"] = data[1:3]["in", "b"]
    found["mask"] = data[torch.tensor([True, False, True, False])]["a"]
    found["stacked"] = torch.stack([data, data * 2], 0)["in", "b"]
    found["joined"] = torch.cat([data, data + 1], 0)["a"]
    found["viewed"] = list(data.view(2, 2)["a"].shape)
    found["lazy"] = lazy_stack([data, data], 1)["a"]
    found["split"] = [part["a"] for part in data.split(3)]
    found["flat"] = sorted(data.flatten_keys(".").keys())
    found["applied"] = data.apply(torch.exp)["in", "b"]
    found["mean"] = data.mean(dim=0)["a"]
    found["norm"] = data.norm()["a"]
    data.set_at_("a", torch.zeros(3), 0)
    data["in", "c"] = data["a"].sum(-1)
    found["written"] = data["in", "c"]
    return data


def main():
    torch.manual_seed(0)
    found = {}
    data = shapes(found)
    pairs = Pair(torch.rand(4, 1, 2, 2), torch.arange(4), batch_size=[4])
    found["class"] = pairs[2:].picture
    found["class stacked"] = torch.stack([pairs, pairs])[0, 1].label
    with tempfile.TemporaryDirectory() as folder:
        data.memmap(folder)
        found["memmap"] = TensorDict.load_memmap(folder)["in", "b"]
    net = torch.nn.Linear(3, 4)
    first = TensorDictModule(net, in_keys=["a"], out_keys=["hidden"])
    last = TensorDictModule(
        lambda hidden: (hidden[..., :2], hidden[..., 2:].exp()), ["hidden"], ["loc", "scale"]
    )
    draw = ProbabilisticTensorDictModule(
        ["loc", "scale"], ["action"], distribution_class=torch.distributions.Normal,
        default_interaction_type="random", return_log_prob=True,
    )  # fmt: skip
    policy = ProbabilisticTensorDictSequential(first, last, draw)
    out = policy(data.clone())
    found["policy"] = {key: out[key] for key in ("loc", "scale", "action")}
    found["log prob"] = policy.get_dist(out).log_prob(out["action"])
    found["losses"] = train(net, data, lambda m, d: first(d.clone())["hidden"].square().mean())
    weights = TensorDict.from_module(net)
    with (weights * 0.5).to_module(net):
        found["halved"] = net(data["a"])
    found["own"] = net(data["a"])

    def call(one, x):
        with one.to_module(net):
            return net(x)

    ensemble = torch.stack([weights.data, weights.data * 2])
    found["vmap"] = torch.vmap(call, (0, None))(ensemble, data["a"])
    parameters = TensorDictParams(TensorDict({"w": torch.ones(2), "deep": {"v": torch.zeros(1)}}))
    found["names"] = sorted(name for name, _ in parameters.named_parameters())
    report(**found)


main()
