"""zuko: flows of four kinds with a condition, trained, sampled, saved and loaded."""

import torch
import zuko
from common import reloaded, report, train


def main():
    torch.manual_seed(0)
    x, context = torch.randn(32, 3), torch.randn(32, 2)
    found = {}
    kinds = {
        "MAF": lambda: zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16, 16)),
        "NSF": lambda: zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)),
        "NICE": lambda: zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)),
        "NAF": lambda: zuko.flows.NAF(3, 2, transforms=1, hidden_features=(16,)),
    }
    for name, make in kinds.items():
        torch.manual_seed(1)
        flow = make()
        losses = train(flow, (x, context), lambda m, b: -m(b[1]).log_prob(b[0]).mean(), rate=1e-2)
        torch.manual_seed(2)
        sample = flow(context).sample((4,))
        again = reloaded(flow, make)
        found[name] = {
            "losses": losses,
            "sample": sample,
            "log_prob": again(context).log_prob(x),
        }
    flow = zuko.flows.CNF(3, 2, hidden_features=(16,))
    found["CNF"] = train(flow, (x, context), lambda m, b: -m(b[1]).log_prob(b[0]).mean())
    mixture = zuko.mixtures.GMM(3, 2, components=3)
    found["GMM"] = train(mixture, (x, context), lambda m, b: -m(b[1]).log_prob(b[0]).mean())
    report(**found)


main()
