"""Decomposed programs with buffers that change, as modules with the submodules of the model."""

import copy
import warnings

import pytest

import rushlight

pytestmark = pytest.mark.filterwarnings("ignore:.*treespec:FutureWarning")


def models(library):
    """By name, models with the submodules whose signatures are kept."""
    nn = library.nn

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", library.zeros(3))

        def forward(self, x):
            self.count.add_(1)
            self.count.mul_(2)
            return x + self.count

    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter, self.scale = Counter(), nn.Parameter(library.ones(3) * 1.5)

        def forward(self, x):
            return self.counter(x * self.scale) * 2

    class Read(nn.Module):
        """A buffer that the model reads after the submodule has written it."""

        def __init__(self):
            super().__init__()
            self.sub = Holder()

        def forward(self, x):
            return self.sub(x) * self.sub.counter.count, self.sub.counter.count + 1

    class Given(nn.Module):
        """Values of others that a submodule keeps, unchanged and changed."""

        def __init__(self):
            super().__init__()
            self.sub = Keeper()

        def forward(self, x):
            return self.sub(x, x * 3) + self.sub.other

    class Keeper(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("last", "other"):
                self.register_buffer(name, library.zeros(2, 3))

        def forward(self, x, y):
            before = self.last + 1
            self.last.copy_(x)
            self.other.copy_(y)
            return before + self.last

    class Across(nn.Module):
        """A submodule that writes a buffer of another one, and an input."""

        def __init__(self):
            super().__init__()
            self.first, self.second = Counter(), Writer()

        def forward(self, x):
            y = self.second(self.first(x), self.first.count)
            x.add_(1)
            return y * self.first.count

    class Writer(nn.Module):
        def forward(self, x, buffer):
            buffer.add_(x.sum(0))
            return buffer.relu() - x

    class Averages(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.rest = nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm1d(3))

        def forward(self, x):
            return self.rest(self.norm(x))

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = Counter()

        def forward(self, x):
            return self.sub(self.sub(x))

    class Returned(nn.Module):
        """Results that are what a submodule keeps in its buffer, and what it keeps in between."""

        def __init__(self):
            super().__init__()
            self.sub = Returning()

        def forward(self, x):
            return self.sub(x) + 1, self.sub(x * 2) + self.sub.kept

    class Returning(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", library.zeros(2, 3))

        def forward(self, x):
            x = self.kept + x
            self.kept.copy_(x)
            return x

    class Borrowing(nn.Module):
        """Writes the buffer of a module that is no part of it."""

        def __init__(self, counter):
            super().__init__()
            self.scale, self.others = nn.Linear(3, 3), [counter]
            nn.init.constant_(self.scale.weight, 0.5)
            nn.init.constant_(self.scale.bias, 0.25)

        def forward(self, x):
            self.others[0].count.add_(1)
            return self.scale(x) + self.others[0].count

    class Borrowed(nn.Module):
        def __init__(self):
            super().__init__()
            self.counter = Counter()
            self.sub = Borrowing(self.counter)

        def forward(self, x):
            y = self.sub(x)
            z = self.counter(y)
            return self.sub(z) * self.counter.count + self.counter(z)

    made = (Read, Given, Across, Averages, Twice, Holder, Returned, Borrowed)
    return {each.__name__: each() for each in made}


X = [[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]
# The submodules whose signatures are kept, and whether PyTorch computes it: not buffers that are
# copies of arguments, nor those of a kept BatchNorm, whose results it takes for one tensor, nor
# buffers that are written by several calls of which one is kept.
CASES = [
    ("Read", (), True), ("Read", ("sub",), True), ("Read", ("sub.counter",), True),
    ("Read", ("sub", "sub.counter"), True), ("Given", (), False), ("Given", ("sub",), False),
    ("Across", (), True), ("Averages", (), True), ("Averages", ("norm", "rest"), False),
    ("Twice", (), True), ("Holder", ("counter",), True), ("Across", ("first",), False),
    ("Twice", ("sub",), False), ("Returned", (), True), ("Returned", ("sub",), False),
    ("Across", ("second",), False), ("Across", ("first", "second"), False),
    ("Borrowed", ("sub",), False), ("Borrowed", ("counter",), False),
    ("Borrowed", ("counter", "sub"), False), ("Borrowed", ("sub", "sub.scale"), False),
]  # fmt: skip


def unflattened(library, name, kept):
    model = models(library)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = library.export.export(
            copy.deepcopy(model), (library.tensor(X),), preserve_module_call_signature=kept
        )
        return model, library.export.unflatten(program.run_decompositions())


def steps(library, module):
    """What calls give one after the other, the inputs after them, and the state after all."""
    found = []
    for i in range(3):
        x = library.tensor(X) * (i + 1)
        result = module(x)
        results = result if isinstance(result, tuple) else (result,)
        found += [each.tolist() for each in (*results, x)]
    state = {name: value.tolist() for name, value in module.state_dict().items()}
    return found, dict(sorted(state.items()))


def same(found, wanted):
    rushlight.testing.assert_close(
        [rushlight.tensor(v) for v in found[0]], [rushlight.tensor(v) for v in wanted[0]]
    )
    assert found[1].keys() == wanted[1].keys()
    for name, value in wanted[1].items():
        rushlight.testing.assert_close(rushlight.tensor(found[1][name]), rushlight.tensor(value))


def of_model(found):
    """Without the tensors of modules that stand for further calls, which share them."""
    return found[0], {name: value for name, value in found[1].items() if "@" not in name}


@pytest.mark.parametrize("name, kept, there", CASES)
def test_buffers_change_as_in_the_model_and_in_pytorch(name, kept, there):
    model, module = unflattened(rushlight, name, kept)
    found = steps(rushlight, module)
    same(of_model(found), steps(rushlight, model))
    torch = pytest.importorskip("torch")
    if there:
        same(found, steps(torch, unflattened(torch, name, kept)[1]))


def test_a_kept_submodule_can_be_replaced():
    model, module = unflattened(rushlight, "Read", ("sub.counter",))
    module.sub.counter = type(model.sub.counter)()
    same(steps(rushlight, module), steps(rushlight, model))


def test_the_submodule_writes_its_buffer():
    _, module = unflattened(rushlight, "Read", ("sub.counter",))
    module.sub.counter(rushlight.zeros(2, 3))
    assert module.sub.counter.count.tolist() == [2.0, 2.0, 2.0]


def test_a_result_that_is_a_buffer_is_that_of_the_call():
    _, module = unflattened(rushlight, "Returned", ("sub",))
    module.sub.forward = lambda x: x * 10
    first, second = module(rushlight.ones(2, 3))
    assert first.tolist() == [[11.0] * 3] * 2 and second.tolist() == [[20.0] * 3] * 2


def test_a_kept_submodule_that_writes_the_buffer_of_another():
    """The buffer stays one tensor of the module, also of a copy and where it is set anew."""
    model, module = unflattened(rushlight, "Borrowed", ("sub",))
    module = copy.deepcopy(module)
    module.counter.count = rushlight.ones(3)
    model.counter.count = rushlight.ones(3)
    same(steps(rushlight, module.double().float()), steps(rushlight, model))
    module.load_state_dict(model.state_dict())
    module.sub(rushlight.zeros(2, 3))
    assert module.counter.count.tolist() == (model.counter.count + 1).tolist()
    assert [name for name, _ in module.named_buffers()] == ["counter.count"]
