"""Attention whose queries, keys and values are pooled, for multiscale vision transformers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import rushlight as rl
from rushlight import fx, nn

F = nn.functional
Size = tuple[int, int, int]


def _prod(s: Sequence[int]) -> int:
    """The product; 1 of nothing."""
    return math.prod(s)


def _unsqueeze(x: rl.Tensor, target_dim: int, expand_dim: int) -> tuple[rl.Tensor, int]:
    """`x` with one dimension more, if it lacks one, and how many it had."""
    dims = x.dim()
    if dims == target_dim - 1:
        x = x.unsqueeze(expand_dim)
    elif dims != target_dim:
        raise ValueError(f"Unsupported input dimension {tuple(x.shape)}")
    return x, dims


def _squeeze(x: rl.Tensor, target_dim: int, expand_dim: int, tensor_dim: int) -> rl.Tensor:
    """`x` without the dimension that :func:`_unsqueeze` added."""
    return x.squeeze(expand_dim) if tensor_dim == target_dim - 1 else x


fx.wrap("_unsqueeze")
fx.wrap("_squeeze")


def halved(sizes: Sequence[int]) -> list[int]:
    """The padding of kernels that keeps sizes."""
    return [size // 2 for size in sizes]


class Pool(nn.Module):
    """Pools positions (N, heads, 1 + T * H * W, C) and leaves the token of the class, the first.

    Parameters
    ----------
    pool : Module
        On volumes (N, C, T, H, W).
    norm, activation : Module or None
    norm_before_pool : bool, default False
    """

    def __init__(
        self,
        pool: nn.Module,
        norm: nn.Module | None,
        activation: nn.Module | None = None,
        norm_before_pool: bool = False,
    ) -> None:
        super().__init__()
        self.pool = pool
        layers = [each for each in (norm, activation) if each is not None]
        self.norm_act = nn.Sequential(*layers) if layers else None
        self.norm_before_pool = norm_before_pool

    def forward(self, x: rl.Tensor, thw: Size) -> tuple[rl.Tensor, Size]:
        """The pooled positions, and their size."""
        x, dims = _unsqueeze(x, 4, 1)
        token, x = x[:, :, :1], x[:, :, 1:]
        n, heads, _, channels = x.shape
        x = x.transpose(2, 3).reshape(n * heads, channels, *thw)
        if self.norm_before_pool and self.norm_act is not None:
            x = self.norm_act(x)
        x = self.pool(x)
        time, down, across = x.shape[2:]
        x = x.reshape(n, heads, channels, -1).transpose(2, 3)
        x = rl.cat((token, x), dim=2)
        if not self.norm_before_pool and self.norm_act is not None:
            x = self.norm_act(x)
        return _squeeze(x, 4, 1, dims), (time, down, across)


def _interpolate(embedding: rl.Tensor, d: int) -> rl.Tensor:
    """A table (distances, C) of as many distances as wanted."""
    if embedding.shape[0] == d:
        return embedding
    return F.interpolate(embedding.permute(1, 0).unsqueeze(0), size=d, mode="linear")[0].T


def _distances(embedding: rl.Tensor, queries: int, keys: int) -> rl.Tensor:
    """What a table says of the distances (queries, keys, C) along one dimension."""
    along_q, along_k = max(keys / queries, 1.0), max(queries / keys, 1.0)
    q = rl.arange(queries, device=embedding.device)[:, None] * along_q
    k = (rl.arange(keys, device=embedding.device)[None, :] + (1.0 - keys)) * along_k
    return _interpolate(embedding, 2 * max(queries, keys) - 1)[(q - k).long()]


def _add_rel_pos(
    attn: rl.Tensor,
    q: rl.Tensor,
    q_thw: Size,
    k_thw: Size,
    rel_pos_h: rl.Tensor,
    rel_pos_w: rl.Tensor,
    rel_pos_t: rl.Tensor,
) -> rl.Tensor:
    """Scores (N, heads, 1 + queries, 1 + keys) with what distances say, but for the token."""
    tables = (rel_pos_t, rel_pos_h, rel_pos_w)
    n, heads, _, channels = q.shape
    positions = q[:, :, 1:].reshape(n, heads, *q_thw, channels)
    along = [_distances(*each) for each in zip(tables, q_thw, k_thw, strict=True)]
    time = rl.einsum("nhtyxc,tkc->nhtyxk", positions, along[0])
    down = rl.einsum("nhtyxc,ykc->nhtyxk", positions, along[1])
    across = rl.einsum("nhtyxc,xkc->nhtyxk", positions, along[2])
    added = (
        time[..., :, None, None] + down[..., None, :, None] + across[..., None, None, :]
    ).reshape(n, heads, _prod(q_thw), _prod(k_thw))
    return attn + F.pad(added, (1, 0, 1, 0))


def _add_shortcut(x: rl.Tensor, shortcut: rl.Tensor, residual_with_cls_embed: bool) -> rl.Tensor:
    """The sum, of all positions or of all but the token of the class."""
    if residual_with_cls_embed:
        return x + shortcut
    return rl.cat((x[:, :, :1], x[:, :, 1:] + shortcut[:, :, 1:]), dim=2)


fx.wrap("_add_rel_pos")
fx.wrap("_add_shortcut")


class MultiscaleAttention(nn.Module):
    """Attention of positions (N, 1 + T * H * W, `embed_dim`), the token of the class first.

    Parameters
    ----------
    input_size : list of int
        Frames, height and width of the positions.
    embed_dim, output_dim : int
    num_heads : int
    kernel_q, kernel_kv, stride_q, stride_kv : list of int
        Of the pooling of queries, and of keys and values; empty for none.
    residual_pool, residual_with_cls_embed : bool
        Whether pooled queries are added to the result, and the token of the class among them.
    rel_pos_embed : bool
        Whether scores know distances.
    dropout : float, default 0.0
    norm_layer : callable, default `nn.LayerNorm`
    """

    def __init__(
        self,
        input_size: list[int],
        embed_dim: int,
        output_dim: int,
        num_heads: int,
        kernel_q: list[int],
        kernel_kv: list[int],
        stride_q: list[int],
        stride_kv: list[int],
        residual_pool: bool,
        residual_with_cls_embed: bool,
        rel_pos_embed: bool,
        dropout: float = 0.0,
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.output_dim = output_dim
        self.num_heads = num_heads
        self.head_dim = output_dim // num_heads
        self.scaler = 1.0 / math.sqrt(self.head_dim)
        self.residual_pool = residual_pool
        self.residual_with_cls_embed = residual_with_cls_embed
        self.qkv = nn.Linear(embed_dim, 3 * output_dim)
        layers: list[nn.Module] = [nn.Linear(output_dim, output_dim)]
        if dropout > 0.0:
            layers.append(nn.Dropout(dropout, inplace=True))
        self.project = nn.Sequential(*layers)
        self.pool_q = self._pool(kernel_q, stride_q, norm_layer)
        self.pool_k = self._pool(kernel_kv, stride_kv, norm_layer)
        self.pool_v = self._pool(kernel_kv, stride_kv, norm_layer)
        self.rel_pos_h: nn.Parameter | None = None
        self.rel_pos_w: nn.Parameter | None = None
        self.rel_pos_t: nn.Parameter | None = None
        if rel_pos_embed:
            side = max(input_size[1:])
            sides = [side // step[1] if step else side for step in (stride_q, stride_kv)]
            space, time = 2 * max(sides) - 1, 2 * input_size[0] - 1
            self.rel_pos_h = nn.Parameter(rl.zeros(space, self.head_dim))
            self.rel_pos_w = nn.Parameter(rl.zeros(space, self.head_dim))
            self.rel_pos_t = nn.Parameter(rl.zeros(time, self.head_dim))
            for table in (self.rel_pos_h, self.rel_pos_w, self.rel_pos_t):
                nn.init.trunc_normal_(table, std=0.02)

    def _pool(
        self, kernel: list[int], stride: list[int], norm_layer: Callable[..., nn.Module]
    ) -> Pool | None:
        """A pooling by a convolution channel by channel, where there is something to pool."""
        if _prod(kernel) <= 1 and _prod(stride) <= 1:
            return None
        wide = self.head_dim
        conv = nn.Conv3d(
            wide, wide, kernel, stride=stride, padding=halved(kernel), groups=wide, bias=False
        )
        return Pool(conv, norm_layer(wide))

    def forward(self, x: rl.Tensor, thw: Size) -> tuple[rl.Tensor, Size]:
        """The positions (N, 1 + T * H * W, `output_dim`), and their size."""
        n, count, _ = x.shape
        qkv = self.qkv(x).reshape(n, count, 3, self.num_heads, self.head_dim)
        q, k, v = qkv.transpose(1, 3).unbind(dim=2)
        k, size_k = (k, thw) if self.pool_k is None else self.pool_k(k, thw)
        v = v if self.pool_v is None else self.pool_v(v, thw)[0]
        q, size = (q, thw) if self.pool_q is None else self.pool_q(q, thw)
        if self.rel_pos_h is None:  # the scores need not exist all at once
            x = F.scaled_dot_product_attention(q, k, v, scale=self.scaler)
        else:
            scores = rl.matmul(self.scaler * q, k.transpose(2, 3))
            tables = (self.rel_pos_h, self.rel_pos_w, self.rel_pos_t)
            scores = _add_rel_pos(scores, q, size, size_k, *tables)  # type: ignore[arg-type]
            x = rl.matmul(scores.softmax(dim=-1), v)
        if self.residual_pool:
            x = _add_shortcut(x, q, self.residual_with_cls_embed)
        return self.project(x.transpose(1, 2).reshape(n, -1, self.output_dim)), size
