"""What seeds.py compares: (group, name, function of the library that draws, floor).

A unit in the last place is that of the result, or of the floor where that is larger: the size of a
shift, or of the parts of a sum.
"""

from __future__ import annotations

import importlib
import inspect

# Across the sizes at which samplers change their path: 1, below 16, 16, past it, several blocks.
SIZES = ((), (1,), (7,), (15,), (16,), (17,), (3, 33), (1000,), (64, 65))
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")

FLOORS = {
    "normal_": 2.5,
    "normal(": 2.0,
    "cauchy_": 2.0,
    "init.orthogonal_": 1.0,
    "nn.orthogonal": 1.0,
    "nn.spectral_norm": 1.0,
    "nn.LSTM dropout": 1.0,
    "nn.GRU dropout": 1.0,
    "nn.RNN dropout": 1.0,
    "nn.MultiheadAttention dropout": 1.0,
    "nn.TransformerEncoderLayer dropout": 4.0,
    "nn.TransformerDecoderLayer dropout": 4.0,
    "distributions.Normal": 2.0,
    "distributions.Laplace": 2.0,
    "distributions.Gumbel": 2.0,
    "distributions.MultivariateNormal": 2.0,
}


def rows():
    """All rows, group by group."""
    groups = {
        "generators": generators(),
        "initialisers": initialisers(),
        "layers": layers(),
        "masks": masks(),
        "orders": orders(),
        "distributions": distributions(),
        "algorithms": algorithms(),
    }
    for group, found in groups.items():
        for name, call in found.items():
            floors = (size for word, size in FLOORS.items() if name.startswith(word))
            yield group, name, call, next(floors, 0.0)


def each_size(draw, sizes=SIZES):
    """A function that draws every size in turn."""
    return lambda lib: [draw(lib, size) for size in sizes]


def in_place(name, dtype, *args):
    """A function that fills tensors of every size, contiguous and not."""

    def call(lib):
        kind = getattr(lib, dtype)
        found = [getattr(lib.zeros(size, dtype=kind), name)(*args) for size in SIZES]
        return [*found, getattr(lib.zeros(8, 6, dtype=kind).t(), name)(*args)]

    return call


def generators():
    """The functions and methods that draw."""
    found = {}
    for dtype in FLOATS:
        found[f"rand {dtype}"] = each_size(lambda m, s, d=dtype: m.rand(s, dtype=getattr(m, d)))
        found[f"randn {dtype}"] = each_size(lambda m, s, d=dtype: m.randn(s, dtype=getattr(m, d)))
        for name, args in (
            ("uniform_", (-2.0, 3.0)), ("normal_", (1.0, 2.5)), ("exponential_", (1.5,)),
            ("cauchy_", (0.5, 2.0)), ("log_normal_", (0.2, 0.7)), ("geometric_", (0.3,)),
            ("bernoulli_", (0.3,)), ("random_", ()),
        ):  # fmt: skip
            found[f"{name} {dtype}"] = in_place(name, dtype, *args)
    for dtype in INTEGERS:
        found[f"randint {dtype}"] = each_size(
            lambda m, s, d=dtype: m.randint(-3 if d != "uint8" else 0, 100, s, dtype=getattr(m, d))
        )
        found[f"random_ {dtype}"] = in_place("random_", dtype)
        found[f"random_(from, to) {dtype}"] = in_place("random_", dtype, 3, 101)
        found[f"bernoulli_ {dtype}"] = in_place("bernoulli_", dtype, 0.6)
    for dtype in ("complex64", "complex128"):
        found[f"randn {dtype}"] = each_size(lambda m, s, d=dtype: m.randn(s, dtype=getattr(m, d)))
        found[f"rand {dtype}"] = each_size(lambda m, s, d=dtype: m.rand(s, dtype=getattr(m, d)))
    ramp = lambda m: m.linspace(0.05, 0.95, 300).view(3, 100)
    found |= {
        "rand_like": lambda m: m.rand_like(m.ones(5, 7)),
        "randn_like": lambda m: m.randn_like(m.ones(5, 7, dtype=m.float64)),
        "randint_like": lambda m: m.randint_like(m.ones(5, 7), 3, 30),
        "randint wide": lambda m: m.randint(-(2**62), 2**62, (200,)),
        "randint 33 bits": lambda m: m.randint(0, 2**33, (200,)),
        "random_ bool": in_place("random_", "bool"),
        "randperm": lambda m: [m.randperm(n) for n in (0, 1, 2, 17, 1000, 40000)],
        "randperm int32": lambda m: m.randperm(100, dtype=m.int32),
        "normal(tensor, tensor)": lambda m: m.normal(ramp(m), ramp(m)),
        "normal(tensor, number)": lambda m: m.normal(ramp(m), 2.0),
        "normal(number, tensor)": lambda m: m.normal(1.0, ramp(m)),
        "normal(number, number, size)": each_size(lambda m, s: m.normal(1.0, 2.0, s)),
        "bernoulli": lambda m: [m.bernoulli(ramp(m)), m.bernoulli(ramp(m).double())],
        "bernoulli_(tensor)": lambda m: m.empty(3, 100).bernoulli_(ramp(m)),
        "bernoulli out of blocks": lambda m: m.bernoulli(m.full((5000,), 0.5)),
        "multinomial": lambda m: m.multinomial(ramp(m), 40),
        "multinomial replacement": lambda m: m.multinomial(ramp(m), 500, replacement=True),
        "multinomial one": lambda m: m.multinomial(ramp(m), 1),
        "multinomial float64": lambda m: m.multinomial(ramp(m)[0].double(), 30),
        "poisson": lambda m: m.poisson(m.linspace(0.1, 40, 500)),
        "poisson float64": lambda m: m.poisson(m.linspace(0.1, 40, 500, dtype=m.float64)),
        "binomial": lambda m: m.binomial(m.full((300,), 20.0), ramp(m).flatten()),
        "generator of one's own": lambda m: [
            m.rand(9, generator=m.Generator().manual_seed(m.initial_seed())),
            m.randperm(50, generator=m.Generator().manual_seed(5)),
        ],
        "two normals of one draw": lambda m: [m.randn(3), m.randn(1), m.randn(2), m.rand(1)],
        "normals across dtypes": lambda m: [m.randn(3), m.randn(3, dtype=m.float64), m.randn(5)],
        "fork_rng": lambda m: forked(m),
        "state round trip": lambda m: returned(m),
        "initial_seed": lambda m: m.initial_seed(),
    }
    return found


