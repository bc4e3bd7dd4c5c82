"""``out=``: resized within its storage, and refused where it shares elements with an argument."""

import pytest

import rushlight


def test_an_output_grows_within_its_storage():
    base = rushlight.arange(10.0)
    out = base[2:4]
    with pytest.warns(UserWarning, match="was resized"):
        rushlight.sum(rushlight.ones(3, 2), 1, out=out)
    assert out.tolist() == [2.0, 2.0, 2.0]
    assert base.tolist() == [0.0, 1.0, 2.0, 2.0, 2.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_an_empty_output_grows_without_a_warning():
    out = rushlight.empty(0)
    assert rushlight.cat([rushlight.ones(2), rushlight.zeros(1)], out=out) is out
    assert out.tolist() == [1.0, 1.0, 0.0]


def test_an_output_that_is_an_argument_too_is_refused_where_it_grows():
    empty = rushlight.zeros(0)
    with pytest.raises(RuntimeError, match="single memory location"):
        rushlight.cat([empty, rushlight.ones(2, 3)], out=empty)
    one = rushlight.ones(1)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        rushlight.add(one, rushlight.ones(3), out=one)
    assert one.tolist() == [1.0]


@pytest.mark.filterwarnings("ignore:gather. an output")
def test_an_output_that_grows_over_the_index_is_refused():
    index = rushlight.tensor([2, 1, 0])
    with pytest.raises(RuntimeError, match="single memory location"):
        rushlight.gather(index.clone(), 0, index[1:], out=index[:1])


def test_arange_takes_the_dtype_of_its_output():
    out = rushlight.empty(0, dtype=rushlight.int32)
    assert rushlight.arange(0.0, 4, 1.5, out=out).tolist() == [0, 1, 2]  # whole steps
    out = rushlight.empty(0, dtype=rushlight.int64)
    with pytest.raises(ValueError, match="step must be nonzero"):
        rushlight.arange(0, 64, 0.5, out=out)


@pytest.mark.parametrize(
    "shapes",
    [((3,), (3,), (2,)), ((3,), (1,), (3,)), ((3,), (1,), (1,)), ((2, 3), (3,), (3,)),
     ((2, 3), (3,), (2, 3)), ((2, 3), (2, 3), (3, 2)), ((0,), (0,), (0,)), ((4,), (4,), (0,)),
     ((40, 50), (40, 50), (40, 50))],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*was resized")
def test_computed_into_outputs_of_any_shape(shapes):
    rushlight.ones(3).add_(rushlight.ones(3))  # compiles what writes in place
    for _ in range(3):  # in general, then as layouts that were met
        a, b = (rushlight.randn(shape) for shape in shapes[:2])
        out = rushlight.full(shapes[2], 7.0)
        assert rushlight.add(a, b, out=out) is out
        assert rushlight.equal(out, a + b) and out.shape == (a + b).shape


def test_computed_into_strided_and_shared_outputs():
    ones = rushlight.ones(5)
    ones.clone().add_(ones)
    memory = rushlight.zeros(10)
    turned = rushlight.zeros(3, 2).t()
    for _ in range(3):
        rushlight.add(ones, ones, out=memory[::2])
        assert memory.tolist() == [2.0, 0.0] * 5
        a, b = rushlight.randn(2, 3), rushlight.randn(2, 3)
        version = turned._version
        assert rushlight.equal(rushlight.add(a, b, out=turned), a + b)
        assert turned._version == version + 1
        with pytest.raises(RuntimeError, match="single memory location"):
            rushlight.add(memory[:5], ones, out=memory[1:6])
        same = ones.clone()
        assert rushlight.add(same, ones, out=same).tolist() == [2.0] * 5
    with pytest.raises(RuntimeError, match="requires grad"):
        rushlight.add(ones, ones, out=rushlight.zeros(5, requires_grad=True))
    with pytest.raises(RuntimeError, match="can't be cast"):
        rushlight.add(ones, ones, out=rushlight.zeros(5, dtype=rushlight.int64))


def _calls_with_out():
    """An elementwise call of every kind: numbers, named attributes, comparisons, three tensors."""
    rushlight.manual_seed(0)
    x, y = rushlight.rand(3, 4) + 0.5, rushlight.rand(3, 4) + 0.5
    n, m = rushlight.arange(12).view(3, 4), rushlight.arange(12).view(3, 4) % 5 + 1
    row = rushlight.rand(4)
    yield from (
        (rushlight.exp, (x,), {}), (rushlight.sub, (x, y), {}), (rushlight.mul, (x, 2.5), {}),
        (rushlight.add, (x, y), {"alpha": 3}), (rushlight.add, (x, row), {}),
        (rushlight.clamp, (x, 0.6, 0.9), {}), (rushlight.eq, (n, m), {}),
        (rushlight.lt, (x, 1), {}), (rushlight.bitwise_and, (n, m), {}),
        (rushlight.div, (n, m), {}), (rushlight.div, (n, m), {"rounding_mode": "floor"}),
        (rushlight.addcmul, (x, x, y), {"value": 0.5}), (rushlight.lerp, (x, y, 0.25), {}),
        (rushlight.logical_or, (n, m), {}), (rushlight.atan2, (x.double(), y.double()), {}),
        (rushlight.abs, (rushlight.complex(x, y),), {}), (rushlight.sub, (x.bfloat16(), y), {}),
        (rushlight.mul, (x[:0], y[:0]), {}), (rushlight.sqrt, (x.t(),), {}),
    )  # fmt: skip


@pytest.mark.parametrize("case", list(_calls_with_out()), ids=lambda case: case[0].__name__)
def test_elementwise_calls_write_where_they_should(case):
    function, args, options = case
    expected = function(*args, **options)
    form = (len(args), *options, "out")
    for make in (
        rushlight.empty_like,
        lambda e: rushlight.empty(*e.shape, 2, dtype=e.dtype)[..., 0],
    ):
        out = make(expected)
        for count in range(3):
            out.zero_()
            version = out._version
            assert function(*args, **options, out=out) is out
            assert rushlight.equal(out, expected), count
            assert out._version == version + 1
        if function.op.kind == "elementwise":  # not by a copy
            assert function.op.paths.forms[form](*args, **options, out=out) is out
    wider = rushlight.empty(expected.shape, dtype=rushlight.complex128)
    assert rushlight.equal(function(*args, **options, out=wider), expected.to(wider.dtype))


def test_what_a_prepared_call_with_out_leaves_to_the_general_one():
    x, y = rushlight.rand(4), rushlight.rand(4)
    for _ in range(3):
        rushlight.sub(x, y, out=rushlight.empty(4))
    needs = rushlight.rand(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rushlight.sub(needs, y, out=rushlight.empty(4))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rushlight.sub(x, y, out=rushlight.empty(4, requires_grad=True))
    with rushlight.no_grad():
        assert rushlight.equal(rushlight.sub(needs, y, out=rushlight.empty(4)), needs - y)
    with pytest.raises(RuntimeError, match="can't be cast"):
        rushlight.sub(x, y, out=rushlight.empty(4, dtype=rushlight.int64))
    with pytest.raises(RuntimeError, match="more than one element"):
        rushlight.sub(x, y, out=rushlight.zeros(1).expand(4))
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not int"):
        rushlight.sub(x, y, out=3)
    view = x.view(2, 2).view(4)
    assert rushlight.sub(x, y, out=view) is view
    memory = rushlight.arange(10.0)
    with pytest.raises(RuntimeError, match="single memory location"):
        rushlight.sub(memory[:4], memory[4:8], out=memory[2:6])


def test_a_saved_value_that_out_overwrites_is_noticed():
    x, held = rushlight.rand(4, requires_grad=True), rushlight.rand(4)
    rushlight.sub(rushlight.ones(4), 1.0, out=rushlight.empty(4))
    product = (x * held).sum()
    rushlight.sub(rushlight.ones(4), 1.0, out=held)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_an_empty_output_shares_nothing_with_arguments_or_other_results():
    x, y = rushlight.rand(3), rushlight.rand(2)
    for _ in range(3):
        first, second = rushlight.empty(0), rushlight.empty(0)
        rushlight.cat([x, y], out=first)
        rushlight.cat([x, y], out=second)
        first.zero_()
        assert rushlight.equal(second, rushlight.cat([x, y]))
        only = rushlight.empty(0)
        rushlight.cat([x], out=only)
        only.zero_()
        assert x.min() > 0
        shared = rushlight.empty(0)
        view = shared.view(0)
        assert rushlight.cumsum(x, 0, out=view) is view
        assert rushlight.equal(view, x.cumsum(0)) and shared.shape == (0,)
        other = rushlight.empty(0, dtype=rushlight.float64)
        assert rushlight.equal(rushlight.sum(x, 0, True, out=other), x.sum(0, True).double())
