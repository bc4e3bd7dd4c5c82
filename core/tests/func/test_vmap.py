"""`vmap`: where dimensions go, nesting, chunks, randomness, writes, and what it refuses."""

import numpy as np
import pytest

import rushlight
from rushlight.func import fallback_counts, grad, vmap

torch = pytest.importorskip("torch")


def both(make):
    """The result of a program written once, from either library, as arrays."""
    found = make(rushlight, rushlight.func), make(torch, torch.func)
    return [[np.asarray(t.tolist()) for t in (r if isinstance(r, tuple) else (r,))] for r in found]


def agree(make):
    ours, theirs = both(make)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-6)


def numbers(lib, *shape):
    return lib.arange(int(np.prod(shape))).reshape(shape).to(lib.float64) / 7


@pytest.mark.parametrize("in_dims", [0, 1, -1, 2])
@pytest.mark.parametrize("out_dims", [0, 1, -1])
def test_dimensions_in_and_out(in_dims, out_dims):
    agree(
        lambda lib, f: f.vmap(lambda x: x.cumsum(0) * 2, in_dims, out_dims)(numbers(lib, 3, 4, 5))
    )


def test_arguments_that_are_the_same_for_all_examples():
    agree(
        lambda lib, f: f.vmap(lambda a, b: (a @ b, b * 1), (0, None), (1, 0))(
            numbers(lib, 5, 2, 3), numbers(lib, 3, 4)
        )
    )


def test_nested_structures_of_arguments_and_results():
    def make(lib, f):
        def run(tree, scale):
            return {"sum": tree["a"][0] + tree["b"], "scaled": tree["a"][1] * scale}

        tree = {"a": [numbers(lib, 3, 2), numbers(lib, 2, 3)], "b": numbers(lib, 2)}
        dims = ({"a": [0, 1], "b": None}, None)
        found = f.vmap(run, in_dims=dims, out_dims={"sum": 0, "scaled": 1})(tree, 2.0)
        return found["sum"], found["scaled"]

    agree(make)


def test_nested_levels():
    agree(
        lambda lib, f: f.vmap(f.vmap(lib.dot, (None, 0)), (0, None))(
            numbers(lib, 3, 4), numbers(lib, 5, 4)
        )
    )
    agree(
        lambda lib, f: f.vmap(lambda x: f.vmap(lambda y: x.outer(y).sum(0), 1)(x.outer(x)))(
            numbers(lib, 2, 3)
        )
    )


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 100])
def test_chunks_give_the_same(chunk_size):
    x = numbers(rushlight, 7, 4)
    whole = vmap(lambda x: (x.sum(), x * 2), out_dims=(0, 1))(x)
    parts = vmap(lambda x: (x.sum(), x * 2), out_dims=(0, 1), chunk_size=chunk_size)(x)
    for a, b in zip(whole, parts, strict=True):
        assert rushlight.equal(a, b)


def test_promotion_counts_the_dimensions_that_the_function_sees():
    def make(lib, f):
        scalars = lib.tensor([1.5, 2.5], dtype=lib.float64)
        return f.vmap(lambda s: s * lib.ones(3))(scalars)

    assert make(rushlight, rushlight.func).dtype is rushlight.float32
    agree(make)


def test_indices_that_differ_from_example_to_example():
    def make(lib, f):
        x, index = numbers(lib, 3, 4, 2), lib.tensor([[0, 3], [1, 1], [2, 0]])
        row = numbers(lib, 4, 2)
        return (
            f.vmap(lambda x, i: x[i])(x, index),
            f.vmap(lambda x, i: x[:, 1][i])(x, index),
            f.vmap(lambda i: row[i, 1])(index),
            f.vmap(lambda x, i: x.index_select(0, i))(x, index),
            f.vmap(lambda x, i: x[i[0]])(x, index),
            f.vmap(lambda x, i: x[i, lib.tensor([1, 0])])(x, index),
            f.vmap(lambda x, i: x.T[:, i])(x, index),
        )

    agree(make)


