"""Kernels with the shapes at which programs use them: each is a function of a library that gives
what is timed. The keys say the shapes.

Passes of convolutions and of other layers are asked for one by one: a gradient with respect to the
input alone, or to the weight alone, of a graph that is kept.
"""

from __future__ import annotations

import odd_sizes

# rows, columns, inner size, and whether either operand lies transposed
PRODUCTS = (
    (64, 128, 784, "NT"), (128, 784, 64, "TN"), (128, 512, 128, "NT"), (32, 1024, 256, "NT"),
    (8, 1024, 1024, "NT"), (1024, 384, 384, "NT"), (1024, 1536, 384, "NT"),
    (1536, 384, 1024, "TN"), (512, 512, 512, "NN"), (1024, 1024, 1024, "NN"),
    (2048, 2048, 2048, "NN"), (64, 10, 128, "NT"), (1, 1000, 512, "NT"), (1000, 37, 129, "NN"),
)  # fmt: skip
# images, channels, size, filters, kernel, stride, dilation, groups
CONVOLUTIONS = (
    (16, 64, 56, 64, 3, 1, 1, 1), (16, 128, 28, 128, 3, 1, 1, 1), (16, 256, 14, 256, 3, 1, 1, 1),
    (16, 512, 7, 512, 3, 1, 1, 1), (32, 64, 32, 64, 3, 1, 1, 1), (32, 128, 16, 128, 3, 1, 1, 1),
    (32, 256, 8, 256, 3, 1, 1, 1), (32, 512, 4, 512, 3, 1, 1, 1), (16, 64, 56, 128, 3, 2, 1, 1),
    (16, 3, 224, 64, 7, 2, 1, 1), (16, 64, 56, 256, 1, 1, 1, 1), (16, 256, 56, 64, 1, 1, 1, 1),
    (16, 1024, 14, 256, 1, 1, 1, 1), (16, 128, 56, 128, 1, 2, 1, 1), (16, 64, 28, 64, 3, 1, 2, 1),
    (16, 128, 28, 128, 3, 1, 1, 4), (16, 32, 112, 32, 3, 1, 1, 32),
    (16, 144, 56, 144, 3, 1, 1, 144), (16, 384, 14, 384, 3, 1, 1, 384),
    (16, 960, 7, 960, 3, 1, 1, 960), (64, 1, 28, 32, 3, 1, 1, 1), (64, 6, 14, 16, 5, 1, 1, 1),
)  # fmt: skip
OPTIMIZERS = {
    "SGD, momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}), "Adam": ("Adam", {}),
    "AdamW": ("AdamW", {}), "Adagrad": ("Adagrad", {}), "RMSprop": ("RMSprop", {}),
}  # fmt: skip
FUSED = ("SGD, momentum", "Adam", "AdamW", "Adagrad")  # of which PyTorch has a fused step
PARAMETERS = {"4 arrays, 102 k": ((128, 784), (128,), (10, 128), (10,)),
              "64 arrays, 2.1 M": ((256, 256),) * 32 + ((256,),) * 32}  # fmt: skip


def _product(m, n, k, sides):
    def case(library):
        a = library.randn(k, m).t() if sides[0] == "T" else library.randn(m, k)
        b = library.randn(n, k).t() if sides[1] == "T" else library.randn(k, n)
        return lambda: library.mm(a, b)

    return case


def _gradient(library, out, of):
    """The pass of a kept graph that gives one gradient."""
    gradient = library.ones_like(out)
    return lambda: library.autograd.grad(out, of, gradient, retain_graph=True)


def _passes(of_library, names):
    """Cases of one layer: forward, and one for the gradient of each named argument.
    ``of_library(library)`` gives the arguments and a function of them."""

    def forward(library):
        arguments, function = of_library(library)

        def call():
            with library.no_grad():
                function(*arguments)

        return call

    def backward(place):
        def case(library):
            arguments, function = of_library(library)
            arguments[place].requires_grad_()
            return _gradient(library, function(*arguments), arguments[place])

        return case

    return {"forward": forward, **{name: backward(i) for i, name in enumerate(names)}}


