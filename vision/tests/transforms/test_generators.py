"""`generator=` of every random transform: the numbers of `manual_seed`, and no other stream moved.

The calls are those that are compared with torchvision (`cases.py`), and containers of transforms.
"""

from __future__ import annotations

import copy
import inspect
import pickle
import random
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import cases
import inputs
import numpy as np
import pytest

import rushlight as rl
from rushlight_vision.transforms import sampling
from rushlight_vision.transforms.sampling import Sampling

LIBRARY = inputs.library("rushlight_vision")
v1, v2 = LIBRARY.v1, LIBRARY.v2
KINDS = inputs.inputs(LIBRARY)


class Call(NamedTuple):
    """A class, its arguments, and the input to call the transform with."""

    make: Any
    options: dict[str, Any]
    value: Any

    def made(self, **options: Any) -> Callable[[Any], Any]:
        """The transform."""
        return self.make(**self.options, **options)


def _calls() -> dict[str, Call]:
    found: dict[str, Call] = {}
    batch = (rl.cat([KINDS["batch"], 1 - KINDS["batch"]]), rl.tensor([0, 2, 1, 2]))
    rows = [(v2, n, o, None) for n, o in cases.TRANSFORMS]
    rows += [(v2, n, o, batch) for n, o in cases.BATCHES if n != "LinearTransformation"]
    rows += [(v1, n, o, KINDS["uint8"]) for n, o in cases.FIRST]
    rows += [(v1, n, o, KINDS["PIL"]) for n, o in cases.FIRST]
    rows += [(v1, "ElasticTransform", {"sigma": 2.0}, KINDS["uint8"])]
    rows += [(v1, "RandomErasing", {"p": 0.7, "value": "random"}, KINDS["batch"])]
    for module in (v1, v2):
        inner = [module.RandomRotation(40), module.RandomVerticalFlip(0.5), module.RandomCrop(9)]
        for name in ("Compose", "RandomApply", "RandomChoice", "RandomOrder"):
            rows.append((module, name, {"transforms": inner}, KINDS["uint8"]))
    for module, name, options, value in rows:
        if name == "SanitizeBoundingBoxes" or (name, options) == ("ElasticTransform", {}):
            continue  # errors on these inputs, as in torchvision
        if value is None:
            value = inputs.sample(LIBRARY, alone=name in cases.ALONE)
        short = "v1" if module is v1 else "v2"
        call = Call(getattr(module, name), cases.arguments(LIBRARY, options), value)
        found[f"{short}.{name} {len(found)}"] = call
    return found


CALLS = _calls()
RANDOM = {
    key: call
    for key, call in CALLS.items()
    if "generator" in inspect.signature(call.make).parameters
}
# These follow Python's `random` where no generator is given, as in torchvision.
BY_PYTHON = (v1.RandomChoice, v1.RandomOrder)


def run(transform: Callable[[Any], Any], value: Any) -> dict[str, np.ndarray]:
    """The result as arrays by path; the input, which a transform may write into, is copied."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inputs.leaves(transform(copy.deepcopy(value)))


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Whether two results are equal to the bit."""
    return first.keys() == second.keys() and all(
        first[at].shape == second[at].shape and (first[at] == second[at]).all() for at in first
    )


def seeded(seed: int) -> rl.Generator:
    """A generator of its own."""
    return rl.Generator().manual_seed(seed)


@pytest.mark.parametrize("key", CALLS)
def test_what_samples_takes_a_generator(key):
    call, moved = CALLS[key], False
    for seed in range(3):
        rl.manual_seed(seed)
        before = rl.get_rng_state()
        run(call.made(), call.value)
        moved = moved or not rl.equal(rl.get_rng_state(), before)
    assert not moved or key in RANDOM
    parameter = inspect.signature(call.make).parameters.get("generator")
    if parameter is not None:
        assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default is None


@pytest.mark.parametrize("key", RANDOM)
def test_the_numbers_of_manual_seed(key):
    call = RANDOM[key]
    for seed in (0, 1, 7):
        # Those of v1 that follow Python's `random` sample as those of v2 where they are given one.
        expecting = getattr(v2, call.make.__name__) if call.make in BY_PYTHON else call.make
        rl.manual_seed(seed)
        expected = run(expecting(**call.options), call.value)
        following = float(rl.rand(1))
        rl.manual_seed(99)
        random.seed(99)
        before, words = rl.get_rng_state(), random.getstate()
        generator = seeded(seed)
        found = run(call.made(generator=generator), call.value)
        assert same(found, expected)
        assert float(rl.rand(1, generator=generator)) == following
        assert rl.equal(rl.get_rng_state(), before) and random.getstate() == words


