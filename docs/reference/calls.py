"""Examples of core's names that have none in their docstrings and are no ops: lines of a program
whose last one shows something. They are run when the reference is written."""

from __future__ import annotations

OPTIMIZERS = {
    "ASGD": "lr=0.1", "Adadelta": "", "Adafactor": "lr=0.1", "Adagrad": "lr=0.1",
    "Adam": "lr=0.1", "AdamW": "lr=0.1", "Adamax": "lr=0.1", "NAdam": "lr=0.1", "RAdam": "lr=0.1",
    "RMSprop": "lr=0.1", "Rprop": "lr=0.1", "SGD": "lr=0.1, momentum=0.9",
}  # fmt: skip
SCHEDULES = {
    "ConstantLR": "optimizer, factor=0.5, total_iters=2",
    "CosineAnnealingLR": "optimizer, T_max=4",
    "CosineAnnealingWarmRestarts": "optimizer, T_0=2",
    "CyclicLR": "optimizer, base_lr=0.1, max_lr=1.0, step_size_up=2",
    "ExponentialLR": "optimizer, gamma=0.5",
    "LambdaLR": "optimizer, lambda epoch: 1 / (1 + epoch)",
    "LinearLR": "optimizer, start_factor=0.25, total_iters=3",
    "MultiStepLR": "optimizer, milestones=[1, 3], gamma=0.1",
    "MultiplicativeLR": "optimizer, lambda epoch: 0.9",
    "OneCycleLR": "optimizer, max_lr=1.0, total_steps=5",
    "PolynomialLR": "optimizer, total_iters=4, power=2.0",
    "StepLR": "optimizer, step_size=2",
}
INITIALS = {
    "constant_": "0.3", "dirac_": "", "eye_": "", "kaiming_normal_": "", "kaiming_uniform_": "",
    "normal_": "std=0.1", "ones_": "", "orthogonal_": "", "sparse_": "sparsity=0.5",
    "trunc_normal_": "std=0.1", "uniform_": "-1, 1", "xavier_normal_": "", "xavier_uniform_": "",
    "zeros_": "",
}  # fmt: skip
DISTRIBUTIONS = {
    "Beta": "2.0, 3.0", "Binomial": "10, 0.3", "Cauchy": "0.0, 1.0", "Chi2": "3.0",
    "ContinuousBernoulli": "0.3", "Dirichlet": "rushlight.tensor([1.0, 2.0, 3.0])",
    "Exponential": "2.0", "FisherSnedecor": "3.0, 5.0", "Gamma": "2.0, 1.5",
    "GeneralizedPareto": "0.0, 1.0, 0.1", "Geometric": "0.4", "Gumbel": "0.0, 1.0",
    "HalfCauchy": "1.0", "HalfNormal": "1.0", "InverseGamma": "2.0, 1.0",
    "Kumaraswamy": "2.0, 3.0", "LKJCholesky": "2, 1.0", "Laplace": "0.0, 1.0",
    "LogNormal": "0.0, 0.5", "LogisticNormal": "rushlight.zeros(2), rushlight.ones(2)",
    "LowRankMultivariateNormal": "rushlight.zeros(2), rushlight.ones(2, 1), rushlight.ones(2)",
    "Multinomial": "5, rushlight.tensor([0.2, 0.3, 0.5])",
    "MultivariateNormal": "rushlight.zeros(2), rushlight.eye(2)", "NegativeBinomial": "5, 0.3",
    "OneHotCategorical": "rushlight.tensor([0.2, 0.3, 0.5])",
    "OneHotCategoricalStraightThrough": "rushlight.tensor([0.2, 0.3, 0.5])",
    "Pareto": "1.0, 3.0", "Poisson": "4.0",
    "RelaxedBernoulli": "rushlight.tensor(0.5), 0.3",
    "RelaxedOneHotCategorical": "rushlight.tensor(0.5), rushlight.tensor([0.2, 0.8])",
    "StudentT": "5.0", "Uniform": "0.0, 2.0", "VonMises": "0.0, 1.0", "Weibull": "1.0, 2.0",
    "Wishart": "rushlight.tensor(3.0), rushlight.eye(2)",
}  # fmt: skip
TRANSFORMS = {
    "AbsTransform": "", "AffineTransform": "1.0, 2.0", "ExpTransform": "",
    "PowerTransform": "2.0", "SigmoidTransform": "", "SoftmaxTransform": "",
    "SoftplusTransform": "", "StickBreakingTransform": "", "TanhTransform": "",
    "ReshapeTransform": "(3,), (3, 1)",
}  # fmt: skip
WINDOWS = {
    "bartlett": "5", "blackman": "5", "cosine": "5", "exponential": "5, tau=1.0",
    "gaussian": "5, std=1.0", "general_cosine": "5, a=[0.5, 0.3, 0.2]", "general_hamming": "5",
    "hamming": "5", "hann": "5", "kaiser": "5, beta=8.0", "nuttall": "5",
}  # fmt: skip
MASKED = (
    "amax amin argmax argmin cumsum cumprod mean median norm prod std sum var logsumexp".split()
)
LOSSES = {
    "BCELoss": "rushlight.tensor([0.2, 0.9]), rushlight.tensor([0.0, 1.0])",
    "CrossEntropyLoss": "rushlight.tensor([[1.0, 2.0, 0.5]]), rushlight.tensor([1])",
    "NLLLoss": "rushlight.tensor([[-1.0, -0.5, -2.0]]), rushlight.tensor([1])",
    "CosineEmbeddingLoss": "rushlight.ones(1, 3), rushlight.tensor([[1.0, 0.0, 1.0]]), "
                           "rushlight.tensor([1.0])",
    "GaussianNLLLoss": "rushlight.zeros(2), rushlight.ones(2), rushlight.full((2,), 0.5)",
    "MultiLabelMarginLoss": "rushlight.tensor([[0.1, 0.2, 0.4]]), rushlight.tensor([[2, 0, -1]])",
    "MultiMarginLoss": "rushlight.tensor([[0.1, 0.2, 0.4]]), rushlight.tensor([2])",
}  # fmt: skip
_X = "x = rushlight.tensor([-1.5, 0.0, 2.5])\n"
_PAIR = "x, y = rushlight.tensor([0.2, 0.9, 0.4]), rushlight.tensor([0.0, 1.0, 1.0])\n"
_ROWS = "x = rushlight.tensor([[1.0, 2.0, 0.5]])\n"
_F = "rushlight.nn.functional"
_SEED = "_ = rushlight.manual_seed(0)\n"
FUNCTIONS = {
    **{name: f"{_X}{_F}.{name}(x)" for name in "celu elu hardsigmoid hardswish hardtanh leaky_relu "
       "mish relu6 selu silu softsign tanhshrink".split()},
    **{name: f"{_PAIR}{_F}.{name}(x, y)" for name in "binary_cross_entropy huber_loss l1_loss "
       "mse_loss binary_cross_entropy_with_logits kl_div poisson_nll_loss smooth_l1_loss "
       "soft_margin_loss hinge_embedding_loss".split()},
    **{name: f"{_SEED}{_F}.{name}(rushlight.ones(1, 6, 1, 1, 1), 0.5).flatten()"
       for name in "alpha_dropout dropout dropout3d feature_alpha_dropout".split()},
    "dropout1d": f"_ = rushlight.manual_seed(0)\n"
                 f"{_F}.dropout1d(rushlight.ones(1, 6, 1), 0.5).flatten()",
    "dropout2d": f"_ = rushlight.manual_seed(0)\n"
                 f"{_F}.dropout2d(rushlight.ones(1, 6, 1, 1), 0.5).flatten()",
    "batch_norm": f"x = rushlight.tensor([[1.0, 10.0], [3.0, 30.0]])\n"
                  f"{_F}.batch_norm(x, None, None, training=True)",
    "instance_norm": f"x = rushlight.tensor([[[1.0, 3.0, 5.0]]])\n{_F}.instance_norm(x)",
    "group_norm": f"x = rushlight.tensor([[1.0, 3.0, 10.0, 20.0]])\n{_F}.group_norm(x, 2)",
    "layer_norm": f"{_ROWS}{_F}.layer_norm(x, (3,))",
    "local_response_norm": f"x = rushlight.ones(1, 3, 2)\n{_F}.local_response_norm(x, 2)",
    "normalize": f"{_ROWS}{_F}.normalize(x)",
    "cross_entropy": f"{_ROWS}{_F}.cross_entropy(x, rushlight.tensor([1]))",
    "nll_loss": f"{_ROWS}{_F}.nll_loss({_F}.log_softmax(x, 1), rushlight.tensor([1]))",
    "cosine_embedding_loss": f"{_ROWS}{_F}.cosine_embedding_loss(x, x.flip(1), "
                             "rushlight.tensor([1.0]))",
    "gaussian_nll_loss": f"{_PAIR}{_F}.gaussian_nll_loss(x, y, rushlight.ones(3))",
    "margin_ranking_loss": f"{_PAIR}{_F}.margin_ranking_loss(x, y, rushlight.ones(3))",
    "triplet_margin_loss": f"{_ROWS}{_F}.triplet_margin_loss(x, x + 1, x - 1)",
    "embedding": f"table = rushlight.arange(6.0).reshape(3, 2)\n"
                 f"{_F}.embedding(rushlight.tensor([2, 0]), table)",
    "embedding_bag": f"table = rushlight.arange(6.0).reshape(3, 2)\n"
                     f"{_F}.embedding_bag(rushlight.tensor([[2, 0]]), table)",
    "one_hot": f"{_F}.one_hot(rushlight.tensor([0, 2]), 3)",
    "pad": f"{_F}.pad(rushlight.ones(1, 2), (1, 2), value=0.5)",
    "pairwise_distance": f"{_ROWS}{_F}.pairwise_distance(x, x.flip(1))",
    "adaptive_avg_pool2d": f"x = rushlight.arange(16.0).reshape(1, 1, 4, 4)\n"
                           f"{_F}.adaptive_avg_pool2d(x, 2)",
    "adaptive_max_pool2d": f"x = rushlight.arange(16.0).reshape(1, 1, 4, 4)\n"
                           f"{_F}.adaptive_max_pool2d(x, 2)",
    "avg_pool3d": f"x = rushlight.arange(8.0).reshape(1, 1, 2, 2, 2)\n{_F}.avg_pool3d(x, 2)",
    "lp_pool1d": f"{_F}.lp_pool1d(rushlight.tensor([[[3.0, 4.0, 1.0, 0.0]]]), 2, 2)",
    "lp_pool2d": f"{_F}.lp_pool2d(rushlight.tensor([[[3.0, 4.0], [0.0, 0.0]]]), 2, 2)",
    "lp_pool3d": f"{_F}.lp_pool3d(rushlight.ones(1, 1, 2, 2, 2), 2, 2)",
    "max_unpool1d": f"x = rushlight.tensor([[[1.0, 5.0, 2.0, 4.0]]])\n"
                    f"values, places = {_F}.max_pool1d(x, 2, return_indices=True)\n"
                    f"{_F}.max_unpool1d(values, places, 2)",
    "max_unpool2d": f"x = rushlight.arange(4.0).reshape(1, 1, 2, 2)\n"
                    f"values, places = {_F}.max_pool2d(x, 2, return_indices=True)\n"
                    f"{_F}.max_unpool2d(values, places, 2)",
    "fold": f"{_F}.fold(rushlight.ones(1, 4, 4), (3, 3), 2)",
    "unfold": f"{_F}.unfold(rushlight.arange(9.0).reshape(1, 1, 3, 3), 2)",
    "gumbel_softmax": f"_ = rushlight.manual_seed(0)\n{_ROWS}{_F}.gumbel_softmax(x, hard=True)",
    "scaled_dot_product_attention": f"{_SEED}q = rushlight.randn(1, 2, 3, 4)\n"
                                    f"{_F}.scaled_dot_product_attention(q, q, q).shape",
    "softmax": f"{_ROWS}{_F}.softmax(x, 1)", "log_softmax": f"{_ROWS}{_F}.log_softmax(x, 1)",
    "softmin": f"{_ROWS}{_F}.softmin(x, 1)", "rrelu": f"{_X}{_F}.rrelu(x)",
    "threshold": f"{_X}{_F}.threshold(x, 0.5, -1.0)", "relu": f"{_X}{_F}.relu(x)",
    "rms_norm": f"{_ROWS}{_F}.rms_norm(x, (3,))",
}  # fmt: skip