def test_writes_into_batched_tensors():
    def make(lib, f):
        def run(x, i):
            y = lib.zeros_like(x)
            y[0] = x[1]
            y[1:].mul_(0).add_(x[:2])
            y[i] = 7.0
            y.masked_fill_(x > 1, -1.0)
            return y.clamp(max=6)

        return f.vmap(run)(numbers(lib, 4, 3), lib.tensor([0, 1, 2, 0]))

    agree(make)


def test_a_write_reaches_the_argument():
    x = rushlight.zeros(3, 2)
    vmap(lambda row: row.add_(1))(x)
    assert x.tolist() == [[1.0, 1.0]] * 3


def test_writing_examples_into_one_tensor_is_refused():
    target = rushlight.zeros(2)
    with pytest.raises(RuntimeError, match="vmap: add_.* is not possible"):
        vmap(lambda x: target.add_(x))(rushlight.ones(3, 2))
    with pytest.raises(RuntimeError, match="vmap: copy_.* is not possible"):
        vmap(lambda x: target.copy_(x))(rushlight.ones(3, 2))


def test_control_flow_on_values_is_refused():
    x = rushlight.ones(3)
    with pytest.raises(RuntimeError, match=r"calling .item\(\) on a Tensor"):
        vmap(lambda x: x.item())(x)
    with pytest.raises(RuntimeError, match="data-dependent control flow"):
        vmap(lambda x: x if x > 0 else -x)(x)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda x: x.nonzero())(rushlight.ones(3, 2))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda x: x[x > 0])(rushlight.ones(3, 2))


def test_wrong_calls_say_what_is_wrong():
    x = rushlight.ones(3, 2)
    with pytest.raises(ValueError, match="same size in the mapped dimension, got sizes"):
        vmap(lambda a, b: a + b)(x, rushlight.ones(4, 2))
    with pytest.raises(ValueError, match="not compatible with the structure of inputs"):
        vmap(lambda a: a, in_dims=(0, 0))(x)
    with pytest.raises(ValueError, match="expected `in_dims` to be int or"):
        vmap(lambda a, b: a, in_dims=[0, 0])(x, x)
    with pytest.raises(ValueError, match="`out_dims` must be an int"):
        vmap(lambda a: a, out_dims=0.5)(x)
    with pytest.raises(ValueError, match="in_dim=3 for an input"):
        vmap(lambda a: a, in_dims=3)(x)
    with pytest.raises(ValueError, match="cannot vmap over non-Tensor"):
        vmap(lambda a, b: a * b)(x, 2.0)
    with pytest.raises(ValueError, match="at least one"):
        vmap(lambda a: a, in_dims=(None,))(x)
    with pytest.raises(ValueError, match="got no inputs"):
        vmap(lambda: x)()
    with pytest.raises(ValueError, match="must only return Tensors"):
        vmap(lambda a: 3)(x)
    with pytest.raises(ValueError, match="when out_dim is None"):
        vmap(lambda a: a, out_dims=None)(x)
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(lambda a: a, chunk_size=0)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(lambda a: a, randomness="some")


def test_tensors_must_not_escape():
    kept = []
    vmap(lambda x: kept.append(x) or x)(rushlight.ones(2))
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0] + 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: rushlight.randn(4),
        lambda x: rushlight.rand(2, 2),
        lambda x: rushlight.randint(0, 1000, (4,)),
        lambda x: rushlight.randperm(50),
        lambda x: rushlight.nn.functional.dropout(rushlight.ones(50)),
        lambda x: rushlight.bernoulli(rushlight.full((50,), 0.5)),
        lambda x: rushlight.normal(0.0, 1.0, (3,)),
    ],
)
def test_randomness(draw):
    x = rushlight.ones(3, 5)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(draw)(x)
    same = vmap(draw, randomness="same")(x)
    assert rushlight.equal(same[0], same[1])
    different = vmap(draw, randomness="different")(x)
    assert not rushlight.equal(different[0], different[1])
    assert different.shape == same.shape


