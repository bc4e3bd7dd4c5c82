"""Tensors as instances of subclasses: their gradients, memory, classes of results, and text."""

import io
import pickle

import pytest
import torch

import rushlight


def metres(lib):
    """A subclass without a ``__torch_function__`` of its own."""
    return type("Metres", (lib.Tensor,), {})


def shown(value):
    """A value as both libraries have it."""
    return str(value).replace("rushlight", "torch")


def agreeing(program):
    """What a program gives with Rushlight, which must be what it gives with PyTorch."""
    ours, theirs = program(rushlight), program(torch)
    assert ours == theirs
    return ours


def history(tensor):
    """What autograd says of a tensor."""
    node = tensor.grad_fn
    name = None if node is None else node.name()
    return type(tensor).__name__, tensor.requires_grad, tensor.is_leaf, name, tensor._is_view()


def test_gradients_reach_the_leaf_that_is_seen_as_a_subclass():
    def program(lib):
        x = lib.arange(3.0).requires_grad_()
        seen = x.as_subclass(metres(lib))
        (seen * 2).sum().backward()
        plain = seen.as_subclass(lib.Tensor)
        return history(seen), history(plain), x.grad.tolist(), seen._base is x

    found = agreeing(program)
    assert found[0] == ("Metres", True, False, "AliasBackward0", True)
    assert found[2] == [2.0, 2.0, 2.0]


def test_a_jacobian_sees_through_a_subclass():
    def f(x):
        return x.as_subclass(metres(rushlight)).exp()

    found = rushlight.autograd.functional.jacobian(f, rushlight.zeros(2))
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_it_is_a_view_without_the_attributes():
    def program(lib):
        x = lib.ones(3)
        x.unit = "m"
        seen = x.as_subclass(metres(lib))
        seen[1:].mul_(4)
        y = lib.ones(2, requires_grad=True)
        doubled = y * 2
        doubled.as_subclass(metres(lib)).mul_(3)
        doubled.sum().backward()
        return hasattr(seen, "unit"), x.tolist(), x._version, doubled.tolist(), y.grad.tolist()

    assert agreeing(program) == (False, [1.0, 4.0, 4.0], 1, [6.0, 6.0], [6.0, 6.0])


def test_writes_through_it_are_refused_as_through_other_views():
    for lib in (rushlight, torch):
        seen = lib.ones(2, requires_grad=True).as_subclass(metres(lib))
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            seen.add_(1)


@pytest.mark.parametrize("wrong, words", [(int, "inherits from Tensor"), (3, "must be a type")])
def test_classes_that_are_none_of_tensors_are_refused(wrong, words):
    for lib in (rushlight, torch):
        with pytest.raises(TypeError, match=words):
            lib.ones(2).as_subclass(wrong)