def _optimizer(name, given):
    given = f", {given}" if given else ""
    return (
        "w = rushlight.nn.Parameter(rushlight.tensor([1.0, -2.0]))\n"
        f"optimizer = rushlight.optim.{name}([w]{given})\n"
        "(w ** 2).sum().backward()\noptimizer.step()\nw.detach()"
    )


def _schedule(name, given):
    return (
        "optimizer = rushlight.optim.SGD([rushlight.zeros(1, requires_grad=True)], lr=1.0)\n"
        f"scheduler = rushlight.optim.lr_scheduler.{name}({given})\n"
        "rates = []\n"
        "for epoch in range(4): rates.append(round(scheduler.get_last_lr()[0], 4)); "
        "optimizer.step(); scheduler.step()\n"
        "rates"
    )


def _initial(name, given):
    shape = "2, 2, 3" if name == "dirac_" else "2, 3"
    given = f", {given}" if given else ""
    return (
        f"_ = rushlight.manual_seed(0)\nw = rushlight.empty({shape})\n"
        f"rushlight.nn.init.{name}(w{given})"
    )


def _distribution(name, given):
    return (
        f"_ = rushlight.manual_seed(0)\nd = rushlight.distributions.{name}({given})\n"
        "x = d.sample()\nx, d.log_prob(x)"
    )