def forked(lib):
    """Draws inside and after `fork_rng`."""
    with lib.random.fork_rng(devices=[]):
        inside = lib.rand(5)
    return [inside, lib.rand(5)]


def returned(lib):
    """Draws after the state went back, with a normal value still in store."""
    first = lib.randn(3)
    state = lib.get_rng_state()
    second = lib.randn(4)
    lib.set_rng_state(state)
    return [first, second, lib.randn(4), state]


def initialisers():
    """Everything of nn.init that draws."""
    plain = {
        "uniform_": {}, "normal_": {}, "trunc_normal_": {}, "xavier_uniform_": {},
        "xavier_normal_": {"gain": 1.4}, "kaiming_uniform_": {"a": 0.2},
        "kaiming_normal_": {"mode": "fan_out", "nonlinearity": "relu"}, "orthogonal_": {},
        "sparse_": {"sparsity": 0.2},
    }  # fmt: skip
    found = {}
    for name, kwargs in plain.items():
        for dtype in ("float32", "float64"):
            found[f"{name} {dtype}"] = initialised(name, dtype, kwargs)
    found["trunc_normal_ narrow"] = initialised(
        "trunc_normal_", "float32", {"mean": 0.5, "std": 0.1, "a": 0.3, "b": 0.6}
    )
    found["orthogonal_ wide, gain"] = lambda m: m.nn.init.orthogonal_(m.empty(4, 9), gain=2.0)
    found["dirac_, eye_ (draw nothing)"] = lambda m: [
        m.nn.init.dirac_(m.empty(4, 4, 3)), m.nn.init.eye_(m.empty(3, 5))
    ]  # fmt: skip
    return {f"init.{name}": call for name, call in found.items()}


def initialised(name, dtype, kwargs):
    """Weights of several shapes after an initialiser."""
    shapes = ((6, 4), (40, 30)) if name == "sparse_" else ((6, 4), (3, 5, 3, 3), (40, 30))
    return lambda m: [
        getattr(m.nn.init, name)(m.empty(s, dtype=getattr(m, dtype)), **kwargs) for s in shapes
    ]