def test_different_normals_are_those_of_one_call():
    rushlight.manual_seed(3)
    found = vmap(lambda x: rushlight.randn(5) + x, randomness="different")(rushlight.zeros(4))
    rushlight.manual_seed(3)
    assert rushlight.equal(found, rushlight.randn(4, 5))


def test_random_fills():
    x = rushlight.zeros(3, 40)
    different = vmap(lambda x: x.clone().uniform_(), randomness="different")(x)
    assert len(different.unique()) == 120
    same = vmap(lambda x: x.clone().normal_(), randomness="same")(x)
    assert rushlight.equal(same[0], same[2])
    with pytest.raises(RuntimeError, match="unbatched tensor"):
        vmap(lambda x: rushlight.zeros(3).uniform_() + x[:3], randomness="different")(x)


def test_gradients_through_vmap_reach_outside():
    weight = rushlight.randn(3, requires_grad=True)
    x = rushlight.randn(4, 3)
    vmap(lambda x: (x * weight).sum().sin())(x).sum().backward()
    expected = (x * (x @ weight.detach()).cos().unsqueeze(1)).sum(0)
    assert rushlight.allclose(weight.grad, expected, atol=1e-6)


def test_loops_are_counted_and_warned_of_once():
    x = rushlight.rand(3, 6)
    fallback_counts(reset=True)
    from rushlight.ops._transforms import batching as _batching

    _batching._warned.discard("histc")
    with pytest.warns(UserWarning, match="batching rule for histc"):
        found = vmap(lambda x: rushlight.histc(x, 4, 0, 1))(x)
    vmap(lambda x: rushlight.histc(x, 4, 0, 1))(x)
    assert fallback_counts(reset=True) == {"histc": 2}
    assert found.shape == (3, 4)
    assert fallback_counts() == {}


def test_per_sample_gradients_of_a_network():
    rushlight.manual_seed(0)
    nn = rushlight.nn
    model = nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.GroupNorm(1, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)
    ).double()
    images = rushlight.randn(5, 1, 6, 6, dtype=rushlight.float64)
    labels = rushlight.tensor([0, 1, 2, 3, 0])
    parameters = {n: p.detach() for n, p in model.named_parameters()}

    def loss(parameters, image, label):
        out = rushlight.func.functional_call(model, parameters, (image.unsqueeze(0),))
        return nn.functional.cross_entropy(out, label.unsqueeze(0))

    each = vmap(grad(loss), (None, 0, 0))(parameters, images, labels)
    for i in range(5):
        model.zero_grad()
        nn.functional.cross_entropy(model(images[i : i + 1]), labels[i : i + 1]).backward()
        for name, p in model.named_parameters():
            assert rushlight.allclose(each[name][i], p.grad)


def test_dropout_draws_as_outside_where_nothing_is_batched():
    x = rushlight.ones(50)
    drop = lambda x: rushlight.nn.functional.dropout(x * x)
    rushlight.manual_seed(1)
    expected = drop(x)
    rushlight.manual_seed(1)
    value, tangent = rushlight.func.jvp(drop, (x,), (x,))
    assert rushlight.equal(value, expected)
    assert rushlight.equal(tangent, 2 * expected)
    rushlight.manual_seed(1)
    same = vmap(drop, randomness="same")(rushlight.ones(3, 50))
    assert rushlight.equal(same[2], expected)
    rushlight.manual_seed(1)
    different = vmap(drop, randomness="different")(rushlight.ones(3, 50))
    rushlight.manual_seed(1)
    assert rushlight.equal(different, drop(rushlight.ones(3, 50)))


def test_backward_inside_is_refused():
    with pytest.raises(RuntimeError, match="called inside a functorch transform"):
        vmap(lambda x: (x * x).sum().backward() or x)(rushlight.ones(2, 3, requires_grad=True))


