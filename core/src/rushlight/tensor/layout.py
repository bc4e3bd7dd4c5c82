"""Layouts: how the elements of a tensor lie in memory."""

from __future__ import annotations


class layout(str):  # noqa: N801 - PyTorch's public name
    """The layout of a tensor, for example ``rushlight.strided``; equal to its name as a string."""

    __slots__ = ()

    def __repr__(self):
        return "rushlight." + str(self)

    def __reduce__(self):
        return layout, (str(self),)


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
