"""Attention inside of windows that are shifted from block to block, for Swin transformers."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight import fx, nn
from rushlight_vision.models._windows import into_windows, out_of_windows, scores_apart

F = nn.functional
_LARGEST_SCALE = math.log(100.0)


def _get_relative_position_bias(
    relative_position_bias_table: rl.Tensor,
    relative_position_index: rl.Tensor,
    window_size: list[int],
) -> rl.Tensor:
    """What is added to the scores (1, heads, area, area), by the distance of two pixels."""
    area = window_size[0] * window_size[1]
    bias = relative_position_bias_table[relative_position_index].view(area, area, -1)
    return bias.permute(2, 0, 1).contiguous().unsqueeze(0)


def _scores(q: rl.Tensor, k: rl.Tensor, logit_scale: rl.Tensor | None) -> rl.Tensor:
    """How well pixels fit each other: by products, or by cosines with a scale that is learnt."""
    if logit_scale is None:
        return (q * q.shape[-1] ** -0.5).matmul(k.transpose(-2, -1))
    cosines = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
    return cosines * rl.clamp(logit_scale, max=_LARGEST_SCALE).exp()


def _without_key_bias(qkv_bias: rl.Tensor) -> rl.Tensor:
    """The bias with zeros for the keys."""
    third = qkv_bias.numel() // 3
    qkv_bias = qkv_bias.clone()
    qkv_bias[third : 2 * third].zero_()
    return qkv_bias


def shifted_window_attention(
    input: rl.Tensor,
    qkv_weight: rl.Tensor,
    proj_weight: rl.Tensor,
    relative_position_bias: rl.Tensor,
    window_size: list[int],
    num_heads: int,
    shift_size: list[int],
    attention_dropout: float = 0.0,
    dropout: float = 0.0,
    qkv_bias: rl.Tensor | None = None,
    proj_bias: rl.Tensor | None = None,
    logit_scale: rl.Tensor | None = None,
    training: bool = True,
) -> rl.Tensor:
    """Attention between the pixels of each window of images (N, H, W, C).

    Windows begin `shift_size` further to the bottom right, and those at the border go on at the
    other side, where scores keep the parts apart. Images are padded to whole windows.
    `logit_scale` makes the scores cosines.
    """
    n, height, width, channels = input.shape
    bottom, right = (-height) % window_size[0], (-width) % window_size[1]
    x = F.pad(input, (0, 0, 0, right, 0, bottom))
    padded = (n, height + bottom, width + right, channels)
    shift = [
        0 if window >= side else step
        for window, side, step in zip(window_size, padded[1:3], shift_size, strict=True)
    ]
    if sum(shift) > 0:
        x = rl.roll(x, shifts=(-shift[0], -shift[1]), dims=(1, 2))
    x = into_windows(x, window_size)
    if logit_scale is not None and qkv_bias is not None:
        qkv_bias = _without_key_bias(qkv_bias)
    qkv = F.linear(x, qkv_weight, qkv_bias)
    count, area = x.shape[:2]
    qkv = qkv.reshape(count, area, 3, num_heads, channels // num_heads).permute(2, 0, 3, 1, 4)
    scores = _scores(qkv[0], qkv[1], logit_scale) + relative_position_bias
    if sum(shift) > 0:
        apart = scores_apart(padded[1:3], window_size, shift, x)
        scores = scores.view(n, count // n, num_heads, area, area)
        scores = (scores + apart.unsqueeze(1).unsqueeze(0)).view(-1, num_heads, area, area)
    scores = F.dropout(F.softmax(scores, dim=-1), p=attention_dropout, training=training)
    x = scores.matmul(qkv[2]).transpose(1, 2).reshape(count, area, channels)
    x = F.dropout(F.linear(x, proj_weight, proj_bias), p=dropout, training=training)
    x = out_of_windows(x, padded, window_size)
    if sum(shift) > 0:
        x = rl.roll(x, shifts=(shift[0], shift[1]), dims=(1, 2))
    return x[:, :height, :width, :].contiguous()


# A graph calls these as they are: what they do depends on the size of the images.
fx.wrap("_get_relative_position_bias")
fx.wrap("shifted_window_attention")


class ShiftedWindowAttention(nn.Module):
    """:func:`shifted_window_attention` with its weights, and a bias for each distance of pixels.

    Parameters
    ----------
    dim : int
        Channels of input and output (N, H, W, `dim`).
    window_size, shift_size : list of two int
    num_heads : int
    qkv_bias, proj_bias : bool, default True
    attention_dropout, dropout : float, default 0.0
    """

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size = window_size
        self.shift_size = shift_size
        self.num_heads = num_heads
        self.attention_dropout = attention_dropout
        self.dropout = dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        """A bias for every distance and head."""
        rows, columns = (2 * side - 1 for side in self.window_size)
        self.relative_position_bias_table = nn.Parameter(rl.zeros(rows * columns, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """Where the distance of two pixels stands in the table."""
        height, width = self.window_size
        rows, columns = rl.meshgrid(rl.arange(height), rl.arange(width), indexing="ij")
        rows, columns = rows.flatten(), columns.flatten()
        down = rows[:, None] - rows[None, :] + height - 1
        across = columns[:, None] - columns[None, :] + width - 1
        index = (down * (2 * width - 1) + across).flatten()
        self.register_buffer("relative_position_index", index)

    def get_relative_position_bias(self) -> rl.Tensor:
        """What is added to the scores (1, heads, area, area)."""
        return _get_relative_position_bias(
            self.relative_position_bias_table, self.relative_position_index, self.window_size
        )

    def _attend(self, x: rl.Tensor, bias: rl.Tensor, scaled: bool = False) -> rl.Tensor:
        return shifted_window_attention(
            x,
            self.qkv.weight,
            self.proj.weight,
            bias,
            self.window_size,
            self.num_heads,
            shift_size=self.shift_size,
            attention_dropout=self.attention_dropout,
            dropout=self.dropout,
            qkv_bias=self.qkv.bias,
            proj_bias=self.proj.bias,
            training=self.training,
            **({"logit_scale": self.logit_scale} if scaled else {}),
        )

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pixels (N, H, W, `dim`)."""
        return self._attend(x, self.get_relative_position_bias())


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """The second version: scores are cosines, and a small network makes the bias of a distance."""

    def __init__(
        self,
        dim: int,
        window_size: list[int],
        shift_size: list[int],
        num_heads: int,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(
            dim, window_size, shift_size, num_heads, qkv_bias, proj_bias, attention_dropout, dropout
        )
        self.logit_scale = nn.Parameter(rl.log(10 * rl.ones((num_heads, 1, 1))))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True),
            nn.ReLU(inplace=True),
            nn.Linear(512, num_heads, bias=False),
        )
        if qkv_bias:
            third = self.qkv.bias.numel() // 3
            self.qkv.bias[third : 2 * third].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        """Every distance, as the logarithm that the small network is given."""
        sides = [rl.arange(-(side - 1), side, dtype=rl.float32) for side in self.window_size]
        table = rl.stack(rl.meshgrid(sides, indexing="ij")).permute(1, 2, 0).unsqueeze(0)
        table = table / rl.tensor([side - 1.0 for side in self.window_size]) * 8
        table = rl.sign(table) * rl.log2(rl.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", table)

    def get_relative_position_bias(self) -> rl.Tensor:
        """What is added to the scores (1, heads, area, area), from 0 to 16."""
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        bias = _get_relative_position_bias(table, self.relative_position_index, self.window_size)
        return 16 * rl.sigmoid(bias)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The pixels (N, H, W, `dim`)."""
        bias = self.get_relative_position_bias()
        return self._attend(x, bias, scaled=True)
