"""Layouts: how the elements of a tensor are laid out in memory."""

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


def only_strided(op, layout):
    """Refuse layouts in which a function makes no tensors."""
    if layout is not None and layout != "strided":
        raise NotImplementedError(
            f"{op}: only tensors of the layout rushlight.strided are made, got {layout!r}; use "
            "to_sparse(layout=...) on the result"
        )


def in_layout(made, layout, requires_grad):
    """A new tensor in a sparse layout."""
    made = made.to_sparse(layout=layout)
    return made.requires_grad_() if requires_grad else made