def test_random_slopes_lie_between_their_bounds():
    x = rushlight.randn(3, 50)

    def slopes(row):
        return rushlight.nn.functional.rrelu(row, 0.1, 0.4, training=True) / row

    for randomness in ("same", "different"):
        found = rushlight.vmap(slopes, randomness=randomness)(x)
        assert (found[x > 0] == 1).all()
        negative = found[x < 0]
        assert bool((negative > 0.0999).all()) and bool((negative < 0.4001).all())
        assert len(set(negative.tolist())) > 40


def test_shapes_that_depend_on_examples_are_refused():
    counts = rushlight.tensor([[1, 2], [2, 1]])
    with pytest.raises(RuntimeError, match="repeat_interleave: the numbers of repeats"):
        rushlight.vmap(rushlight.repeat_interleave)(rushlight.ones(2, 2), counts)
    shared = rushlight.vmap(lambda x: rushlight.repeat_interleave(x, counts[0]))(counts)
    assert shared.tolist() == [[1, 2, 2], [2, 1, 1]]


def test_solutions_with_batches_inside():
    matrices = rushlight.randn(4, 3, 2, 2)
    parts, pivots = rushlight.linalg.ldl_factor(matrices @ matrices.mT)
    right = rushlight.randn(4, 2, 5)
    solve = rushlight.linalg.ldl_solve
    found = rushlight.vmap(solve)(parts, pivots, right)
    for i in range(4):
        assert rushlight.allclose(found[i], solve(parts[i], pivots[i], right[i]), atol=1e-4)


def test_chunks_draw_the_same_where_all_examples_do():
    x = rushlight.zeros(5, 2)
    rows = vmap(lambda a: a + rushlight.rand(2), randomness="same", chunk_size=2)(x)
    assert (rows == rows[0]).all()
    rows = vmap(lambda a: a + rushlight.rand(2), randomness="different", chunk_size=2)(x)
    assert len(rows[:, 0].unique()) == 5


@pytest.mark.parametrize(
    "sample",
    [
        lambda rate: rushlight.poisson(rate * 50),
        lambda rate: rushlight.binomial(rate * 0 + 100, rate / 2),
        lambda rate: rushlight.distributions.Gamma(rate, rate, validate_args=False).rsample(),
        lambda rate: rushlight.distributions.Dirichlet(rate, validate_args=False).rsample(),
    ],
)
def test_rarer_samples_follow_the_randomness(sample):
    rate = rushlight.tensor([0.5, 0.8, 1.0])
    rows = rate.expand(4, 3).contiguous()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(sample)(rows)
    with pytest.raises(RuntimeError, match="same randomness with a batched tensor"):
        vmap(sample, randomness="same")(rows)
    shared = vmap(lambda a: sample(rate) + a * 0, randomness="same")(rows)
    assert (shared == shared[0]).all()
    for function in (sample, lambda a: sample(rate) + a * 0):
        drawn = vmap(function, randomness="different")(rows)
        assert len({tuple(row) for row in drawn.tolist()}) > 1


def test_implicit_gradients_for_each_example():
    def total(rate):
        return rushlight.distributions.Gamma(rate, rate, validate_args=False).rsample().sum()

    rows = rushlight.tensor([[0.5, 0.58], [0.66, 0.74]], dtype=rushlight.float64)
    rushlight.manual_seed(5)
    found = vmap(rushlight.func.grad(total), randomness="different")(rows)
    rushlight.manual_seed(5)
    leaf = rows.clone().requires_grad_()
    rushlight.distributions.Gamma(leaf, leaf).rsample().sum().backward()
    assert rushlight.allclose(found, leaf.grad)


