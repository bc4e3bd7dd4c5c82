"""Stores, compared with PyTorch's: what they keep, wait for and refuse."""

from __future__ import annotations

import datetime
import pickle
import threading
import time

import pytest

from rushlight import distributed as ours

SHORT = datetime.timedelta(milliseconds=50)


def _made(dist, kind, folder):
    if kind == "tcp":
        return dist.TCPStore("127.0.0.1", 0, 1, True, datetime.timedelta(seconds=30))
    if kind == "file":
        return dist.FileStore(str(folder / f"{dist.__name__}.store"), 1)
    if kind == "prefix":
        return dist.PrefixStore("before", dist.HashStore())
    return dist.HashStore()


def _trace(function):
    try:
        return function()
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__ if kind.__name__ != "DistStoreError"]


def _history(dist, store):
    """Everything that a store answers to one series of calls."""
    store.set("a", "1")
    steps = [store.get("a"), store.add("n", 2), store.add("n", 3), store.get("n")]
    steps += [store.check(["a", "n"]), store.check(["a", "none"]), store.wait(["a"])]
    steps += [store.compare_set("k", "", "v1"), store.compare_set("k", "x", "v2")]
    steps += [store.compare_set("k", "v1", "v2"), store.get("k"), store.compare_set("no", "x", "y")]
    steps += [store.delete_key("a"), store.check(["a"])]
    store.append("list", "1")
    store.append("list", b"2")
    store.multi_set(["m1", "m2"], ["1", "two"])
    steps += [store.get("list"), store.multi_get(["m1", "m2"])]
    keys = {key for key in store.list_keys() if "count" not in key}
    steps += [sorted(keys), store.has_extended_api()]
    store.set_timeout(SHORT)
    steps += [store.timeout, _trace(lambda: store.get("none") and None) != b""]
    return steps


@pytest.mark.parametrize("kind", ["tcp", "hash", "file", "prefix"])
def test_stores_answer_as_pytorchs(kind, tmp_path):
    theirs = pytest.importorskip("torch.distributed")
    assert _history(ours, _made(ours, kind, tmp_path)) == _history(
        theirs, _made(theirs, kind, tmp_path)
    )


@pytest.mark.parametrize("kind", ["tcp", "hash", "prefix"])
def test_queues_answer_as_pytorchs(kind, tmp_path):
    theirs = pytest.importorskip("torch.distributed")
    found = []
    for dist in (ours, theirs):
        store = _made(dist, kind, tmp_path)
        store.queue_push("q", "1")
        store.queue_push("q", "2")
        steps = [store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q", False)]
        found.append([*steps, _trace(lambda: store.queue_pop("q", False))])  # noqa: B023
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["tcp", "hash", "file", "prefix"])
def test_what_never_comes_is_an_error_that_names_the_key(kind, tmp_path):
    store = _made(ours, kind, tmp_path)
    store.set_timeout(SHORT)
    with pytest.raises(ours.DistStoreError, match="50ms.*absent"):
        store.get("absent")
    with pytest.raises(ours.DistStoreError, match="absent"):
        store.wait(["absent"], SHORT)


@pytest.mark.parametrize("kind", ["tcp", "hash", "file"])
def test_waiting_ends_when_another_thread_sets_the_key(kind, tmp_path):
    store = _made(ours, kind, tmp_path)
    other = store.clone()
    thread = threading.Thread(target=lambda: (time.sleep(0.05), other.set("late", b"\x00\xff")))
    thread.start()
    assert store.get("late") == b"\x00\xff"
    thread.join()


def test_clients_of_a_tcp_store_see_one_set_of_keys():
    master = ours.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
    client = ours.TCPStore("127.0.0.1", master.port, 2, False)
    client.set("key", "from the client")
    assert master.get("key") == b"from the client"
    assert master.add("count", 1) + client.add("count", 1) == 3
    assert pickle.loads(pickle.dumps(client)).get("key") == b"from the client"
    with pytest.raises(TypeError, match="str or bytes"):
        client.set("key", 3)


def test_a_master_waits_for_its_workers():
    with pytest.raises(ours.DistStoreError, match="1/2 clients joined"):
        ours.TCPStore("127.0.0.1", 0, 2, True, datetime.timedelta(milliseconds=100))


def test_nobody_at_the_address_is_an_error_that_says_what_to_look_at():
    with pytest.raises(ours.DistNetworkError, match="MASTER_ADDR and MASTER_PORT"):
        ours.TCPStore("127.0.0.1", 1, 2, False, datetime.timedelta(milliseconds=50))


def test_a_port_in_use_is_an_error_that_says_so():
    first = ours.TCPStore("127.0.0.1", 0, 1, True)
    with pytest.raises(ours.DistNetworkError, match="another program uses it"):
        ours.TCPStore("127.0.0.1", first.port, 1, True)


def test_a_barrier_returns_when_all_have_come():
    store = ours.HashStore()
    threads = [threading.Thread(target=store.barrier, args=("b", 3)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_the_last_user_of_a_file_store_removes_it(tmp_path):
    path = tmp_path / "store"
    stores = [ours.FileStore(path, 2) for _ in range(2)]
    stores[0].close()
    assert path.exists()
    stores[1].close()
    assert not path.exists()
