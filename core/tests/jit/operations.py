"""Functions of many operations for tracing, in the framework that is imported as ``torch``.

Run as a program, PyTorch traces and saves every one, with its input and results; with a second
folder, it loads Rushlight's archives there and compares.
"""

# ruff: noqa: D103 - the names say what is in them
import importlib
import os
import sys

torch = importlib.import_module(os.environ.get("PROGRAM_FRAMEWORK", "torch"))
nn, F = torch.nn, torch.nn.functional
FUNCTIONS = {}


def keep(function):
    """Keep a function."""
    FUNCTIONS[function.__name__] = function
    return function


@keep
def creations(x):
    n = x.size(0)
    a = torch.arange(n, device=x.device)
    b = torch.zeros(n, 3, dtype=x.dtype, device=x.device)
    c = torch.full((2, 3), 1.5)
    d = torch.ones_like(x)
    e = torch.linspace(0, 1, 5)
    f = torch.eye(3)
    return (
        a,
        b,
        c,
        d,
        e,
        f,
        torch.arange(0, 10, 2),
        torch.arange(0.0, 1.0, 0.25),
        x.new_zeros(2, 2),
        x.new_full((2,), 3.0),
        torch.zeros_like(x, dtype=torch.int64),
        torch.empty_like(x).fill_(1),
        torch.tril(torch.ones(3, 3, dtype=torch.bool)),
    )


@keep
def shapes(x):
    return (
        x.unsqueeze(0).expand(2, -1, -1),
        x.repeat(2, 1),
        x.repeat_interleave(2, dim=1),
        torch.roll(x, 1, 0),
        x.flip(1),
        x.permute(1, 0),
        x.reshape(-1),
        x.flatten(),
        x.t().contiguous(),
        torch.stack([x, x]),
        torch.cat((x, x), -1),
        x.narrow(1, 0, 2),
        x.unfold(1, 2, 1),
        torch.movedim(x, 0, 1),
        x.view_as(x),
        x.expand_as(x),
        x.squeeze(),
        x.swapaxes(0, 1),
        torch.broadcast_to(x, (2, 4, 3)),
    )


@keep
def picks(x):
    i = torch.tensor([0, 2])
    m = x > 0
    y = x.clone()
    y[:, 0] = 0
    y[m] = 1.0
    y[i] = y[i] * 2
    y[1:3, 1:] += 1
    y[..., -1] = x[:, 0]
    return (
        x.index_select(0, i),
        x.gather(1, torch.zeros(4, 1, dtype=torch.int64)),
        torch.where(m, x, torch.zeros_like(x)),
        x.masked_fill(m, 0.0),
        x[m],
        x[i, 1],
        x[:, i],
        x[None],
        x[..., 0],
        y,
        torch.zeros(4, 3).scatter(1, torch.zeros(4, 1, dtype=torch.int64), x[:, :1]),
        torch.zeros(4, 3).scatter_add_(0, torch.zeros(4, 3, dtype=torch.int64), x),
        x.take(i),
        torch.masked_select(x, m),
        m.nonzero(),
        x.index_fill(0, i, 1.0),
        x.index_add(0, i, x[:2]),
        torch.take_along_dim(x, torch.zeros(4, 1, dtype=torch.int64), 1),
    )


@keep
def math(x):
    p = x.abs() + 0.5
    return (
        p.pow(2),
        p**0.5,
        p.rsqrt(),
        p.log(),
        x.exp(),
        torch.erf(x),
        x.sin() * x.cos(),
        torch.atan2(x, p),
        x.clamp(-0.5, 0.5),
        x.clamp(min=0),
        torch.clamp(x, max=0.2),
        x.round(),
        x.floor(),
        x.trunc(),
        x.sign(),
        x % 0.3,
        torch.fmod(x, 0.3),
        x // 0.3,
        torch.div(x, 0.3, rounding_mode="floor"),
        1 / p,
        2 - x,
        3**x,
        x.sigmoid(),
        torch.logaddexp(x, p),
        torch.maximum(x, p),
        x.neg(),
        -x,
        x.square(),
        torch.lerp(x, p, 0.3),
        torch.addcmul(x, p, p, value=0.5),
        torch.add(x, p, alpha=2),
        x.sub(p, alpha=0.5),
        torch.rsub(x, 1),
        p.log1p(),
        x.expm1(),
        torch.float_power(p, 2),
        x.nan_to_num(),
        torch.hypot(x, p),
        x.logit(0.01),
        torch.sinc(x),
        torch.special.erfcx(x),
    )


