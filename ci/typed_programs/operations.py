"""Tensors: making, indexing, combining."""
# ruff: noqa: F821, D101, D103 - reveal_type is mypy's

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor

x = torch.randn(2, 3, device="cpu", dtype=torch.float32)
reveal_type(x + 1)  # note: "Tensor"
reveal_type(1 - x)  # note: "Tensor"
reveal_type(2**x)  # note: "Tensor"
reveal_type(x > 0)  # note: "Tensor"
reveal_type(x == x)  # note: "Tensor"
reveal_type(~(x > 0))  # note: "Tensor"
reveal_type(-x)  # note: "Tensor"
reveal_type(x @ x.T)  # note: "Tensor"
reveal_type(x[0])  # note: "Tensor"
reveal_type(x[:, None, ..., 0])  # note: "Tensor"
reveal_type(x[x > 0])  # note: "Tensor"
x[0, 1:] = 3.0
reveal_type(x.shape)  # note: "Size"
reveal_type(x.shape[0])  # note: "int"
reveal_type(x.size(0))  # note: "int"
reveal_type(x.numel())  # note: "int"
reveal_type(x.item())  # note: "int | float"
reveal_type(x.tolist())  # note: "list[Any]"
reveal_type(x.numpy())  # note: "ndarray[Any, Any]"
reveal_type(x.dim())  # note: "int"
reveal_type(x.dtype)  # note: "dtype"
reveal_type(x.device)  # note: "device"
batch, width = x.shape
reveal_type(batch)  # note: "int"
reveal_type(x.sum(dim=1, keepdim=True))  # note: "Tensor"
reveal_type(x.mean())  # note: "Tensor"
reveal_type(x.max(dim=1))  # note: "tuple[Tensor, Tensor, fallback=max_result]"
values, places = x.topk(2, dim=-1, largest=True)
reveal_type(values)  # note: "Tensor"
reveal_type(torch.sort(x, descending=True))  # note: "tuple[Tensor, Tensor, fallback=sort_result]"
reveal_type(x.argmax(-1))  # note: "Tensor"
reveal_type(torch.cat([x, x], dim=0))  # note: "Tensor"
reveal_type(torch.stack((x, x)))  # note: "Tensor"
reveal_type(torch.split(x, 1))  # note: "tuple[Tensor, ...]"
reveal_type(x.chunk(2))  # note: "tuple[Tensor, ...]"
reveal_type(x.unbind(0))  # note: "tuple[Tensor, ...]"
reveal_type(torch.einsum("ij,kj->ik", x, x))  # note: "Tensor"
reveal_type(torch.where(x > 0, x, torch.zeros_like(x)))  # note: "Tensor"
reveal_type(torch.nonzero(x > 0))  # note: "Tensor"
reveal_type(torch.nonzero(x > 0, as_tuple=True))  # note: "Tensor"
reveal_type(torch.unique(x))  # note: "Tensor"
reveal_type(torch.unique(x, True, True))  # note: "tuple[Tensor, Tensor]"
reveal_type(torch.unique(x, return_counts=True))  # note: "tuple[Tensor, Tensor]"
_, places, counts = x.unique(return_inverse=True, return_counts=True)
reveal_type(counts)  # note: "Tensor"
reveal_type(x.as_subclass(torch.nn.Parameter))  # note: "Parameter"
reveal_type(torch.unique_consecutive(x))  # note: "Tensor"
reveal_type(x.unique_consecutive(return_counts=True))  # note: "tuple[Tensor, Tensor]"
reveal_type(torch.from_numpy(np.ones(2)))  # note: "Tensor"
reveal_type(torch.tensor([[1, 2], [3, 4]]))  # note: "Tensor"
reveal_type(torch.arange(0, 10, 2))  # note: "Tensor"
reveal_type(torch.zeros(2, 3, requires_grad=True))  # note: "Tensor"
reveal_type(torch.full((2,), 1.0))  # note: "Tensor"
reveal_type(torch.eye(3))  # note: "Tensor"
reveal_type(torch.allclose(x, x))  # note: "bool"
reveal_type(torch.equal(x, x))  # note: "bool"
reveal_type(torch.is_tensor(x))  # note: "bool"
reveal_type(x.view(-1).unsqueeze(0).squeeze().transpose(0, 0).contiguous())  # note: "Tensor"
reveal_type(x.permute(1, 0).flatten())  # note: "Tensor"
reveal_type(x.expand(2, 3).repeat(2, 1))  # note: "Tensor"
reveal_type(x.to(torch.int64).long().float())  # note: "Tensor"
reveal_type(x.masked_fill(x > 0, 0.0))  # note: "Tensor"
reveal_type(x.gather(1, torch.zeros(2, 1, dtype=torch.long)))  # note: "Tensor"
reveal_type(x.scatter_add_(0, torch.zeros(2, 3, dtype=torch.long), x))  # note: "Tensor"
reveal_type(torch.linalg.norm(x))  # note: "Tensor"
reveal_type(torch.linalg.svd(x))  # note: fallback=linalg_svd_result]
reveal_type(torch.linalg.eigh(x @ x.T))  # note: fallback=linalg_eigh_result]
reveal_type(torch.fft.rfft(x))  # note: "Tensor"
reveal_type(F.softmax(x, dim=-1))  # note: "Tensor"
reveal_type(F.cross_entropy(x, torch.zeros(2, dtype=torch.long)))  # note: "Tensor"
reveal_type(F.one_hot(torch.zeros(2, dtype=torch.long), 3))  # note: "Tensor"
reveal_type(F.max_pool2d(torch.ones(1, 1, 4, 4), 2))  # note: "Tensor"
reveal_type(F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True))  # note: "Ten
reveal_type(F.pad(x, (1, 1)))  # note: "Tensor"
reveal_type(F.dropout(x, 0.1, training=True))  # note: "Tensor"
reveal_type(F.normalize(x, dim=1))  # note: "Tensor"
reveal_type(F.embedding(torch.zeros(2, dtype=torch.long), x))  # note: "Tensor"
reveal_type(torch.bincount(torch.zeros(2, dtype=torch.long)))  # note: "Tensor"
reveal_type(torch.multinomial(torch.ones(3), 2))  # note: "Tensor"
reveal_type(torch.randperm(4))  # note: "Tensor"
reveal_type(torch.bernoulli(torch.ones(2)))  # note: "Tensor"
reveal_type(torch.triu(torch.ones(3, 3), diagonal=1))  # note: "Tensor"
reveal_type(torch.get_num_threads())  # note: "int"
reveal_type(len(x))  # note: "int"
reveal_type(float(x.sum()))  # note: "float"
reveal_type(bool(x.any()))  # note: "bool"
reveal_type([row for row in x])  # note: "list[Tensor]"
reveal_type(x.new_zeros(2))  # note: "Tensor"
reveal_type(x.data_ptr())  # note: "int"
reveal_type(x.stride())  # note: "tuple[int, ...]"
reveal_type(x.is_contiguous())  # note: "bool"
reveal_type(x.element_size())  # note: "int"
reveal_type(x.clone().detach().cpu())  # note: "Tensor"
reveal_type(x.type(torch.float64))  # note: "Tensor"
reveal_type(x.std(dim=0, unbiased=False))  # note: "Tensor"
reveal_type(torch.var_mean(x, dim=0))  # note: "tuple[Tensor, Tensor]"
reveal_type(torch.meshgrid(x[0], x[0], indexing="ij"))  # note: "tuple[Tensor, ...]"
reveal_type(torch.cuda.device_count())  # note: "int"
reveal_type(torch.backends.cudnn.benchmark)  # note: "bool"
reveal_type(torch.__version__)  # note: "str"
reveal_type(torch.float32)  # note: "dtype"
reveal_type(torch.Size([1]).numel())  # note: "int"


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return scores.softmax(dim=-1) @ v  # error: Returning Any from function declared to return "Tens