LAYERS = {
    "Linear": (7, 5), "Bilinear": (3, 4, 5), "LazyLinear": (5,), "Embedding": (10, 6),
    "EmbeddingBag": (10, 6), "Conv1d": (4, 6, 3), "Conv2d": (4, 6, 3), "Conv3d": (4, 6, 3),
    "ConvTranspose1d": (4, 6, 3), "ConvTranspose2d": (4, 6, 3), "ConvTranspose3d": (4, 6, 3),
    "RNN": (5, 6, 2), "LSTM": (5, 6, 2), "GRU": (5, 6, 2), "RNNCell": (5, 6), "LSTMCell": (5, 6),
    "GRUCell": (5, 6), "MultiheadAttention": (12, 3), "TransformerEncoderLayer": (12, 3, 20),
    "TransformerDecoderLayer": (12, 3, 20), "Transformer": (12, 3, 1, 1, 20), "PReLU": (3,),
    "BatchNorm1d": (4,), "BatchNorm2d": (4,), "BatchNorm3d": (4,), "SyncBatchNorm": (4,),
    "LayerNorm": (6,), "GroupNorm": (2, 6), "RMSNorm": (6,), "AdaptiveLogSoftmaxWithLoss":
    (12, 40, [5, 20]), "LinearCrossEntropyLoss": (6, 5),
}  # fmt: skip
OPTIONS = {
    "Embedding, padding_idx": ("Embedding", (10, 6), {"padding_idx": 2}),
    "Conv2d, groups": ("Conv2d", (4, 6, (3, 2)), {"groups": 2, "bias": False}),
    "LSTM, bidirectional, projections": (
        "LSTM", (5, 6, 2), {"bidirectional": True, "proj_size": 3}),
    "GRU, bidirectional": ("GRU", (5, 6, 2), {"bidirectional": True, "bias": False}),
    "MultiheadAttention, other widths": (
        "MultiheadAttention", (12, 3), {"kdim": 5, "vdim": 7, "add_bias_kv": True}),
    "Linear, float64": ("Linear", (7, 5), {"dtype": "float64"}),
}  # fmt: skip


def layers():
    """Initial weights, and those after a copy or a second initialisation."""
    import torch

    found = {name: layer(name, args, {}) for name, args in LAYERS.items()}
    found |= {name: layer(*rest) for name, rest in OPTIONS.items()}
    found["InstanceNorm2d, affine"] = layer("InstanceNorm2d", (4,), {"affine": True})
    found["a network, layer by layer"] = lambda m: m.nn.Sequential(
        m.nn.Conv2d(3, 8, 3), m.nn.BatchNorm2d(8), m.nn.ReLU(), m.nn.Flatten(), m.nn.Linear(72, 5)
    ).state_dict()
    found["LazyConv2d after its first input"] = lambda m: lazy(m)
    found["reset_parameters"] = lambda m: renewed(m)
    found["skip_init"] = lambda m: [m.nn.utils.skip_init(m.nn.Linear, 3, 4) and m.rand(3)]
    found["spectral_norm"] = lambda m: m.nn.utils.parametrizations.spectral_norm(
        m.nn.Linear(5, 4)
    ).state_dict()
    found["spectral_norm (former)"] = lambda m: m.nn.utils.spectral_norm(
        m.nn.Conv2d(2, 4, 3)
    ).state_dict()
    found["orthogonal"] = lambda m: m.nn.utils.parametrizations.orthogonal(m.nn.Linear(5, 4)).weight
    found["random_unstructured pruning"] = lambda m: pruned(m)
    drawing = {
        name
        for name, kind in vars(torch.nn).items()
        if inspect.isclass(kind) and issubclass(kind, torch.nn.Module)
        if "reset_parameters" in dir(kind) and not name.startswith("Lazy")
    }
    missing = drawing - set(LAYERS) - {"InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"}
    missing -= {"RNNBase", "RNNCellBase", "LocalResponseNorm", "CrossMapLRN2d", "Container"}
    if missing:
        raise SystemExit(f"seeds_rows.LAYERS does not name {sorted(missing)}")
    return {f"nn.{name}": call for name, call in found.items()}


def layer(name, args, kwargs):
    """The state dict of a new layer."""

    def call(lib):
        given = dict(kwargs)
        if "dtype" in given:
            given["dtype"] = getattr(lib, given["dtype"])
        made = getattr(lib.nn, name)(*args, **given)
        if name.startswith("Lazy"):
            made(lib.ones(2, 3))
        return made.state_dict()

    return call


def lazy(lib):
    """A lazy layer's weights are drawn when its shapes are known."""
    made = lib.nn.LazyConv2d(4, 3)
    before = lib.rand(3)
    made(lib.ones(1, 2, 5, 5))
    return [before, made.state_dict()]


def renewed(lib):
    """Drawn anew, child by child."""
    net = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.LSTM(4, 5))
    for child in net:
        child.reset_parameters()
    return net.state_dict()


def pruned(lib):
    """Masks of randomly pruned weights, entries and rows."""
    importlib.import_module(f"{lib.__name__}.nn.utils.prune")
    made = lib.nn.Linear(8, 6)
    lib.nn.utils.prune.random_unstructured(made, "weight", amount=0.3)
    other = lib.nn.Linear(8, 6)
    lib.nn.utils.prune.random_structured(other, "weight", amount=2, dim=1)
    return [made.weight_mask, other.weight_mask]


