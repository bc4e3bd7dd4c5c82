"""Tensors that several processes see: what moves, what arrives, and that nothing is left behind."""

import multiprocessing as standard
import os
import signal
import sys
import time

import pytest

import rushlight
import rushlight.multiprocessing as mp
from rushlight import nn

METHODS = ("fork", "spawn", "forkserver")


@pytest.fixture(params=["path", "socket"])
def way(request, monkeypatch):
    """Both ways that memory is handed on: by a path under /proc, and over a socket."""
    if request.param == "socket":
        reductions = sys.modules["rushlight.multiprocessing.reductions"]
        monkeypatch.setattr(reductions, "_has_proc", lambda: False)


def open_files():
    return len(os.listdir("/proc/self/fd"))


def named_blocks():
    """Names of shared memory as the standard library and this package would make them."""
    return {n for n in os.listdir("/dev/shm") if n.startswith(("psm_", "rl-"))}


# ------------------------------------------------------------------------------- in one process
def test_sharing_moves_a_tensor_and_all_who_use_its_memory():
    tensor = rushlight.arange(12.0).reshape(3, 4)
    view, alias, turned = tensor[1:], tensor.data, tensor.t()
    assert not tensor.is_shared() and tensor.share_memory_() is tensor
    assert all(each.is_shared() for each in (tensor, view, alias, turned))
    assert tensor.untyped_storage().is_shared() and tensor.storage().is_shared()
    tensor[1, 2] = 50.0
    assert view[0, 2] == alias[1, 2] == turned[2, 1] == 50.0
    assert view.storage_offset() == 4 and turned.stride() == (1, 4)
    place = tensor.data_ptr()
    assert tensor.share_memory_().data_ptr() == place


def test_a_tensor_that_is_alone_is_moved_without_a_search(monkeypatch):
    sharing = sys.modules["rushlight.tensor.sharing"]
    found = []
    real = sharing._users
    monkeypatch.setattr(sharing, "_users", lambda root: found.append(1) or real(root))
    for tensor in (rushlight.ones(3), rushlight.ones(100_000), nn.Linear(300, 300).weight):
        tensor.share_memory_()
        assert tensor.is_shared() and not found
    tensor = rushlight.ones(4)
    assert tensor.view(2, 2) is not tensor.data  # both are gone again
    kept = tensor.detach()
    tensor.share_memory_()
    assert found and kept.is_shared()


def test_no_search_where_frames_are_evaluated_by_others(monkeypatch):
    """Compilers of Python that evaluate frames (PEP 523) hold a call's arguments for longer."""
    interpreter = pytest.importorskip("_testinternalcapi")
    sharing = sys.modules["rushlight.tensor.sharing"]
    monkeypatch.setattr(sharing, "_users", lambda root: pytest.fail("searched"))
    frames = []
    interpreter.set_eval_frame_record(frames)
    try:
        tensors = [rushlight.ones(3).share_memory_(), rushlight.ones(100_000).share_memory_()]
    finally:
        interpreter.set_eval_frame_default()
    assert "share" in frames and all(each.is_shared() for each in tensors)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
def test_every_layout_and_dtype_keeps_its_elements(dtype):
    kind = getattr(rushlight, dtype)
    values = (rushlight.arange(24) % 2).reshape(2, 3, 4).to(kind)
    for tensor in (
        values.clone(), values.permute(2, 0, 1), values[:, ::2], values[1, 1, 1], values[:0],
        values.permute(0, 2, 1).clone(memory_format=rushlight.preserve_format),
    ):  # fmt: skip
        expected, strides = tensor.tolist(), tensor.stride()
        tensor.share_memory_()
        assert tensor.tolist() == expected and tensor.stride() == strides


def test_gradients_flow_through_shared_parameters():
    model = nn.Linear(3, 2)
    assert model.share_memory() is model and model.weight.is_shared() and model.bias.is_shared()
    place = model.weight.data_ptr()
    model(rushlight.ones(1, 3)).sum().backward()
    rushlight.optim.SGD(model.parameters(), 0.1).step()
    assert model.weight.data_ptr() == place and model.weight.grad.tolist() == [[1.0] * 3] * 2


def test_storages():
    storage = type(rushlight.ones(1).untyped_storage())._new_shared(64)
    assert storage.is_shared() and storage.nbytes() == 64
    plain = rushlight.ones(4)
    assert not plain.untyped_storage().is_shared()
    assert plain.untyped_storage().share_memory_().is_shared() and plain.is_shared()
    with pytest.raises(NotImplementedError, match="meta has no memory"):
        rushlight.empty(2, device="meta").share_memory_()


def test_memory_and_files_go_with_the_last_tensor():
    before, names = open_files(), named_blocks()
    tensors = [rushlight.ones(1000).share_memory_() for _ in range(50)]
    assert open_files() == before + 50 and named_blocks() <= names
    part = tensors[0][10:]
    del tensors
    assert open_files() == before + 1 and part.sum() == 990
    del part
    assert open_files() == before


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'carrier_pigeon'"):
        mp.set_sharing_strategy("carrier_pigeon")


# ---------------------------------------------------------------------------- between processes
def received(queue, *processes, limit=60.0):
    """What processes put into a queue; fails where one has failed, or it takes too long."""
    end = time.monotonic() + limit
    while queue.empty():
        if time.monotonic() > end or any(process.exitcode for process in processes):
            codes = [process.exitcode for process in processes]
            for process in processes:
                process.kill()
            pytest.fail(f"nothing was sent; the exit codes of the processes are {codes}")
        time.sleep(0.001)
    return queue.get()