@pytest.mark.parametrize("key", RANDOM)
def test_streams_do_not_see_each_other(key):
    call = RANDOM[key]
    first = call.made(generator=seeded(1))
    alone = [run(first, call.value) for _ in range(3)]
    first, second = (call.made(generator=seeded(seed)) for seed in (1, 2))
    pairs = [(run(first, call.value), run(second, call.value)) for _ in range(3)]
    assert all(same(one, expected) for (one, _), expected in zip(pairs, alone, strict=True))


@pytest.mark.parametrize("key", RANDOM)
def test_copies_and_pickles_hold_the_state(key):
    call = RANDOM[key]
    transform = call.made(generator=seeded(3))
    assert repr(transform) == repr(call.made())
    for made in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        expected = run(call.made(generator=seeded(3)), call.value)
        assert same(run(made, call.value), expected)
    assert float(rl.rand(1, generator=transform.generator)) == float(
        rl.rand(1, generator=seeded(3))
    ), "a copy moved the original's stream"


def test_every_random_transform_is_called():
    having = {
        f"{module.__name__}.{name}"
        for module in (v1, v2)
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) and issubclass(getattr(module, name), Sampling)
    }
    called = {
        f"rushlight_vision.transforms{'.v2' * key.startswith('v2')}.{key.split()[0][3:]}"
        for key in CALLS
    }
    fixed = {"LinearTransformation", "SanitizeBoundingBoxes", "Transform", "Lambda"}
    kinds = {"PILToTensor", "ToPILImage", "ToTensor"}
    assert {n for n in having - called if n.split(".")[-1] not in fixed | kinds} == set()


def test_streams_differ():
    images = [rl.rand(3, 8, 8) for _ in range(20)]
    results = []
    for seed in (1, 2):
        flip = v2.RandomHorizontalFlip(generator=seeded(seed))
        results.append([rl.equal(flip(each), each) for each in images])
    assert results[0] != results[1] and len(set(results[0])) == 2


def test_inside_of_containers():
    image = KINDS["uint8"]
    rl.manual_seed(4)
    expected = v2.Compose([v2.RandomCrop(9), v2.RandomAffine(30)])(image)
    both = v2.Compose([v2.RandomCrop(9), v2.RandomAffine(30)], generator=seeded(4))
    assert rl.equal(both(image), expected)
    own = v2.RandomCrop(9, generator=seeded(5))
    before = own.generator.get_state()
    outer = v2.RandomOrder([own, v2.RandomVerticalFlip()], generator=seeded(4))
    outer(image)
    numbers = seeded(4)
    rl.randperm(2, generator=numbers), rl.rand(1, generator=numbers)
    assert rl.equal(outer.generator.get_state(), numbers.get_state())
    assert not rl.equal(own.generator.get_state(), before)
    assert sampling.current_generator() is None


def test_python_s_random_is_asked_without_a_generator():
    steps = [v1.Grayscale(), v1.CenterCrop(9)]
    for make in BY_PYTHON:
        random.seed(0)
        before, numbers = random.getstate(), rl.get_rng_state()
        make(steps)(KINDS["uint8"])
        assert random.getstate() != before and rl.equal(rl.get_rng_state(), numbers)
    weighed = v1.RandomChoice(steps, p=[0.0, 1.0], generator=seeded(0))
    assert weighed(KINDS["uint8"]).shape == (3, 9, 9)


def test_own_transforms_and_direct_calls():
    class Scaled(v2.Transform):
        def make_params(self, flat_inputs):
            return {"factor": sampling.uniform(1, 2)}

        def transform(self, inpt, params):
            return inpt * params["factor"]

    image = rl.ones(1, 2, 2)
    rl.manual_seed(3)
    expected = Scaled()(image)
    before = rl.get_rng_state()
    assert rl.equal(Scaled(generator=seeded(3))(image), expected)
    assert rl.equal(Scaled(generator=seeded(3)).forward(image), expected)
    assert Scaled(generator=seeded(3)).make_params([image])["factor"] == float(expected[0, 0, 0])
    assert rl.equal(rl.get_rng_state(), before)


def test_threads_have_their_own():
    seen: list[Any] = []
    with sampling.sampling_from(seeded(0)):
        thread = threading.Thread(target=lambda: seen.append(sampling.current_generator()))
        thread.start()
        thread.join()
    assert seen == [None]


@pytest.mark.parametrize("make", [v2.RandomHorizontalFlip, v1.RandomInvert, v1.RandomGrayscale])
def test_other_than_generators_are_refused(make):
    with pytest.raises(TypeError, match=f"{make.__name__}: generator is a int; expected"):
        make(generator=3)