def _convolution(images, channels, size, filters, kernel, stride, dilation, groups):
    def layer(library):
        x = library.randn(images, channels, size, size)
        weight = library.randn(filters, channels // groups, kernel, kernel)
        padding = dilation * (kernel // 2)
        return [x, weight], lambda x, w: library.nn.functional.conv2d(
            x, w, None, stride, padding, dilation, groups
        )

    passes = _passes(layer, ("input", "weight"))
    if channels == 3:  # the first layer of a network: nobody asks for the gradient of the images
        del passes["input"]
    return passes


def _attention(batch, heads, length, width, causal):
    def layer(library):
        q, k, v = (library.randn(batch, heads, length, width) for _ in range(3))
        return [q, k, v], lambda q, k, v: library.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal
        )

    return _passes(layer, ("query",))


def _layer(shape, make, weights=()):
    """A function of one input of some shape and of weights."""

    def layer(library):
        x = library.randn(*shape)
        others = [library.randn(*s) for s in weights]
        return [x, *others], make(library.nn.functional)

    return _passes(layer, ("input",))


def _recurrent(kind, length, batch, inputs, hidden):
    def forward(library):
        module, x = getattr(library.nn, kind)(inputs, hidden), library.randn(length, batch, inputs)

        def call():
            with library.no_grad():
                module(x)

        return call

    def step(library):
        module, x = getattr(library.nn, kind)(inputs, hidden), library.randn(length, batch, inputs)
        return lambda: module(x)[0].sum().backward()

    return {"forward": forward, "forward and backward": step}


def _optimizer(kind, options, shapes, fused):
    def case(library):
        made = [library.nn.Parameter(library.randn(*shape)) for shape in shapes]
        for parameter in made:
            parameter.grad = library.randn(*parameter.shape)
        own = {**options, "fused": True} if fused and library.__name__ == "torch" else options
        return getattr(library.optim, kind)(made, **own).step

    return case


def _described(images, channels, size, filters, kernel, stride, dilation, groups):
    more = "".join(
        f", {name} {value}"
        for name, value in (("stride", stride), ("dilation", dilation), ("groups", groups))
        if value not in (1, channels)
    )
    kind = "depthwise " if groups == channels != 1 else ""
    return f"{kind}{kernel} x {kernel}, {images} x {channels} x {size} x {size} to {filters}{more}"


def all_cases():
    """``{group: {what: case}}``."""
    groups = {"products of matrices": {f"{m}, {n}, {k} {sides}": _product(m, n, k, sides)
                                       for m, n, k, sides in PRODUCTS}}  # fmt: skip
    layers = {"convolutions": {_described(*c): _convolution(*c) for c in CONVOLUTIONS}}
    layers["attention"] = {
        f"{b} x {h} x {n} x {d}{', causal' * causal}": _attention(b, h, n, d, causal)
        for b, h, n, d in ((8, 4, 128, 64), (4, 12, 256, 64), (2, 8, 1024, 64))
        for causal in (True, False)
    }
    layers["normalization and softmax"] = {
        "batch norm, 32 x 64 x 32 x 32": _layer(
            (32, 64, 32, 32),
            lambda F: lambda x, w, b: F.batch_norm(x, None, None, w, b, True), ((64,), (64,)),
        ),
        "layer norm, 2048 x 768": _layer(
            (2048, 768), lambda F: lambda x, w, b: F.layer_norm(x, (768,), w, b),
            ((768,), (768,)),
        ),
        "group norm, 16 x 64 x 32 x 32": _layer(
            (16, 64, 32, 32), lambda F: lambda x, w, b: F.group_norm(x, 8, w, b), ((64,), (64,))
        ),
        "softmax, 2048 x 1024": _layer((2048, 1024), lambda F: lambda x: F.softmax(x, 1)),
        "max pool, 32 x 64 x 32 x 32": _layer(
            (32, 64, 32, 32), lambda F: lambda x: F.max_pool2d(x, 2)
        ),
    }  # fmt: skip
    layers["recurrent layers"] = {
        f"{kind}, {t} steps, batch {b}, {i} to {h}": _recurrent(kind, t, b, i, h)
        for kind, t, b, i, h in (("LSTM", 28, 64, 28, 128), ("LSTM", 32, 32, 128, 256),
                                 ("GRU", 32, 32, 128, 256))
    }  # fmt: skip
    layers["small and odd sizes"] = {
        name: _passes(odd_sizes.of(*layer), ("input",)) for name, layer in odd_sizes.LAYERS.items()
    }
    for name, own in layers.items():
        groups[name] = {
            f"{shape}: {which}": case for shape, passes in own.items()
            for which, case in passes.items()
        }  # fmt: skip
    groups["optimizer steps"] = {
        f"{name}, {size}{', against fused' * fused}": _optimizer(*OPTIMIZERS[name], shapes, fused)
        for name in OPTIMIZERS for size, shapes in PARAMETERS.items()
        for fused in ((False, True) if name in FUSED else (False,))
    }  # fmt: skip
    return groups