def answer(inbox, outbox, given):
    given.add_(1)
    whole, part, parameter = inbox.get()
    together = whole.untyped_storage() is part.untyped_storage()
    whole[0, 0] = 7
    kinds = type(parameter).__name__, parameter.requires_grad, parameter.is_leaf
    outbox.put((together, part[0, 0].item(), kinds, given * 2))
    inbox.get()


@pytest.mark.parametrize("method", METHODS)
def test_tensors_share_memory_with_a_process(method, way):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.SimpleQueue()
    given = rushlight.ones(3)
    if method == "fork":
        given.share_memory_()
    whole, parameter = rushlight.zeros(2, 3), nn.Parameter(rushlight.ones(2))
    process = context.Process(target=answer, args=(inbox, outbox, given))
    process.start()
    inbox.put((whole, whole[:, :2], parameter))
    together, seen, kinds, doubled = received(outbox, process)
    inbox.put(None)
    process.join(30)
    assert process.exitcode == 0 and together and seen == 7 and whole[0, 0] == 7
    assert kinds == ("Parameter", True, True)
    assert given.tolist() == [2.0] * 3 and doubled.tolist() == [4.0] * 3


def test_pipes_and_pools(way):
    ours, theirs = mp.Pipe()
    sent = rushlight.arange(5)
    ours.send({"a": [sent]})
    received = theirs.recv()["a"][0]
    received[0] = 9
    assert sent[0] == 9 and received.untyped_storage() is sent.untyped_storage()
    with mp.Pool(2) as pool:
        results = pool.map(double, [rushlight.full((3,), i) for i in range(4)])
    assert [each.tolist() for each in results] == [[2 * i] * 3 for i in range(4)]


def double(tensor):
    return tensor * 2


def test_what_cannot_be_sent_is_refused_as_in_torch():
    queue = mp.SimpleQueue()
    computed = rushlight.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(computed)
    queue.put(computed.detach())
    assert queue.get().tolist() == [2.0, 2.0]


def test_modules_and_empty_tensors_travel():
    queue = mp.SimpleQueue()
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    queue.put(model)
    twin = queue.get()
    assert all(p.is_shared() for p in model.parameters())
    with rushlight.no_grad():
        twin[0].weight.fill_(3)
    assert model[0].weight.tolist() == [[3.0, 3.0]] * 2
    queue.put(rushlight.empty(0, 3))
    assert queue.get().shape == (0, 3)


def test_a_sender_that_ended_is_named():
    context = standard.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=put_and_end, args=(queue,))
    process.start()
    process.join(30)
    with pytest.raises(RuntimeError, match="sender must live until its tensors have arrived"):
        queue.get()


def test_a_sender_keeps_memory_until_it_is_received_and_no_longer():
    queue = mp.SimpleQueue()
    queue.put(rushlight.ones(1))
    queue.get()
    before = open_files()
    for number in range(20):
        queue.put(rushlight.full((100,), number))  # nobody else holds it
    assert [queue.get()[99].item() for _ in range(20)] == list(range(20))
    queue.put(rushlight.ones(1))  # lets go of those that have arrived
    queue.get()
    assert open_files() <= before + 1


def test_many_processes_count_what_they_receive():
    context = mp.get_context("fork")
    queue, done = context.SimpleQueue(), context.SimpleQueue()
    tensor = rushlight.zeros(1000).share_memory_()
    processes = [context.Process(target=take, args=(queue, done, tensor)) for _ in range(3)]
    for process in processes:
        process.start()
    for _ in range(300):
        queue.put(tensor)
    for _ in processes:
        queue.put(None)
    assert sum(received(done, *processes) for _ in processes) == 300
    for process in processes:
        process.join(30)
    held = sys.modules["rushlight.multiprocessing.reductions"]._held
    queue.put(rushlight.ones(1))
    assert len(held) == 1
    queue.get()


def take(queue, done, tensor):
    count = 0
    while (found := queue.get()) is not None:
        assert found.data_ptr() == tensor.data_ptr()
        count += 1
    done.put(count)


def put_and_end(queue):
    queue.put(rushlight.ones(10))


# -------------------------------------------------------------------------------------- crashes
def hold(tensor, ready):
    mine = rushlight.ones(1000).share_memory_()
    tensor.add_(mine[0])
    ready.send_bytes(b"1")
    signal.pause()


def test_killed_a_hundred_times_nothing_stays():
    names, files = named_blocks(), None
    context = mp.get_context("fork")
    tensor = rushlight.zeros(1000).share_memory_()
    for _ in range(100):
        ours, theirs = context.Pipe()
        process = context.Process(target=hold, args=(tensor, theirs))
        process.start()
        assert ours.recv_bytes() == b"1"
        os.kill(process.pid, signal.SIGKILL)
        process.join(30)
        assert process.exitcode == -signal.SIGKILL
        process.close()
        ours.close()
        theirs.close()
        files = files or open_files()
    assert tensor[0] == 100 and named_blocks() <= names and open_files() <= files


def train(model, seed):
    rushlight.manual_seed(seed)
    rushlight.set_num_threads(1)
    optimizer = rushlight.optim.SGD(model.parameters(), 0.05)
    truth = rushlight.tensor([[1.0], [-2.0], [3.0]])
    for _ in range(200):
        inputs = rushlight.randn(16, 3)
        optimizer.zero_grad()
        ((model(inputs) - inputs @ truth) ** 2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_hogwild_converges(method):
    rushlight.manual_seed(0)
    model = nn.Linear(3, 1)
    model.share_memory()
    context = mp.get_context(method)
    processes = [context.Process(target=train, args=(model, seed)) for seed in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    expected = rushlight.tensor([[1.0, -2.0, 3.0]])
    assert rushlight.allclose(model.weight, expected, atol=1e-2)
    assert abs(model.bias.item()) < 1e-2
