"""Types of tensors by their sizes, and types of values, beside PyTorch's."""

import importlib
import itertools
import operator

import pytest

import rushlight

torch = pytest.importorskip("torch")


def types(library):
    """The module, and types and sizes to compare."""
    module = importlib.import_module(f"{library.__name__}.fx.tensor_type")
    dyn, made = module.Dyn, module.TensorType
    tensors = [made((1, 2)), made((1, dyn)), made((dyn, 2)), made((1,)), made([1, 2]), made((3, 2))]
    nested = [made((made((1, dyn)), 2)), made((made((1, 2)), 2))]
    return module, [dyn, 1, 2, int, *tensors, *nested, made[1, 2], made[dyn]]


def test_relations_are_pytorchs():
    (ours, mine), (theirs, others) = types(rushlight), types(torch)
    assert [repr(t) for t in mine] == [repr(t) for t in others]
    positions = list(itertools.product(range(len(mine)), repeat=2))
    for relation in ("is_consistent", "is_more_precise", "eq"):
        got, wanted = [], []
        for found, module, of in ((got, ours, mine), (wanted, theirs, others)):
            function = getattr(module, relation, operator.eq)
            found += [function(of[i], of[j]) for i, j in positions]
        assert got == wanted
        assert {True, False} == set(got)


def test_types_are_not_hashable():
    for library in (rushlight, torch):
        module, _ = types(library)
        for value in (module.Dyn, module.TensorType((1,))):
            with pytest.raises(TypeError, match="unhashable"):
                hash(value)


def traced(library, times):
    annotate = importlib.import_module(f"{library.__name__}.fx.annotate").annotate
    assert annotate(3, int) == 3

    def program(x):
        y = x + 1
        for _ in range(times):
            y = annotate(y, int)
        return y

    module = library.fx.symbolic_trace(program)
    return [(n.name, n.type) for n in module.graph.nodes], module.code


def test_annotated_values_show_their_types():
    assert traced(rushlight, 1) == traced(torch, 1)
    for library in (rushlight, torch):
        with pytest.raises(RuntimeError, match="already had a type on it! Existing type is <class"):
            traced(library, 2)
