"""What sparse tensors promise beside PyTorch's values: errors that help, gradients, files."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight
from rushlight.kernels.sparse import products as kernels


def matrix(requires_grad=False):
    values = rushlight.tensor([1.0, 2.0, 3.0], dtype=rushlight.float64)
    return rushlight.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 2]], values, (2, 3), requires_grad=requires_grad
    )


def test_what_is_missing_names_to_dense():
    for call in (
        lambda s: s.exp(),
        lambda s: s.reshape(3, 2),
        lambda s: rushlight.maximum(s, s),
        lambda s: rushlight.nn.functional.conv1d(s, s),
        lambda s: s.tolist(),
        lambda s: s.softmax(1),  # sparse.softmax is another function: absent elements count as -inf
        lambda s: rushlight.nn.functional.cross_entropy(s, rushlight.tensor([0, 1])),
    ):
        with pytest.raises(NotImplementedError, match=r"to_dense\(\)"):
            call(matrix())
    with pytest.raises(NotImplementedError, match="index_select"):
        matrix()[:, 1:]
    with pytest.raises(NotImplementedError, match=r"sparse_csc; call to_dense\(\)"):
        matrix().to_sparse_csr().t().norm()


def test_layouts():
    s = matrix()
    assert s.layout is rushlight.sparse_coo and s.to_sparse_csr().layout is rushlight.sparse_csr
    assert isinstance(s.layout, rushlight.layout) and rushlight.ones(1).layout is rushlight.strided
    assert repr(s.layout) == "rushlight.sparse_coo" and s.layout == "sparse_coo"
    assert pickle.loads(pickle.dumps(s.layout)) == rushlight.sparse_coo
    legacy = rushlight.sparse.FloatTensor(s._indices(), s._values(), s.size())
    assert legacy.dtype is rushlight.float32
    assert legacy.to_dense().tolist() == s.to_dense().tolist()


def test_sparse_parameters_are_refused_but_buffers_are_not():
    with pytest.raises(NotImplementedError, match=r"Parameter\(x.values\(\)\)"):
        rushlight.nn.Parameter(matrix())
    module = rushlight.nn.Module()
    module.register_buffer("adjacency", matrix())
    module.float()
    assert module.adjacency.dtype is rushlight.float32
    assert module.state_dict()["adjacency"].is_sparse


def test_no_array_is_handed_out():
    nested = rushlight.nested.nested_tensor([rushlight.ones(1), rushlight.ones(2)])
    for made in (matrix(), matrix().to_sparse_csr(), nested):
        with pytest.raises(BufferError, match="layout"):
            rushlight.from_dlpack(made)
        with pytest.raises((TypeError, NotImplementedError)):
            np.asarray(made)


def test_second_derivatives():
    places = rushlight.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])

    def product(values, other):
        return rushlight.sparse.mm(rushlight.sparse_coo_tensor(places, values, (2, 3)), other)

    values = rushlight.randn(4, dtype=rushlight.float64, requires_grad=True)
    other = rushlight.randn(3, 5, dtype=rushlight.float64, requires_grad=True)
    assert rushlight.autograd.gradcheck(product, (values, other))
    assert rushlight.autograd.gradgradcheck(product, (values, other))


def test_function_transforms():
    s = matrix()
    rows = rushlight.randn(4, 3, dtype=rushlight.float64)
    batches = rushlight.randn(4, 3, 2, dtype=rushlight.float64)
    dense = s.to_dense()
    vmap, close = rushlight.func.vmap, rushlight.testing.assert_close
    close(vmap(lambda x: s @ x)(rows), rows @ dense.T)
    close(vmap(lambda x: s @ x)(batches), dense @ batches)
    close(rushlight.func.jacrev(lambda x: s @ x)(rows[0]), dense)
    close(rushlight.func.jacfwd(lambda x: s @ x)(rows[0]), dense)
    values = rushlight.ones(3, dtype=rushlight.float64)

    def loss(v):
        return rushlight.sparse.mm(s.with_elements(v), batches[0]).pow(2).sum()

    leaf = values.clone().requires_grad_()
    loss(leaf).backward()
    close(rushlight.func.grad(loss)(values), leaf.grad)


def test_assert_close():
    close, s = rushlight.testing.assert_close, matrix()
    close(s, s.clone())
    close(s.to_sparse_csr(), s.to_sparse_csr().clone())
    close(s, s.to_dense(), check_layout=False)
    for other, message in (
        (s * 2, "Sparse COO values"),
        (s.to_dense(), "'layout' do not match"),
        (rushlight.ones(2, 3, dtype=s.dtype).to_sparse(), "number of specified values"),
        (s.to_dense()[:1].to_sparse(), "'shape' do not match"),
        (s.float(), "'dtype' do not match"),
    ):
        with pytest.raises(AssertionError, match=message):
            close(s, other)


def test_modules_with_sparse_buffers():
    class Layer(rushlight.nn.Module):
        def __init__(self, adjacency):
            super().__init__()
            self.register_buffer("adjacency", adjacency)
            self.linear = rushlight.nn.Linear(3, 2, dtype=rushlight.float64)

        def forward(self, x):
            return self.adjacency @ self.linear(x)

    square = rushlight.sparse_coo_tensor(
        [[0, 1], [1, 2]], rushlight.ones(2, dtype=rushlight.float64), (3, 3)
    )
    first, second = Layer(square), Layer(square * 0)
    x = rushlight.randn(3, 3, dtype=rushlight.float64)
    second.load_state_dict(first.state_dict())
    rushlight.testing.assert_close(second(x), first(x))
    rushlight.testing.assert_close(copy.deepcopy(first)(x), first(x))


def test_sampled_products_have_gradients():
    pattern = matrix().to_sparse_csr()
    left = rushlight.randn(2, 4, dtype=rushlight.float64, requires_grad=True)
    right = rushlight.randn(4, 3, dtype=rushlight.float64, requires_grad=True)

    def sampled(a, b):
        return rushlight.sparse.sampled_addmm(pattern, a, b).values()

    assert rushlight.autograd.gradcheck(sampled, (left, right))
    assert rushlight.autograd.gradgradcheck(sampled, (left, right))


def test_gradients_accumulate_and_hooks_see_sparse_ones():
    s = matrix(requires_grad=True)
    seen = []
    s.register_hook(lambda grad: seen.append(grad.layout))
    for _ in range(2):
        rushlight.sparse.mm(s, rushlight.ones(3, 1, dtype=rushlight.float64)).sum().backward()
    assert s.grad.to_dense().tolist() == [[0.0, 0.0, 2.0], [2.0, 0.0, 2.0]]
    assert seen == ["sparse_coo"] * 2 and s.is_leaf and s.requires_grad
    assert s.detach().requires_grad is False


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.complex128])
@pytest.mark.parametrize("width", [1, 7, 16, 33])
def test_kernels_are_their_references(dtype, width):
    generator = np.random.default_rng(width)
    rows = generator.integers(0, 50, 400)
    columns = generator.integers(0, 40, 400)
    for sorted_rows in (np.sort(rows), rows):
        starts, order = kernels.order_of(sorted_rows, 50)
        assert (order is None) == bool((np.diff(sorted_rows) >= 0).all())
        values = generator.integers(-4, 5, 400).astype(dtype)
        right = generator.integers(-4, 5, (40, width)).astype(dtype)
        left = generator.integers(-4, 5, (50, width)).astype(dtype)
        found = kernels.sparse_times_dense(starts, order, columns, values, right)
        expected = np.zeros((50, 40), values.dtype)
        np.add.at(expected, (sorted_rows, columns), values)
        np.testing.assert_array_equal(found, expected @ right)
        found = kernels.sampled_product(left, right, sorted_rows, columns)
        np.testing.assert_array_equal(found, (left @ right.T)[sorted_rows, columns])


def test_threads_do_not_change_bits():
    generator = np.random.default_rng(0)
    rows, columns = generator.integers(0, 500, (2, 20_000))
    starts, order = kernels.order_of(rows, 500)
    values = generator.standard_normal(20_000).astype(np.float32)
    right = generator.standard_normal((500, 24)).astype(np.float32)
    before, found = rushlight.get_num_threads(), []
    for threads in (1, 2, 3):
        rushlight.set_num_threads(threads)
        found.append(kernels.sparse_times_dense(starts, order, columns, values, right).tobytes())
    rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def test_indices_outside_the_size_do_not_reach_the_kernel():
    bad = rushlight.sparse_coo_tensor([[0, 9], [0, 1]], [1.0, 2.0], (2, 3))
    for call in (
        lambda: bad @ rushlight.ones(3, 2),
        lambda: bad.to_dense(),
        lambda: rushlight.ones(2, 2) @ bad,
    ):
        with pytest.raises(RuntimeError, match="size is inconsistent with indices"):
            call()


def test_invariants():
    check = rushlight.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check(), pytest.raises(RuntimeError, match="inconsistent"):
        rushlight.sparse_coo_tensor([[9]], [1.0], (2,))
    with check(), check(False):
        rushlight.sparse_coo_tensor([[9]], [1.0], (2,))
    check.enable()
    try:
        with pytest.raises(RuntimeError, match="sorted and distinct"):
            rushlight.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    finally:
        check.disable()


def test_copies_pickles_and_files(tmp_path):
    coo, csr = matrix(), matrix().to_sparse_csr()
    stream = io.BytesIO()
    rushlight.save({"coo": coo, "csr": csr}, stream)
    stream.seek(0)
    loaded = rushlight.load(stream)
    for original, copies in (
        (coo, (copy.deepcopy(coo), pickle.loads(pickle.dumps(coo)), loaded["coo"], coo.clone())),
        (csr, (copy.deepcopy(csr), pickle.loads(pickle.dumps(csr)), loaded["csr"], csr.clone())),
    ):
        for made in copies:
            assert made.layout == original.layout and made.dtype is original.dtype
            assert made.to_dense().tolist() == original.to_dense().tolist()
            assert made is not original


def test_files_are_pytorchs(tmp_path):
    torch = pytest.importorskip("torch")
    coo = matrix()
    rushlight.save(coo, tmp_path / "ours.pt")
    theirs = torch.load(tmp_path / "ours.pt")
    assert (
        theirs.layout == torch.sparse_coo and theirs.to_dense().tolist() == coo.to_dense().tolist()
    )
    torch.save(theirs, tmp_path / "theirs.pt")
    assert rushlight.load(tmp_path / "theirs.pt").to_dense().tolist() == coo.to_dense().tolist()


def test_loading_checks_indices():
    bad = rushlight.sparse_coo_tensor([[9]], [1.0], (2,))
    stream = io.BytesIO()
    rushlight.save(bad, stream)
    stream.seek(0)
    with pytest.raises(RuntimeError, match="inconsistent"):
        rushlight.load(stream)


def test_a_graph_network_learns():
    rushlight.manual_seed(0)
    rows = rushlight.randint(0, 60, (2, 200))
    adjacency = rushlight.sparse_coo_tensor(rows, rushlight.ones(200), (60, 60)).coalesce()
    x, labels = rushlight.randn(60, 8), rushlight.arange(60) % 3
    first, second = rushlight.nn.Linear(8, 32), rushlight.nn.Linear(32, 3)
    optimizer = rushlight.optim.Adam([*first.parameters(), *second.parameters()], lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        scores = adjacency @ second(rushlight.relu(adjacency @ first(x)))
        loss = rushlight.nn.functional.cross_entropy(scores, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3