def test_modes_are_not_told():
    told = []

    class Telling(rushlight.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            told.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = rushlight.ones(2, requires_grad=True)
    with Telling():
        seen = x.as_subclass(metres(rushlight))
    assert told == [] and type(seen).__name__ == "Metres"


def test_former_constructors_of_a_tensor_are_views_of_it():
    def program(lib):
        x = lib.ones(2, requires_grad=True)
        made = [lib.Tensor(x), metres(lib)(x * 2), lib.FloatTensor(x), metres(lib)([1.0]), x.new(x)]
        lib.Tensor(x).sum().backward()
        return [history(y) for y in made], x.grad.tolist()

    assert agreeing(program)[1] == [1.0, 1.0]


def test_new_tensors_are_of_the_class():
    def program(lib):
        x = lib.ones(2).as_subclass(metres(lib))
        made = [
            x.new_tensor([1]),
            x.new(3),
            x.new_zeros(2),
            x.new_full((1,), 2),
            x.data,
            x.detach(),
        ]
        return [type(y).__name__ for y in made]

    assert set(agreeing(program)) == {"Metres"}


def test_results_are_views_as_in_pytorch():
    def program(lib):
        x = lib.ones(2, requires_grad=True).as_subclass(metres(lib))
        y = x + 1
        y.mul_(2)
        y.sum().backward(retain_graph=True)
        return history(x + 1), y.tolist(), history(x.exp().view(2, 1))

    assert agreeing(program)[0] == ("Metres", True, False, "AliasBackward0", True)


def test_slots_of_a_subclass_stay_empty():
    class Named(rushlight.Tensor):
        __slots__ = ("title",)

    seen = rushlight.ones(2).as_subclass(Named)
    seen.title = "a"
    assert seen.title == "a" and not hasattr(seen + 1, "title")


def test_classes_that_know_nothing_of_each_other_do_not_mix():
    for lib in (rushlight, torch):
        one, other = (lib.ones(2).as_subclass(metres(lib)) for _ in range(2))
        with pytest.raises(TypeError, match="__torch_function__"):
            lib.add(one, other)
        below = lib.ones(2).as_subclass(type("Longer", (type(one),), {}))
        assert type(one + below) is type(below + one) is type(below)


# ------------------------------------------------------------------------- classes that are asked
def units(lib):
    """A subclass that gives its attribute to results of some functions, and asks for it there."""

    class Units(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            types = [lib.Tensor if t is cls else t for t in types]
            found = lib.Tensor.__torch_function__(func, types, args, kwargs or {})
            if func.__name__ in ("detach", "mul", "view_as") and not isinstance(found, cls):
                found = found.as_subclass(cls)
                found.unit = args[0].unit
            return found

    return Units


def test_detach_of_a_class_that_is_asked_gives_it_a_plain_tensor():
    def program(lib):
        x = lib.ones(2).as_subclass(units(lib))
        x.unit = "m"
        made = x.detach(), x * 2, x.data
        return [(type(y).__name__, getattr(y, "unit", None)) for y in made]

    assert agreeing(program)[:2] == [("Units", "m"), ("Units", "m")]


def test_a_batched_jacobian_of_a_class_that_is_asked():
    x = rushlight.arange(2.0).as_subclass(units(rushlight))
    x.unit = "m"
    jacobian = rushlight.autograd.functional.jacobian
    found = jacobian(lambda t: t.as_subclass(rushlight.Tensor) ** 2, x, vectorize=True)
    assert found.tolist() == [[0.0, 0.0], [0.0, 2.0]]


# --------------------------------------------------------------------------------------- parameters
def test_a_parameter_of_a_subclass_stays_of_it_and_is_trained():
    def program(lib):
        weight = lib.nn.Parameter(lib.ones(2).as_subclass(metres(lib)))
        net = lib.nn.Module()
        net.weight = weight
        optimizer = lib.optim.SGD(net.parameters(), lr=0.5)
        (weight * 3).sum().backward()
        optimizer.step()
        return (
            type(weight).__name__,
            isinstance(weight, lib.nn.Parameter),
            history(weight)[1:4],
            [name for name, _ in net.named_parameters()],
            type(net.state_dict()["weight"]).__name__,
            repr(weight),
        )

    assert agreeing(program)[-1] == "Parameter(Metres([-0.5000, -0.5000], requires_grad=True))"


class Kept(rushlight.Tensor):
    """A subclass that can be pickled."""


def test_what_is_loaded_is_a_leaf_of_the_class():
    weight = rushlight.nn.Parameter(rushlight.ones(2).as_subclass(Kept))
    weight.unit = "m"
    file = io.BytesIO()
    rushlight.save(weight, file)
    file.seek(0)
    with rushlight.serialization.safe_globals([Kept]):
        again = rushlight.load(file)
    assert type(again) is Kept and isinstance(again, rushlight.nn.Parameter)
    assert again.is_leaf and again.requires_grad and again.unit == "m"
    assert again.tolist() == [1.0, 1.0]


# ------------------------------------------------------------------------------------------- text
@pytest.mark.parametrize("shape", [(2, 2), (0,), (2, 0), (1,)])
def test_text_names_the_class(shape):
    def program(lib):
        x = lib.ones(*shape).as_subclass(metres(lib))
        return repr(x), str([x]), shown(x.double()), repr((x * 1).requires_grad_() * 2)

    assert agreeing(program)[0].startswith("Metres(")


# ------------------------------------------------------------------------------ function transforms
def test_transforms_take_plain_tensors_and_give_them():
    def program(lib):
        cls, x = metres(lib), lib.arange(6.0).reshape(3, 2)
        seen = []

        def f(row):
            row = row.as_subclass(cls)
            row.unit = "m"
            doubled = row * 2
            seen.append((type(row).__name__, type(doubled).__name__, doubled.shape[0]))
            return doubled

        found = lib.func.vmap(f)(x)
        slope = lib.func.vmap(lib.func.grad(lambda t: (t.as_subclass(cls) ** 2).sum()))(x)
        moved = lib.func.vmap(lambda t: t + 1)(x.as_subclass(cls))
        pair = lib.func.jvp(lambda t: t.as_subclass(cls) * 3, (x,), (x,))
        results = (found, slope, moved, *pair)
        return seen, [(type(y).__name__, y.tolist()) for y in results]

    seen, results = agreeing(program)
    assert seen == [("Metres", "Metres", 2)]
    assert {name for name, _ in results} == {"Tensor"}


class Reduced(rushlight.Tensor):
    """A subclass that says itself how it is pickled: with all of its attributes."""

    def __reduce_ex__(self, protocol):
        return rebuilt, (self.tolist(), dict(self.__dict__))


def rebuilt(values, attributes):
    """What :class:`Reduced` is made of again."""
    made = rushlight.tensor(values).as_subclass(Reduced)
    made.__dict__.update(attributes)
    return made


def test_attributes_are_those_of_the_program():
    seen = rushlight.ones(2).as_subclass(Reduced)
    seen.unit = "m"
    result = seen * 2
    result.unit = "s"
    assert seen.__dict__ == {"unit": "m"} and result.__dict__ == {"unit": "s"}
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is Reduced and again.unit == "s" and again.tolist() == [2.0, 2.0]
