"""tensorly, tensorly-torch: decompositions with the backend of tensors, and factorized layers."""

import tensorly as tl
import torch
from common import report, train
from tensorly.decomposition import non_negative_parafac, parafac, tensor_train, tucker


def main():
    tl.set_backend("pytorch")
    torch.manual_seed(0)
    x = torch.rand(4, 5, 6, dtype=torch.float64)
    found = {
        "cp": tl.cp_to_tensor(parafac(x, 3, n_iter_max=20, init="svd")),
        "tucker": tl.tucker_to_tensor(tucker(x, [2, 3, 3], n_iter_max=10)),
        "tt": tl.tt_to_tensor(tensor_train(x, [1, 3, 3, 1])),
        "nn": tl.cp_to_tensor(non_negative_parafac(x, 2, n_iter_max=10, init="svd")),
        "unfold": tl.unfold(x, 1),
        "svd": tl.tenalg.svd_interface(tl.unfold(x, 0), n_eigenvecs=2)[1],
        "kr": tl.tenalg.khatri_rao([x[0], x[1]]),
        "mode": tl.tenalg.multi_mode_dot(
            x,
            [torch.eye(4, dtype=torch.float64), torch.ones(2, 5, dtype=torch.float64)],
            modes=[0, 1],
        ),
    }
    import tltorch

    torch.manual_seed(0)
    layer = tltorch.FactorizedLinear((4, 4), (2, 3), factorization="cp", rank=3)
    layer.weight.normal_(0, 0.1)
    found["losses"] = train(layer, torch.randn(5, 16), lambda m, b: m(b).square().mean(), rate=1e-2)
    found["matrix"] = layer.weight.to_matrix()
    trl = tltorch.TRL((3, 4), (2,), rank=2)
    found["trl"] = trl(torch.ones(2, 3, 4)).shape
    conv = tltorch.FactorizedConv.from_conv(
        torch.nn.Conv2d(4, 4, 3), rank=0.9, factorization="tucker"
    )
    found["conv"] = conv(torch.ones(1, 4, 5, 5))
    report(**found)


main()
