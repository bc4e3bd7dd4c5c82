"""Layouts: how the elements of a tensor are laid out in memory."""

from __future__ import annotations


class layout(str):  # noqa: N801 - PyTorch's public name
    """The layout of a tensor, for example ``rushlight.strided``; equal to its name as a string,
    and printed with the package's."""

    __slots__ = ()

    @property
    def name(self):
        """The name alone, a plain string."""
        return str.__str__(self)

    def __repr__(self):
        return "rushlight." + self.name

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __reduce__(self):
        return layout, (self.name,)


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