@keep
def reduce(x):
    return (
        x.sum(),
        x.sum(0),
        x.mean(dim=(0, 1)),
        x.std(),
        x.var(1, unbiased=False),
        x.norm(),
        x.norm(dim=1),
        x.amax(1),
        x.argmax(1),
        x.max(),
        x.min(0),
        x.prod(1),
        x.cumsum(0),
        x.cumprod(1),
        x.logsumexp(1),
        torch.topk(x, 2),
        x.sort(1, descending=True),
        x.argsort(0),
        (x > 0).any(),
        (x > 0).all(1),
        x.median(),
        x.kthvalue(2),
        torch.linalg.norm(x),
        torch.linalg.vector_norm(x, dim=1),
        x.count_nonzero(),
        torch.aminmax(x),
        x.softmax(1, dtype=torch.float64),
        torch.cdist(x, x),
        x.sum(0, keepdim=True, dtype=torch.float64),
        torch.var_mean(x, dim=0),
        x.mode(1),
        torch.nansum(x),
        x.cummax(0),
        torch.diff(x),
        torch.trapezoid(x),
        torch.bincount(torch.tensor([0, 1, 1])),
        torch.histc(x, 4),
        torch.unique(torch.tensor([2, 1, 2])),
        x.quantile(0.5),
        torch.logcumsumexp(x, 0),
    )


@keep
def linear(x):
    y = x.t()
    return (
        x @ y,
        torch.mm(x, y),
        torch.bmm(x[None], y[None]),
        torch.einsum("ij,jk->ik", x, y),
        torch.addmm(torch.ones(4, 4), x, y),
        torch.outer(x[:, 0], x[:, 1]),
        torch.dot(x[0], x[1]),
        torch.mv(x, x[0]),
        torch.tensordot(x, y, 1),
        torch.kron(x[:2, :2], x[:2, :2]),
        torch.linalg.inv(x[:3] + 3 * torch.eye(3)),
        torch.linalg.solve(x[:3] + 3 * torch.eye(3), x[:3]),
        torch.triu(x),
        torch.trace(x),
        torch.diag(x[0]),
        x.diagonal(),
        torch.matrix_exp(x[:3]),
        torch.linalg.det(x[:3]),
        torch.cross(x, x.flip(1), dim=1),
        torch.baddbmm(torch.ones(1, 4, 4), x[None], y[None]),
        F.bilinear(x, x, torch.ones(2, 3, 3)),
    )


@keep
def types(x):
    return (
        x.double(),
        x.to(torch.float64),
        x.half().float(),
        x.int(),
        x.long(),
        x.bool(),
        x.type(torch.float64),
        x.type_as(torch.zeros(1, dtype=torch.float64)),
        x.to("cpu"),
        x.to(x.device, torch.float64),
        (x > 0).float(),
        x.bfloat16().float(),
        x.to(torch.int32, copy=True),
        (x > 0) & (x < 0.5),
        (x > 0) | (x < -0.5),
        ~(x > 0),
        (x > 0) ^ (x < 0.2),
        torch.logical_and(x > 0, x < 1),
        x == x,
        x != x,
        x.ge(0),
        x.detach(),
        x.clone(),
        torch.isnan(x),
        torch.isfinite(x),
        x.long() << 1,
        x.long() & 1,
        torch.complex(x, x).abs(),
        torch.view_as_real(torch.complex(x, x)),
        x.byte(),
    )