def masks():
    """Functions and layers that draw while they compute."""
    x = lambda m, *s: (m.arange(1.0, 1 + m.Size(s).numel()) / 7).view(s)
    found = {}
    for name, shape in (
        ("dropout", (40, 50)), ("dropout1d", (4, 6, 5)), ("dropout2d", (4, 6, 5, 2)),
        ("dropout3d", (4, 6, 5, 2, 2)), ("alpha_dropout", (40, 50)),
        ("feature_alpha_dropout", (4, 6, 5)),
    ):  # fmt: skip
        for p in (0.1, 0.5):
            found[f"F.{name} p={p}"] = lambda m, n=name, s=shape, p=p: getattr(m.nn.functional, n)(
                x(m, *s), p, training=True
            )
    found |= {
        "F.dropout float64": lambda m: m.nn.functional.dropout(x(m, 40, 50).double(), 0.3),
        "F.dropout bfloat16": lambda m: m.nn.functional.dropout(m.ones(2000).bfloat16(), 0.25),
        "F.dropout_ in place": lambda m: m.nn.functional.dropout(x(m, 90), 0.3, inplace=True),
        "F.dropout of a transposed tensor": lambda m: m.nn.functional.dropout(x(m, 9, 50).t(), 0.3),
        "F.dropout p=0, p=1": lambda m: [
            m.nn.functional.dropout(x(m, 9), 0.0), m.nn.functional.dropout(x(m, 9), 1.0)],
        "F.rrelu": lambda m: m.nn.functional.rrelu(x(m, 300) - 20, training=True),
        "F.gumbel_softmax": lambda m: m.nn.functional.gumbel_softmax(x(m, 4, 9), tau=0.7),
        "F.gumbel_softmax hard": lambda m: m.nn.functional.gumbel_softmax(x(m, 4, 9), hard=True),
        "F.fractional_max_pool2d": lambda m: m.nn.functional.fractional_max_pool2d(
            x(m, 2, 3, 9, 9), 2, output_size=4),
        "F.fractional_max_pool3d": lambda m: m.nn.functional.fractional_max_pool3d(
            x(m, 2, 3, 9, 9, 9), 2, output_size=4),
        "F.scaled_dot_product_attention dropout": lambda m: (
            m.nn.functional.scaled_dot_product_attention(
                *(m.ones(2, 5, 4) for _ in range(3)), dropout_p=0.4) > 0).float(),
        "nn.Dropout twice": lambda m: [(d := m.nn.Dropout(0.2))(x(m, 99)), d(x(m, 99))],
        "nn.MultiheadAttention dropout": lambda m: m.nn.MultiheadAttention(12, 3, dropout=0.5)(
            *(m.ones(6, 2, 12),) * 3)[0],
        "nn.TransformerEncoderLayer dropout": lambda m: m.nn.TransformerEncoderLayer(
            12, 3, 20, dropout=0.5)(m.ones(6, 2, 12)),
        "nn.TransformerDecoderLayer dropout": lambda m: m.nn.TransformerDecoderLayer(
            12, 3, 20, dropout=0.5)(*(m.ones(6, 2, 12),) * 2),
    }  # fmt: skip
    for name in ("LSTM", "GRU", "RNN"):
        found[f"nn.{name} dropout"] = lambda m, n=name: getattr(m.nn, n)(3, 4, 3, dropout=0.5)(
            m.ones(6, 2, 3)
        )[0]
    return found


