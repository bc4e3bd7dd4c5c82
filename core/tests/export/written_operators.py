"""Operators that write to their arguments, and a model that calls them, of either library."""


def defined(library, namespace):
    """A module of a library that writes to tensors, views, lists, an input and a buffer."""

    @library.library.custom_op(f"{namespace}::add_to", mutates_args=("x",))
    def add_to(x: library.Tensor, y: library.Tensor, by: float = 2.0) -> None:
        x.add_(y, alpha=by)

    @library.library.custom_op(f"{namespace}::both", mutates_args=("x", "o"))
    def both(x: library.Tensor, y: library.Tensor, o: library.Tensor) -> library.Tensor:
        x.add_(y)
        o.mul_(2)
        return x + y

    @both.register_fake
    def _(x, y, o):
        return library.empty_like(x)

    @library.library.custom_op(f"{namespace}::each", mutates_args=("xs",))
    def each(xs: list[library.Tensor], y: library.Tensor, z: library.Tensor | None = None) -> None:
        for x in xs:
            x.add_(y)

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", library.zeros(4, 3))

        def forward(self, x, y):
            z = x.clone()
            add_to(z, y)
            add_to(z[1:3], y[1:3], 3.0)
            add_to(z.t(), y.t())
            add_to(z[:, :], y)
            add_to(z[::2], y[::2])
            add_to(z.unsqueeze(0), y.unsqueeze(0))
            copied = y.clone()
            each([z[0], copied], y[1])
            each([z, z[:, 1:]], y[:, :1].clone())
            found = both(z, y, x)
            add_to(self.total, z[:3].sum() + self.total)
            return z, copied, found

    return Net, add_to, both