@keep
def nets(x):
    i = x.reshape(1, 3, 2, 2)
    j = F.interpolate(i, scale_factor=3.0, mode="bilinear", align_corners=True)
    k = F.interpolate(i, size=(5, 5), mode="bicubic")
    s = x[None]
    g = F.grid_sample(
        j,
        F.affine_grid(torch.eye(2, 3)[None], [1, 3, 4, 4], align_corners=False),
        align_corners=False,
    )
    return (
        j,
        k,
        g,
        F.pixel_shuffle(torch.cat([i, i[:, :1]], 1), 2),
        F.unfold(j, 3),
        F.fold(F.unfold(j, 3), (6, 6), 3),
        F.pad(i, (1, 1, 1, 1), mode="reflect"),
        F.pad(i, (1, 2), value=2.0),
        F.pad(i, (1, 1, 1, 1), mode="circular"),
        F.adaptive_max_pool2d(j, 2),
        F.max_pool2d(j, 2, return_indices=True),
        F.avg_pool2d(j, 3, 2, 1, False, False),
        F.lp_pool2d(j, 2.0, 2),
        F.conv2d(j, torch.ones(4, 3, 3, 3), padding="same"),
        F.conv_transpose2d(i, torch.ones(3, 2, 2, 2), stride=2),
        F.layer_norm(x, (3,)),
        F.group_norm(j, 3),
        F.instance_norm(j),
        F.local_response_norm(j, 2),
        F.gelu(x, approximate="tanh"),
        F.silu(x),
        F.hardswish(x),
        F.prelu(x, torch.ones(1) * 0.1),
        F.glu(torch.cat([x, x], 1)),
        F.softplus(x),
        F.scaled_dot_product_attention(s, s, s),
        F.scaled_dot_product_attention(s, s, s, is_causal=True),
        F.one_hot(torch.tensor([0, 2]), 3),
        F.embedding(torch.tensor([0, 2]), x),
        F.cosine_similarity(x, x + 1),
        F.normalize(x),
        F.linear(x, torch.ones(2, 3), torch.ones(2)),
        F.interpolate(i, scale_factor=2, mode="area"),
        F.channel_shuffle(torch.cat([i, i], 1), 2),
        F.hardshrink(x),
        F.rrelu(x),
        F.nll_loss(F.log_softmax(x, 1), torch.tensor([0, 1, 2, 0])),
        F.triplet_margin_loss(x, x + 1, x - 1),
        F.margin_ranking_loss(x[:, 0], x[:, 1], torch.ones(4)),
        F.cosine_embedding_loss(x, x + 1, torch.ones(4)),
        F.pairwise_distance(x, x + 1),
        F.poisson_nll_loss(x, x.exp()),
        F.gaussian_nll_loss(x, x + 1, x.exp()),
        F.multi_margin_loss(x, torch.tensor([0, 1, 2, 0])),
        F.ctc_loss(
            F.log_softmax(torch.ones(4, 1, 3), 2),
            torch.tensor([[1]]),
            torch.tensor([4]),
            torch.tensor([1]),
        ),
        torch.stft(x.reshape(-1), 4, return_complex=True, window=torch.ones(4)).abs(),
        torch.fft.fft(x).abs(),
        torch.fft.rfft2(x).abs(),
    )


def flat(value):
    """All tensors of results."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flat(part)]


class Flat(nn.Module):
    """A function with all its tensors as one tuple."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return tuple(flat(self.function(x)))


def example():
    """The input of all functions."""
    rows = [[((i * 37 + j * 11) % 23) / 23 - 0.45 for j in range(3)] for i in range(4)]
    return torch.tensor(rows)


def close(ours, theirs):
    """Whether two tensors are equal within 1e-4."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return False
    if ours.is_complex():
        ours, theirs = torch.view_as_real(ours), torch.view_as_real(theirs)
    return torch.allclose(ours.double(), theirs.double(), 1e-4, 1e-4, equal_nan=True)


def main(folder, other=None):
    """Save, or compare what is in the other folder."""
    x, failed = example(), 0
    for name, function in FUNCTIONS.items():
        if other is None:
            traced = torch.jit.trace(Flat(function), x, check_trace=False)
            traced.save(f"{folder}/{name}.pt")
            torch.save(list(traced(x)), f"{folder}/{name}.results.pt")
            continue
        wanted = torch.load(f"{folder}/{name}.results.pt")
        found = torch.jit.load(f"{other}/{name}.pt")(x)
        wrong = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if not close(a, b)]
        if wrong:
            failed += 1
            print(name, wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