def orders():
    """What utils.data draws."""

    def loaded(lib, **kwargs):
        data = lib.utils.data
        loader = data.DataLoader(data.TensorDataset(lib.arange(23)), batch_size=5, **kwargs)
        return [batch for _ in range(2) for (batch,) in loader]

    def sampled(lib, name, *args, **kwargs):
        sampler = getattr(lib.utils.data, name)(*args, **kwargs)
        return [list(sampler), list(sampler)]

    def split(lib, parts, generator=None):
        data = lib.utils.data
        whole = data.TensorDataset(lib.arange(20))
        kwargs = {} if generator is None else {"generator": generator}
        return [list(part.indices) for part in data.random_split(whole, parts, **kwargs)]

    return {
        "DataLoader(shuffle=True)": lambda m: loaded(m, shuffle=True),
        "DataLoader(shuffle=True, generator)": lambda m: loaded(
            m, shuffle=True, generator=m.Generator().manual_seed(7)
        ),
        "DataLoader, no shuffle (worker seed)": lambda m: [loaded(m), m.rand(2)],
        "DataLoader, 2 workers": lambda m: worker_seeds(m),
        "random_split": lambda m: split(m, [7, 13]),
        "random_split fractions": lambda m: split(m, [0.3, 0.5, 0.2]),
        "random_split generator": lambda m: split(m, [7, 13], m.Generator().manual_seed(42)),
        "RandomSampler": lambda m: sampled(m, "RandomSampler", range(30)),
        "RandomSampler replacement": lambda m: sampled(
            m, "RandomSampler", range(30), replacement=True, num_samples=70
        ),
        "RandomSampler num_samples": lambda m: sampled(
            m, "RandomSampler", range(9), num_samples=25
        ),
        "SubsetRandomSampler": lambda m: sampled(m, "SubsetRandomSampler", [3, 5, 8, 13, 21]),
        "WeightedRandomSampler": lambda m: sampled(
            m, "WeightedRandomSampler", [0.1, 0.9, 0.4, 2.0], 50
        ),
        "WeightedRandomSampler, no replacement": lambda m: sampled(
            m, "WeightedRandomSampler", [0.1, 0.9, 0.4, 2.0], 3, replacement=False
        ),
        "DistributedSampler": lambda m: list(
            m.utils.data.distributed.DistributedSampler(range(21), 3, 1, seed=4)
        ),
    }


class Draws:
    """A data set whose items are random: they show the workers' seeds."""

    def __init__(self, lib):
        self.lib = lib

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return self.lib.rand(3)


def worker_seeds(lib):
    """What two forked workers draw."""
    loader = lib.utils.data.DataLoader(
        Draws(lib), batch_size=2, num_workers=2, multiprocessing_context="fork"
    )
    return list(loader)


def distributions():
    """Samples of torch.distributions."""
    given = {
        "Bernoulli": (0.3,), "Beta": (1.5, 2.5), "Binomial": (12, 0.4), "Cauchy": (0.5, 2.0),
        "Chi2": (3.0,), "ContinuousBernoulli": (0.3,), "Exponential": (1.5,),
        "FisherSnedecor": (3.0, 5.0), "Gamma": (0.7, 2.0), "Geometric": (0.3,),
        "Gumbel": (0.5, 2.0), "HalfCauchy": (2.0,), "HalfNormal": (2.0,), "InverseGamma":
        (2.5, 1.5), "Kumaraswamy": (1.5, 2.5), "Laplace": (0.5, 2.0), "LogNormal": (0.2, 0.7),
        "NegativeBinomial": (5, 0.4), "Normal": (1.0, 2.0), "Pareto": (1.0, 2.5), "Poisson": (4.0,),
        "StudentT": (4.0,), "Uniform": (-1.0, 3.0), "VonMises": (0.5, 2.0), "Weibull": (1.5, 2.0),
    }  # fmt: skip
    found = {}
    for name, args in given.items():
        found[name] = lambda m, n=name, a=args: getattr(m.distributions, n)(
            *(m.tensor(float(v)) for v in a)
        ).sample((200,))
    weights = lambda m: m.tensor([0.1, 0.2, 0.3, 0.4])
    found |= {
        "Categorical": lambda m: m.distributions.Categorical(weights(m)).sample((200,)),
        "OneHotCategorical": lambda m: m.distributions.OneHotCategorical(weights(m)).sample((50,)),
        "Multinomial": lambda m: m.distributions.Multinomial(30, weights(m)).sample((20,)),
        "Dirichlet": lambda m: m.distributions.Dirichlet(weights(m) * 5).sample((60,)),
        "MultivariateNormal": lambda m: m.distributions.MultivariateNormal(
            m.zeros(2), m.tensor([[2.0, 0.0], [0.0, 0.5]])).sample((50,)),
        "RelaxedBernoulli": lambda m: m.distributions.RelaxedBernoulli(
            m.tensor(0.7), m.tensor(0.4)).sample((100,)),
        "Wishart": lambda m: m.distributions.Wishart(m.tensor(5.0), m.eye(2)).sample((20,)),
        "LKJCholesky": lambda m: m.distributions.LKJCholesky(3, 1.5).sample((20,)),
    }  # fmt: skip
    return {f"distributions.{name}": call for name, call in found.items()}


def algorithms():
    """Computations that draw for their own use."""
    matrix = lambda m: m.arange(60.0).sin().view(10, 6)
    return {
        "svd_lowrank (draws)": lambda m: [m.svd_lowrank(matrix(m), q=3) and m.rand(3)],
        "pca_lowrank (draws)": lambda m: [m.pca_lowrank(matrix(m), q=3) and m.rand(3)],
    }