def _transform(name, given):
    return f"t = rushlight.distributions.{name}({given})\nt(rushlight.tensor([0.5, 1.0, 2.0]))"


def _masked(name):
    dim = ", 0" if name.startswith("cum") or name in ("median", "logsumexp") else ""
    dim = {"norm": ", 2.0", "var": ", 0", "std": ", 0"}.get(name, dim)
    return (
        "x = rushlight.tensor([1.0, 2.0, 4.0])\nmask = rushlight.tensor([True, False, True])\n"
        f"rushlight.masked.{name}(x{dim}, mask=mask)"
    )


_FSDP = "rushlight.distributed.fsdp"
SHARDING = {
    **{name: f"[kind.name for kind in {_FSDP}.{name}]" for name in "BackwardPrefetch "
       "OptimStateKeyType ShardingStrategy StateDictType".split()},
    **{name: f"{_FSDP}.{name}(offload_to_cpu=True, rank0_only=True).rank0_only"
       for name in ("FullOptimStateDictConfig", "FullStateDictConfig")},
    **{name: f"{_FSDP}.{name}(offload_to_cpu=True).offload_to_cpu" for name in (
        "LocalOptimStateDictConfig", "LocalStateDictConfig", "OptimStateDictConfig",
        "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "StateDictConfig")},
    "CPUOffload": f"{_FSDP}.CPUOffload(offload_params=True).offload_params",
    "MixedPrecision": f"{_FSDP}.MixedPrecision(param_dtype=rushlight.bfloat16).param_dtype",
    "MixedPrecisionPolicy":
        f"{_FSDP}.MixedPrecisionPolicy(param_dtype=rushlight.bfloat16).param_dtype",
    "StateDictSettings": f"fsdp = {_FSDP}\nsettings = fsdp.StateDictSettings("
        "fsdp.StateDictType.SHARDED_STATE_DICT, fsdp.ShardedStateDictConfig(), "
        "fsdp.ShardedOptimStateDictConfig())\nsettings.state_dict_type.name",
    "FullyShardedDataParallel": f"dist, nn = rushlight.distributed, rushlight.nn\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        f"model = {_FSDP}.FullyShardedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))\n"
        "shapes = [(tuple(p.shape), type(p).__name__) for p in model.parameters()]\n"
        "dist.destroy_process_group()\nshapes",
}  # fmt: skip


CALLS = {
    _FSDP: SHARDING,
    "rushlight.optim": {n: _optimizer(n, given) for n, given in OPTIMIZERS.items()},
    "rushlight.optim.lr_scheduler": {n: _schedule(n, given) for n, given in SCHEDULES.items()},
    "rushlight.nn.init": {n: _initial(n, given) for n, given in INITIALS.items()},
    "rushlight.nn": {n: f"rushlight.nn.{n}()({given})" for n, given in LOSSES.items()},
    "rushlight.nn.functional": FUNCTIONS,
    "rushlight.distributions": {
        **{n: _distribution(n, given) for n, given in DISTRIBUTIONS.items()},
        **{n: _transform(n, given) for n, given in TRANSFORMS.items()},
    },
    "rushlight.signal.windows": {
        n: f"rushlight.signal.windows.{n}({given})" for n, given in WINDOWS.items()
    },
    "rushlight.masked": {n: _masked(n) for n in MASKED},
}
