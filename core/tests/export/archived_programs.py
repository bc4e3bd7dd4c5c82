"""A program with every kind of input and result that an archive has."""

import io

import rushlight
from rushlight import nn
from rushlight.export import export, save


class Net(nn.Module):
    """Every kind of input and result that an archive has."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.GELU("tanh"))
        self.register_buffer("shift", rushlight.full((4,), 0.5), persistent=False)
        self.scale = rushlight.arange(4.0)

    def forward(self, x, pair, *, twice=False, name="a"):
        x = self.body(x) + self.shift * self.scale
        values, places = x.max(1)
        parts = x.chunk(2, 1)
        x[:, 0] = float("inf")
        y = rushlight.where(x > 1, x.double(), 2.0) * (2 if twice else 1)
        return {"out": y, "best": (values, places), "parts": list(parts), "n": (3, None, "b")}, (
            pair[0] + pair[1]["key"]
        )


def arguments():
    rushlight.manual_seed(0)
    return (rushlight.randn(2, 3), [rushlight.ones(2), {"key": rushlight.zeros(1)}]), {
        "twice": True,
        "name": "a",
    }


def program():
    args, kwargs = arguments()
    return export(Net(), args, kwargs)


def written(found):
    buffer = io.BytesIO()
    save(found, buffer)
    return buffer.getvalue()