@pytest.mark.parametrize("draw", [rushlight.rand_like, rushlight.randn_like])
def test_randomness_of_tensors_like_one_that_is_shared(draw):
    shared = rushlight.ones(5)
    different = vmap(lambda _: draw(shared), randomness="different")(rushlight.zeros(4))
    assert different.shape == (4, 5) and different[0].tolist() != different[1].tolist()
    same = vmap(lambda _: draw(shared), randomness="same")(rushlight.zeros(4))
    assert same[0].tolist() == same[3].tolist()
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda _: draw(shared))(rushlight.zeros(4))


def test_bernoulli_in_place_with_a_tensor_of_chances():
    chances = rushlight.tensor([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]])

    def fill(p):
        return p.clone().bernoulli_(p)

    found = vmap(fill, randomness="different")(chances)
    assert found[:, :2].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    shared = vmap(lambda t: t.clone().bernoulli_(chances[0]), randomness="same")(chances)
    assert shared[0].tolist() == shared[1].tolist()
    with pytest.raises(RuntimeError, match="same randomness"):
        vmap(fill, randomness="same")(chances)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(fill)(chances)


def test_one_hot_needs_the_number_of_classes():
    labels = rushlight.tensor([1, 2])
    with pytest.raises(RuntimeError, match="positive num_classes"):
        vmap(rushlight.nn.functional.one_hot)(labels)
    found = vmap(lambda t: rushlight.nn.functional.one_hot(t, 3))(labels)
    assert found.tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "function",
    [
        lambda lib, t: t.argmax(),
        lambda lib, t: t.roll(1),
        lambda lib, t: t.median(),
        lambda lib, t: lib.nn.functional.layer_norm(t, (3,)),
        lambda lib, t: lib.ones(4, 3)[t.argmax()],
    ],
)
def test_no_examples_at_all(function):
    def make(lib, f):
        return f.vmap(lambda t: function(lib, t))(lib.zeros(0, 3))

    agree(make)


def rows(lib):
    return (numbers(lib, 4, 3) - 0.8) * 3


@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_gradients_of_bags_of_rows(mode, padding):
    def make(lib, f):
        bags = lib.tensor([[0, 2], [1, 1], [2, 3]])

        def loss(weight, bag):
            found = lib.nn.functional.embedding_bag(
                bag[None], weight, mode=mode, padding_idx=padding
            )
            return found.pow(2).sum()

        each = f.vmap(f.grad(loss), in_dims=(None, 0))(rows(lib), bags)
        tables = f.vmap(f.grad(loss), in_dims=(0, None))(
            lib.stack([rows(lib), rows(lib) * 2]), bags[0]
        )
        return each, tables

    agree(make)


def test_maxima_of_bags_of_different_lengths():
    def loss(weight):
        flat, starts = rushlight.tensor([0, 2, 1]), rushlight.tensor([0, 2])
        bags = rushlight.nn.functional.embedding_bag(flat, weight, starts, mode="max")
        return (bags * rushlight.arange(6.0).reshape(2, 3)).sum()

    tables = (rushlight.arange(24.0) * 0.7).sin().reshape(2, 4, 3)
    found = vmap(grad(loss))(tables)
    assert rushlight.equal(found, rushlight.stack([grad(loss)(table) for table in tables]))
    assert found.sum(2).count_nonzero() == found.sum(2)[:, :3].count_nonzero() > 0


def test_a_mask_that_all_examples_share():
    agree(
        lambda lib, f: f.vmap(lambda t: t.masked_select(lib.tensor([True, False, True])))(rows(lib))
    )


def test_both_branches_where_examples_decide():
    agree(
        lambda lib, f: f.vmap(
            lambda t: (
                lib.where(t.sum() > 0, t * 2, t * 3)
                if lib is torch
                else lib.cond(t.sum() > 0, lambda q: q * 2, lambda q: q * 3, (t,))
            )
        )(rows(lib))
    )
    with pytest.raises(RuntimeError, match="one structure"):
        vmap(lambda t: rushlight.cond(t.sum() > 0, lambda: (t,), lambda: t))(rushlight.ones(2, 3))
