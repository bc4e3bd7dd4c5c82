"""Multi-head attention. (Vaswani et al., 2017.)"""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty


class NonDynamicallyQuantizableLinear(Linear):
    """A :class:`Linear` by the name PyTorch gives the output projection of attention."""


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over (L, N, E), or (N, L, E) with `batch_first`.

    >>> attend = rushlight.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = rushlight.ones(3, 5, 8)
    >>> [t.shape for t in attend(x, x, x)]
    [rushlight.Size([3, 5, 8]), rushlight.Size([3, 5, 5])]
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.dropout, self.batch_first = dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * embed_dim, embed_dim), **kind))
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = Parameter(empty((embed_dim, embed_dim), **kind))
            self.k_proj_weight = Parameter(empty((embed_dim, self.kdim), **kind))
            self.v_proj_weight = Parameter(empty((embed_dim, self.vdim), **kind))
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = Parameter(empty(3 * embed_dim, **kind))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kind)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **kind))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **kind))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for vector in (self.bias_k, self.bias_v):
            if vector is not None:
                init.xavier_normal_(vector)

    def __setstate__(self, state):
        """Modules pickled before `_qkv_same_embed_dim` existed had it."""
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """Both masks as one (N, heads, L, L) of floats that are added, and its kind: 2, or 1 for a
        padding alone, which stays (N, L), or None for none.

        Args: `attn_mask` (L, L) or (N * heads, L, L) and `key_padding_mask` (N, L), or None;
        `query` (N, L, E).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, self.num_heads, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """The output like `query`, and the weights (N, L, S) (or per head) if they are needed."""
        batched = query.dim() == 3
        if self.batch_first and batched:
            same_key, same_value = query is key, key is value
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0)
            value = key if same_value else value.transpose(1, 0)
        separate = not self._qkv_same_embed_dim
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=separate,
            q_proj_weight=self.q_proj_weight if separate else None,
            k_proj_weight=self.k_proj_weight if separate else None,
            v_proj_weight=self.v_proj_weight if separate else None,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if self.batch_first and batched:
            output = output.transpose(1, 0)
        return output, weights
