"""Embedding tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight.autograd.mode import no_grad
from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty

if TYPE_CHECKING:
    from rushlight.tensor.tensor import Tensor


class _Table(Module):
    def _make(self, weight, freeze, device, dtype):
        if weight is None:
            shape = (self.num_embeddings, self.embedding_dim)
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), not freeze)
            self.reset_parameters()
        else:
            if list(weight.shape) != [self.num_embeddings, self.embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim: "
                    f"{list(weight.shape)}"
                )
            self.weight = Parameter(weight, not freeze)

    def _padding(self, padding_idx):
        if padding_idx is None:
            return None
        count = self.num_embeddings
        if not -count <= padding_idx < count:
            raise AssertionError("Padding_idx must be within num_embeddings")
        return padding_idx % count

    def reset_parameters(self):
        """Draw fresh normal values; the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **options):
        """A table that holds given rows (V, E)."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        return cls(rows, cols, _weight=embeddings, _freeze=freeze, **options)


class Embedding(_Table):
    """Rows of a table (num_embeddings, embedding_dim) by index."""

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight: Tensor | None = None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = self._padding(padding_idx)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input):
        """(*) integers to (*, embedding_dim)."""
        own = self.__dict__  # sooner than attribute by attribute
        parameters = own["_parameters"]
        return F.embedding(
            input,
            parameters["weight"] if "weight" in parameters else self.weight,
            own["padding_idx"],
            own["max_norm"],
            own["norm_type"],
            own["scale_grad_by_freq"],
            own["sparse"],
        )

    def extra_repr(self):
        """The settings."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        text += _limits(self)
        return text + (", sparse=True" if self.sparse else "")


def _limits(table):
    """What the printed form says of norms and frequencies."""
    text = "" if table.max_norm is None else f", max_norm={table.max_norm}"
    if table.norm_type != 2:
        text += f", norm_type={table.norm_type}"
    if table.scale_grad_by_freq is not False:
        text += f", scale_grad_by_freq={table.scale_grad_by_freq}"
    return text


class EmbeddingBag(_Table):
    """Bags of rows reduced by ``"sum"``, ``"mean"`` or ``"max"``."""

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight: Tensor | None = None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
        _freeze=False,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = self._padding(padding_idx)
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        """(B, L) integers, or flat ones with offsets, to (B, embedding_dim)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        """The settings."""
        text = f"{self.num_embeddings}, {self.embedding_dim}{_limits(self)}, mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text
