"""Tensors on CUDA devices: made, moved, printed, pickled, shared, differentiated."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
from kernel_cases import two_devices

import rushlight
from rushlight import nn
from rushlight.machine.cuda import runtime


@pytest.fixture
def x():
    return rushlight.arange(6.0, device="cuda").reshape(2, 3)


@pytest.fixture
def waited():
    """How often anything has waited for the device since the test began."""
    found = runtime.current().counters
    before = found.snapshot()
    return lambda: found.since(before)["synchronizations"]


# ------------------------------------------------------------------------------------------ places
def test_tensors_say_where_they_are(x):
    assert x.device == rushlight.device("cuda", 0)
    assert x.is_cuda and not x.is_cpu
    assert (x.get_device(), rushlight.ones(1).get_device()) == (0, -1)
    assert x.type() == "rushlight.cuda.FloatTensor"
    assert isinstance(x, rushlight.cuda.FloatTensor)
    assert rushlight.cuda.FloatTensor(2).is_cuda
    assert x.untyped_storage().device == x.device
    assert x[1].storage_offset() == 3
    assert x.t().data_ptr() == x.data_ptr()


@two_devices
def test_they_move_there_and_back(x, waited):
    host = rushlight.arange(6.0).reshape(2, 3)
    for moved in (host.to("cuda"), host.cuda(), host.to(x), host.to(rushlight.device("cuda:0"))):
        assert moved.device == x.device
    assert waited() == 0
    assert rushlight.equal(x.cpu(), host)
    assert waited() == 1
    assert x.to("cuda") is x
    assert x.to("cuda:1").device.index == 1
    assert rushlight.equal(x.to("cuda:1").to(x).cpu(), host)
    assert x.to("cuda", rushlight.int64).dtype is rushlight.int64
    assert x.to("meta").is_meta


def test_what_is_not_there_is_refused():
    count = rushlight.cuda.device_count()
    with pytest.raises(RuntimeError, match=f"'cuda:{count}' does not exist: there are {count}"):
        rushlight.ones(1, device=f"cuda:{count}")
    with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
        rushlight.ones(1, device="cuda").numpy()
    with pytest.raises(NotImplementedError, match="no data"):
        rushlight.ones(1, device="meta").to("cuda")


@two_devices
def test_devices_that_differ_are_an_error_that_names_both_arguments(x):
    with pytest.raises(RuntimeError, match="'input' is on cuda:0, argument 'other' on cpu"):
        x + rushlight.ones(2, 3)
    with pytest.raises(RuntimeError, match="'input' is on cuda:0, argument 'mat2' on cuda:1"):
        x @ rushlight.ones(3, 2, device="cuda:1")
    with pytest.raises(RuntimeError, match="'tensors'"):
        rushlight.cat([x, rushlight.ones(1, 3)])


def test_a_number_of_the_cpu_may_join(x, waited):
    found = x * rushlight.tensor(2.0) + rushlight.tensor(1)
    assert waited() == 0
    assert rushlight.equal(found.cpu(), rushlight.arange(6.0).reshape(2, 3) * 2 + 1)
    assert rushlight.where(x > 2, x, rushlight.tensor(0.0)).is_cuda


MAKERS = {
    "zeros": lambda **o: rushlight.zeros(2, 3, **o),
    "ones": lambda **o: rushlight.ones(2, 3, **o),
    "full": lambda **o: rushlight.full((2, 3), 2.5, **o),
    "tensor": lambda **o: rushlight.tensor([[1.0, 2.0]], **o),
    "eye": lambda **o: rushlight.eye(3, **o),
    "arange": lambda **o: rushlight.arange(1, 7, 2, **o),
    "arange of floats": lambda **o: rushlight.arange(0, 1, 0.25, **o),
    "linspace": lambda **o: rushlight.linspace(0, 1, 5, **o),
    "zeros_like": lambda **o: rushlight.zeros_like(rushlight.ones(2, 3), **o),
    "full_like": lambda **o: rushlight.full_like(rushlight.ones(2), 3.0, **o),
    "new_ones": lambda **o: rushlight.ones(1).new_ones(2, 2, **o),
    "as_tensor": lambda **o: rushlight.as_tensor(np.arange(3), **o),
    "tril_indices": lambda **o: rushlight.tril_indices(3, 3, **o),
    "empty in a format": lambda **o: rushlight.empty(
        1, 2, 3, 3, memory_format=rushlight.channels_last, **o
    ).fill_(1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_makers_take_a_device(name):
    found, expected = MAKERS[name](device="cuda"), MAKERS[name]()
    assert found.is_cuda
    assert found.dtype is expected.dtype
    assert found.stride() == expected.stride()
    assert rushlight.equal(found.cpu(), expected)


@two_devices
def test_the_default_device():
    with rushlight.device("cuda:1"):
        assert rushlight.ones(2).device.index == 1
        assert nn.Linear(2, 2).weight.device.index == 1
    rushlight.set_default_device("cuda")
    try:
        assert rushlight.zeros(2).is_cuda
        assert rushlight.get_default_device().type == "cuda"
    finally:
        rushlight.set_default_device(None)
    assert rushlight.zeros(2).is_cpu
    with rushlight.cuda.device(1):
        assert rushlight.ones(1, device="cuda").device.index == 1


# ------------------------------------------------------------------------------- words and pictures
def test_printing(x):
    assert repr(x) == ("tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='cuda:0')")
    assert f"{x.sum():.1f}" == "15.0"
    assert repr(x[0, 0].requires_grad_()) == "tensor(0., device='cuda:0', requires_grad=True)"


def test_numbers_and_lists(x):
    assert x[1, 2].item() == 5.0
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert len(x) == 2 and bool(x[1, 0]) and int(x[1, 1]) == 4
    assert rushlight.tensor([1.5], device="cuda", dtype=rushlight.bfloat16).item() == 1.5
    with pytest.raises(RuntimeError, match="6 elements"):
        x.item()


def test_pickles_and_copies(x):
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert made.device == x.device
        assert made.data_ptr() != x.data_ptr()
        assert rushlight.equal(made.cpu(), x.cpu())
    model = copy.deepcopy(nn.Linear(3, 2).cuda())
    assert model.weight.is_cuda and model.weight.requires_grad


@two_devices
def test_checkpoints_know_the_device(x):
    file = io.BytesIO()
    model = nn.Linear(3, 2).cuda()
    rushlight.save({"x": x, "part": x[1], "model": model.state_dict()}, file)
    file.seek(0)
    found = rushlight.load(file)
    assert found["x"].device == x.device
    assert found["part"].data_ptr() == found["x"][1].data_ptr(), "memory is shared again"
    assert rushlight.equal(found["model"]["weight"].cpu(), model.weight.detach().cpu())
    for place, kind in (("cpu", "cpu"), ({"cuda:0": "cuda:1"}, "cuda"), ("meta", "meta")):
        file.seek(0)
        moved = rushlight.load(file, map_location=place)
        assert moved["x"].device.type == kind
    assert rushlight.load(io.BytesIO(file.getvalue()), map_location="cpu")["x"].sum() == 15


def test_other_libraries_see_the_memory(x):
    assert x.__dlpack_device__() == (2, 0)
    shared = rushlight.from_dlpack(x)
    shared += 1
    assert x[0, 0].item() == 1.0
    assert rushlight.from_dlpack(x.t().__dlpack__()).stride() == (1, 3)
    found = x[:, 1:].__cuda_array_interface__
    assert (found["shape"], found["strides"], found["typestr"]) == ((2, 2), (12, 4), "<f4")
    assert found["data"][0] == x.data_ptr() + 4

    class Foreign:
        __cuda_array_interface__ = found

    assert rushlight.as_tensor(Foreign(), device="cuda").data_ptr() == x.data_ptr() + 4
    with pytest.raises(AttributeError, match="non-CUDA"):
        rushlight.ones(1).__cuda_array_interface__  # noqa: B018
    low = x.bfloat16()
    assert rushlight.from_dlpack(low.__dlpack__()).dtype is rushlight.bfloat16


def test_pinned_memory():
    host = rushlight.arange(4.0)
    pinned = host.pin_memory()
    assert pinned.is_pinned() and not host.is_pinned()
    assert rushlight.equal(pinned.to("cuda", non_blocking=True).cpu(), host)
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        host.cuda().pin_memory()
    data = rushlight.utils.data.TensorDataset(rushlight.arange(8.0).reshape(4, 2))
    loader = rushlight.utils.data.DataLoader(data, batch_size=2, pin_memory=True)
    assert all(batch.is_pinned() for (batch,) in loader)


def test_memory_of_a_device_is_shared_already(x):
    assert x.share_memory_() is x
    assert x.is_cuda and x.is_shared() and x.untyped_storage().is_shared()


def test_storages_of_devices(x):
    storage = x.untyped_storage()
    assert (storage.nbytes(), len(storage), storage.tolist()[4:8]) == (24, 24, [0, 0, 128, 63])
    storage.fill_(0)
    assert x.sum().item() == 0.0
    assert storage.cpu().device.type == "cpu"
    assert storage.clone().device == x.device


# ------------------------------------------------------------------------------- writing, autograd
def test_writes_reach_views_and_count_versions(x):
    row = x[0]
    version = x._version
    row.zero_()
    x[:, 2] = 9
    x.mul_(2).add_(1)
    x[x > 18] = -1
    x.copy_(x.flip(1))
    assert x._version > version
    expected = rushlight.tensor([[-1.0, 1.0, 1.0], [-1.0, 9.0, 7.0]])
    assert rushlight.equal(x.cpu(), expected)
    host = rushlight.empty(2, 3)
    host.copy_(x)
    assert rushlight.equal(host, expected)


def test_views_written_to_in_a_graph():
    leaf = rushlight.zeros(3, 3, device="cuda", requires_grad=True)
    found = leaf * 1
    found[0] = 5
    found[:, 1] += 2
    found.sum().backward()
    assert found.tolist() == [[5.0, 7.0, 5.0], [0.0, 2.0, 0.0], [0.0, 2.0, 0.0]]
    assert leaf.grad.tolist() == [[0.0] * 3, [1.0] * 3, [1.0] * 3]


@two_devices
def test_gradients_cross_devices():
    host = rushlight.ones(3, requires_grad=True)
    (host.cuda() * 3).to("cuda:1").sum().cpu().backward()
    assert host.grad.is_cpu
    assert host.grad.tolist() == [3.0, 3.0, 3.0]


def test_gradients_accumulate_and_hooks_see_them():
    leaf, seen = rushlight.ones(3, device="cuda", requires_grad=True), []
    leaf.register_hook(lambda grad: seen.append(grad.device) or grad * 2)
    for _ in range(2):
        (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [12.0] * 3
    assert seen == [leaf.device] * 2


def test_second_derivatives():
    leaf = rushlight.randn(4, device="cuda", dtype=rushlight.float64, requires_grad=True)
    (first,) = rushlight.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
    (second,) = rushlight.autograd.grad(first.sum(), leaf)
    assert rushlight.allclose(second, 6 * leaf)


def test_functions_of_the_user():
    class Square(rushlight.autograd.Function):
        @staticmethod
        def forward(context, value):
            context.save_for_backward(value)
            return value * value, value + 1

        @staticmethod
        def backward(context, grad, other):
            (value,) = context.saved_tensors
            return 2 * value * grad + other

    leaf = rushlight.ones(3, device="cuda", requires_grad=True)
    Square.apply(leaf)[0].sum().backward()
    assert leaf.grad.tolist() == [2.0] * 3


def test_memory_formats_are_kept():
    image = rushlight.randn(2, 3, 4, 4).to(memory_format=rushlight.channels_last)
    there = image.cuda()
    assert there.is_contiguous(memory_format=rushlight.channels_last)
    assert (there + 1).stride() == there.cpu().stride() == image.stride()
    assert there.contiguous().is_contiguous()


def test_function_transforms_run_there(x):
    assert rushlight.func.vmap(lambda row: (row * 2).sum())(x).tolist() == [6.0, 24.0]
    gradient = rushlight.func.grad(lambda v: (v * v).sum())(x)
    assert rushlight.equal(gradient.cpu(), 2 * x.cpu())


# ------------------------------------------------------------------------------- mixed precision
def test_autocast_lowers_products_and_keeps_the_rest():
    layer = nn.Linear(3, 4).cuda()
    value = rushlight.randn(2, 3, device="cuda")
    for low in (rushlight.float16, rushlight.bfloat16):
        with rushlight.autocast("cuda", dtype=low):
            product = layer(value)
            weights = product.softmax(-1)
            total = product.sum()
        assert product.dtype is low
        assert weights.dtype is total.dtype is rushlight.float32
        product.float().sum().backward()
        assert layer.weight.grad.dtype is rushlight.float32
    with rushlight.autocast("cuda"):
        assert (value @ value.t()).dtype is rushlight.float16
        assert (value.cpu() @ value.cpu().t()).dtype is rushlight.float32


def test_loss_scaling_never_waits(waited):
    layer = nn.Linear(3, 4).cuda()
    optimizer = rushlight.optim.SGD(layer.parameters(), lr=0.1)
    scaler = rushlight.amp.GradScaler("cuda", init_scale=8.0, growth_interval=2)
    value, before = rushlight.ones(2, 3, device="cuda"), layer.weight.detach().clone()
    for step in range(3):
        optimizer.zero_grad()
        loss = layer(value).square().mean()
        scaler.scale(loss * float("inf") if step == 2 else loss).backward()
        scaler.unscale_(optimizer)
        kept = layer.weight.detach().clone()
        scaler.step(optimizer)
        scaler.update()
    assert waited() == 0
    assert scaler.get_scale() == 8.0, "doubled after two good steps, halved after a bad one"
    assert rushlight.equal(layer.weight.detach(), kept), "the bad step was skipped"
    assert not rushlight.equal(kept, before)
    again = rushlight.amp.GradScaler("cuda")
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == 8.0


# ------------------------------------------------------------------------------- random numbers
def test_generators_of_devices():
    generator = rushlight.Generator(device="cuda").manual_seed(5)
    first = rushlight.randn(7, device="cuda", generator=generator)
    state = generator.get_state()
    second = rushlight.rand(3, device="cuda", generator=generator)
    generator.set_state(state)
    assert rushlight.equal(rushlight.rand(3, device="cuda", generator=generator), second)
    generator.manual_seed(5)
    assert rushlight.equal(rushlight.randn(7, device="cuda", generator=generator), first)
    assert generator.get_offset() % 4 == 0
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
        rushlight.rand(3, generator=generator)


def test_seeds_reach_the_device():
    rushlight.manual_seed(3)
    first = rushlight.rand(4, device="cuda")
    state = rushlight.cuda.get_rng_state()
    second = rushlight.rand(4, device="cuda")
    rushlight.cuda.set_rng_state(state)
    assert rushlight.equal(rushlight.rand(4, device="cuda"), second)
    rushlight.cuda.manual_seed_all(3)
    assert rushlight.equal(rushlight.rand(4, device="cuda"), first)
    assert rushlight.cuda.initial_seed() == 3
    with rushlight.random.fork_rng(devices=[0]):
        rushlight.rand(9, device="cuda")
    assert rushlight.equal(rushlight.rand(4, device="cuda"), second)


def test_distributions_of_samples(waited):
    rushlight.manual_seed(0)
    n = 20000
    drawn = {
        "uniform": (rushlight.rand(n, device="cuda"), 0.5, (1 / 12) ** 0.5),
        "normal": (rushlight.randn(n, device="cuda"), 0.0, 1.0),
        "bernoulli": (rushlight.empty(n, device="cuda").bernoulli_(0.3), 0.3, 0.21**0.5),
        "exponential": (rushlight.empty(n, device="cuda").exponential_(2.0), 0.5, 0.5),
        "integers": (rushlight.randint(0, 5, (n,), device="cuda").double(), 2.0, 2**0.5),
        "float64": (rushlight.randn(n, device="cuda", dtype=rushlight.float64), 0.0, 1.0),
    }
    assert waited() == 0
    for name, (values, mean, deviation) in drawn.items():
        assert values.mean().item() == pytest.approx(mean, abs=0.03), name
        assert values.std().item() == pytest.approx(deviation, abs=0.03), name
    assert sorted(rushlight.randperm(50, device="cuda").tolist()) == list(range(50))
    kept = nn.functional.dropout(rushlight.ones(n, device="cuda"), 0.5)
    assert set(kept.unique().tolist()) == {0.0, 2.0}
    leaf = rushlight.ones(64, device="cuda", requires_grad=True)
    out = nn.functional.dropout(leaf, 0.75)
    out.sum().backward()
    assert rushlight.equal(leaf.grad, out.detach()), "what was kept is scaled, and so its gradient"
    rushlight.manual_seed(1)
    first = nn.functional.dropout(leaf, 0.5)
    rushlight.manual_seed(1)
    assert rushlight.equal(nn.functional.dropout(leaf, 0.5), first)
    assert kept.mean().item() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("pieces", ["unbind", "split", "chunk"])
def test_gradients_of_one_of_several_pieces(pieces):
    """The other pieces' are zeros there, not on the CPU."""
    leaf = rushlight.ones(4, 3, device="cuda", requires_grad=True)
    found = getattr(leaf, pieces)(*((2,) if pieces != "unbind" else ()))
    found[1].sum().backward()
    assert leaf.grad.is_cuda
    first = 1 if pieces == "unbind" else 2
    assert leaf.grad[:first].sum().item() == 0.0 and leaf.grad[first].tolist() == [1.0] * 3
