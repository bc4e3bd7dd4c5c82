"""Readable source of graphs, character for character PyTorch's."""

import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")

LIBRARIES = (torch, rushlight)
OPTIONS = [
    {},
    {"include_stride": True},
    {"include_device": True},
    {"colored": True},
    {"include_stride": True, "include_device": True, "colored": True},
    {"expanded_def": True},
    {"additional_meta": ["seq", "missing"]},
]


def both(make):
    """What both libraries give, under the same names."""
    return [make(library).replace("rushlight", "torch") for library in LIBRARIES]


def without_lines(text):
    """Readable source without the lines of the program, which PyTorch records elsewhere."""
    return "\n".join(
        row for row in text.split("\n") if row and "# File" not in row and "# No" not in row
    )


def module_of(library, name):
    return importlib.import_module(f"{library.__name__}.{name}")


def traced(library):
    """A traced layer, constants of all kinds, and graphs inside of it."""

    class Net(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = library.nn.Linear(2, 3)
            self.register_buffer("shift", library.ones(3, dtype=library.float64))

        def forward(self, x, y=2.0, *, flag=None):
            z = self.layer(x) + self.shift
            z = library.nn.functional.relu(z).to(library.float32)
            z = z.sum(dim=(0, -1), keepdim=True)[:, None, 1:] * 3
            return z.view(-1, 1), {"a": z * y, "b": [z, None]}

    module = library.fx.symbolic_trace(Net())
    module.inner = library.fx.symbolic_trace(library.nn.Sequential(library.nn.ReLU()))
    for node in module.graph.nodes:
        if node.op == "call_function":
            node.meta["seq"], node.meta["custom"] = 3, {"a": 1, "long": "x" * 50}
    return module


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("shapes", [False, True])
def test_traced_modules(options, shapes):
    def make(library):
        module = traced(library)
        if shapes:
            shapes_of = module_of(library, "fx.passes.shape_prop").ShapeProp
            shapes_of(module).propagate(library.ones(2, 2), 2.0)
        return module.print_readable(print_output=False, **options)

    theirs, ours = both(make)
    assert ours == theirs


@pytest.mark.parametrize("options", OPTIONS[:-1], ids=str)
def test_captured_operators(options):
    def make(library):
        def function(x, a, b, c, d, e, f):
            return x.t().exp(), [other.neg() for other in (a, b, c, d, e, f)]

        x = library.ones(2, 3)
        others = [x.to(getattr(library, name)) for name in ("half", "bfloat16", "int32", "cfloat")]
        capture = module_of(library, "fx.experimental.proxy_tensor").make_fx
        module = capture(function)(x, *others, x[:, ::2], x.t())
        return without_lines(module.print_readable(False, **options))

    theirs, ours = both(make)
    assert ours == theirs


def test_sizes_that_may_differ():
    class Net(rushlight.nn.Module):
        def forward(self, x, d):
            return {
                "a": x.t().reshape(-1)[: x.size(0)] * x.size(0) + d["k"],
                "b": x.expand(2, -1, 4).reshape(-1, 2, 4),
                "c": x.unsqueeze(0).repeat(2, 1, 1),
            }

    size = rushlight.export.Dim("n")
    program = rushlight.export.export(
        Net(),
        (rushlight.ones(3, 4), {"k": rushlight.ones(1)}),
        dynamic_shapes=({0: size}, {"k": {}}),
    )
    text = program.graph_module.print_readable(False, include_stride=True)
    assert 'forward(self, x: "f32[n, 4][4, 1]", d_k: "f32[1][1]")' in text
    assert ': "f32[n, 2, 4][8, 4, 1]" =' in text and ': "f32[4*n][1]" =' in text
    assert ': "f32[2, n, 4][4*n, 4, 1]" =' in text
    assert ': "Sym(n)" = rushlight.ops.aten.sym_size.int(' in text
    called = program.module().print_readable(False)
    assert '\n        x: "f32[n, 4]"; d_k: "f32[1]"; \n' in called
    assert '\n        d_k: "f32[1]"\n' in program.module().print_readable(False, expanded_def=True)


def test_printed_classes_are_python(capsys):
    module = traced(rushlight)
    text = module.print_readable()
    assert capsys.readouterr().out == text + "\n"
    assert "\n    class inner(rushlight.nn.Module):\n" in text
    compile(text, "text", "exec")


def test_short_names_of_dtypes():
    from torch.utils._dtype_abbrs import dtype_abbrs

    from rushlight.fx.readable import short_dtype

    for dtype, name in dtype_abbrs.items():
        ours = getattr(rushlight, str(dtype).rpartition(".")[2], None)
        if isinstance(ours, rushlight.dtype):
            assert short_dtype(ours) == name


def test_records_of_the_profiler_are_refused():
    with pytest.raises(NotImplementedError, match="record_func is not available"):
        traced(rushlight).graph.python_code("self", record_func=True)


def test_meta_beside_the_calls_of_generated_code():
    graph = rushlight.fx.symbolic_trace(lambda x: x.cos() + 1).graph
    for node in graph.nodes:
        node.meta["tag"] = f"t_{node.name}"
    source = graph.python_code("self", verbose=True, additional_meta=["tag", "missing"]).src
    # PyTorch 2.13's lines for the same graph
    assert [line.strip() for line in source.strip().splitlines()] == [
        "def forward(self, x):",
        "# tag: t_cos # No stacktrace found for following nodes",
        "cos = x.cos();  x = None",
        "",
        "# tag: t_add # No stacktrace found for following nodes",
        "add = cos + 1;  cos = None",
        "return add",
    ]
    assert "tag" not in graph.python_code("self", additional_meta=["tag"]).src
