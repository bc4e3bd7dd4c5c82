"""The profiler: what it sees, how it nests, and that nothing of it stays behind."""

import gzip
import json
import threading
import time
from collections import Counter

import pytest

import rushlight
from rushlight import nn, profiler
from rushlight.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
from rushlight.tensor.dispatch import STATE, stack


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    assert not stack.interpreters and STATE.modes == 0
    from rushlight.autograd import observer

    assert observer.around_node is None


def model_and_input():
    rushlight.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 4))
    return model, rushlight.randn(5, 1, 8, 8)


def names(found):
    return Counter(event.name for event in found.events())


def test_ops_forward_and_backward_are_seen_with_shapes_and_bytes():
    model, x = model_and_input()
    optimizer = rushlight.optim.SGD(model.parameters(), lr=0.1)
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as found:
        with record_function("forward pass"):
            loss = model(x).sum()
        loss.backward()
        optimizer.step()
    seen = names(found)
    for name in ("aten::conv2d", "aten::relu", "aten::linear", "AddmmBackward0", "ReluBackward0",
                 "forward pass", "Optimizer.step#SGD.step"):  # fmt: skip
        assert seen[name] == 1, (name, seen)
    linear = next(e for e in found.events() if e.name == "aten::linear")
    assert linear.input_shapes == [[5, 72], [4, 72], [4]]
    assert linear.self_cpu_memory_usage == 5 * 4 * 4
    assert linear.flops == 2 * 5 * 72 * 4
    assert linear.cpu_parent.name == "forward pass"
    backward = next(e for e in found.events() if e.name == "AddmmBackward0")
    assert backward.sequence_nr == linear.sequence_nr and backward.cpu_parent is None
    total = sum(e.flops for e in found.events())
    assert total == 2 * 5 * 72 * 4 + 2 * (5 * 2 * 36) * 9, "no product is counted twice"


def test_results_are_the_same_with_and_without():
    grads = []
    for on in (False, True):
        model, x = model_and_input()
        if on:
            with profile():
                model(x).square().sum().backward()
        else:
            model(x).square().sum().backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    for a, b in zip(*grads, strict=True):
        assert rushlight.equal(a, b)


def test_times_add_up():
    with profile() as found:
        with record_function("outer"):
            time.sleep(0.01)
            with record_function("inner"):
                time.sleep(0.02)
    outer, inner = (next(e for e in found.events() if e.name == n) for n in ("outer", "inner"))
    assert inner.cpu_parent is outer and outer.cpu_children == [inner]
    assert outer.cpu_time_total >= 30_000 and inner.cpu_time_total >= 20_000
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner.cpu_time_total)
    assert found.events().self_cpu_time_total == pytest.approx(outer.cpu_time_total)
    assert found.events().total_average().count == 2


def test_averages_group_by_shape_and_by_callers():
    def here():
        return rushlight.ones(3) + 1

    def there():
        return rushlight.ones(4) + 1

    with profile(record_shapes=True, with_stack=True) as found:
        here(), here(), there()
    plain = {e.key: e.count for e in found.key_averages()}
    assert plain["aten::add"] == 3
    shapes = found.key_averages(group_by_input_shape=True)
    assert sorted(e.count for e in shapes if e.key == "aten::add") == [1, 2]
    callers = [e for e in found.key_averages(group_by_stack_n=1) if e.key == "aten::add"]
    assert sorted((e.stack[0].rsplit(": ")[1], e.count) for e in callers) == [
        ("here", 2), ("there", 1),
    ]  # fmt: skip


def test_the_table():
    with profile(profile_memory=True, record_shapes=True) as found:
        for _ in range(3):
            rushlight.ones(1000).exp()
        rushlight.ones(10).sqrt()
    text = found.key_averages().table(sort_by="count", row_limit=1, header="mine")
    lines = text.splitlines()
    assert lines[1] == "mine" and lines[0] == "=" * len(lines[0])
    assert lines[3].split()[0] == "Name" and "Self CPU Mem" in lines[3]
    rows = [line for line in lines if line.startswith("aten::")]
    assert len(rows) == 1 and rows[0].split()[-1] == "3" and "11.72 KB" in rows[0]
    assert lines[-1].startswith("Self CPU time total: ")
    assert "Input Shapes" in found.key_averages(group_by_input_shape=True).table()
    assert "ms" not in found.key_averages().table(time_unit="us").replace("ms]", "")
    with pytest.raises(ValueError, match="'sort_by' to be one of .* got 'speed'"):
        found.key_averages().table(sort_by="speed")


def test_the_chrome_trace_nests(tmp_path):
    model, x = model_and_input()
    with profile(record_shapes=True, with_stack=True) as found:
        with record_function("step"):
            model(x).sum().backward()
    found.add_metadata("note", "mine")
    found.add_metadata_json("settings", '{"a": 1}')
    path = tmp_path / "trace.json"
    found.export_chrome_trace(str(path))
    trace = json.loads(path.read_text())
    assert trace["schemaVersion"] == 1 and trace["note"] == "mine"
    assert trace["settings"] == {"a": 1}
    complete = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert len(complete) == len(found.events()) >= 8
    assert {e["pid"] for e in complete} == {complete[0]["pid"]}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 and e["cat"] and e["name"] for e in complete)
    step = next(e for e in complete if e["name"] == "step")
    assert step["cat"] == "user_annotation"
    for event in complete:  # every other lies inside of the step, and any two nest or are apart
        assert step["ts"] <= event["ts"] and event["ts"] + event["dur"] <= step["ts"] + step["dur"]
        for other in complete:
            a, b = sorted((event, other), key=lambda e: (e["ts"], -e["dur"]))
            apart = a["ts"] + a["dur"] <= b["ts"] + 0.002
            assert apart or b["ts"] + b["dur"] <= a["ts"] + a["dur"] + 0.002
    arrows = Counter(e["ph"] for e in trace["traceEvents"] if e.get("cat") == "fwdbwd")
    assert arrows["s"] == arrows["f"] >= 3
    thread = next(e for e in trace["traceEvents"] if e["name"] == "thread_name")
    assert thread["tid"] == step["tid"] and "main" in thread["args"]["name"]
    linear = next(e for e in complete if e["name"] == "aten::linear")
    assert linear["args"]["Input Dims"] == [[5, 72], [4, 72], [4]]
    assert "test_the_chrome_trace_nests" in linear["args"]["Call stack"]


def test_stacks_are_written_for_flame_graphs(tmp_path):
    with profile(with_stack=True) as found:
        rushlight.randn(300, 300) @ rushlight.randn(300, 300)
    path = tmp_path / "stacks.txt"
    found.export_stacks(str(path), "self_cpu_time_total")
    lines = path.read_text().splitlines()
    assert any("test_stacks_are_written" in line and "aten::mm " in line for line in lines)
    assert all(line.rsplit(" ", 1)[1].isdigit() for line in lines)
    with pytest.raises(ValueError, match="metric should be one of"):
        found.export_stacks(str(path), "count")


def test_a_schedule_and_its_handler(tmp_path):
    saved = []

    def ready(found):
        saved.append((found.step_num, names(found)))
        profiler.tensorboard_trace_handler(str(tmp_path), "worker", use_gzip=True)(found)

    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=ready) as found:
        for number in range(12):
            for _ in range(number):
                rushlight.ones(2).exp()
            found.step()
    assert [step for step, _ in saved] == [5, 9]
    assert saved[0][1]["aten::exp"] == 3 + 4 and saved[1][1]["aten::exp"] == 7 + 8
    assert saved[0][1]["ProfilerStep#3"] == 1 and saved[0][1]["ProfilerStep#4"] == 1
    files = sorted(tmp_path.iterdir())
    assert len(files) == 2 and files[0].name.startswith("worker.")
    assert files[0].name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(files[0].read_bytes()))["traceEvents"]


def test_schedules_are_pytorchs():
    torch = pytest.importorskip("torch")
    for options in (
        {"wait": 1, "warmup": 1, "active": 2}, {"wait": 0, "warmup": 2, "active": 1, "repeat": 2},
        {"wait": 2, "warmup": 1, "active": 3, "repeat": 1, "skip_first": 3},
    ):  # fmt: skip
        ours, theirs = schedule(**options), torch.profiler.schedule(**options)
        assert [ours(s).name for s in range(30)] == [theirs(s).name for s in range(30)]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(AssertionError, match="Step must be non-negative"):
        schedule(wait=1, warmup=1, active=1)(-1)


def test_start_stop_and_errors():
    found = profile(activities=[ProfilerActivity.CPU])
    with pytest.raises(AssertionError, match="Profiler must be initialized"):
        found.events()
    found.start()
    rushlight.ones(2).exp()
    with pytest.raises(RuntimeError, match="a profiler is running already"):
        profile().start()
    with pytest.raises(AssertionError, match="still running"):
        found.events()
    found.toggle_collection_dynamic(False, [ProfilerActivity.CPU])
    rushlight.ones(2).sin()
    found.toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    found.stop()
    assert names(found)["aten::exp"] == 1 and names(found)["aten::sin"] == 0
    with pytest.warns(UserWarning, match="CUDA is not available"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.raises(NotImplementedError, match="with_modules"):
        profile(with_modules=True)
    with pytest.raises(TypeError, match="'name' to be a str, got int"):
        record_function(3)
    assert found.current_action is ProfilerAction.RECORD


def test_under_autocast_what_runs_is_seen():
    linear = nn.Linear(4, 4)
    with rushlight.autocast("cpu"), profile() as found:
        linear(rushlight.ones(2, 4))
    assert names(found)["aten::linear"] == 1
    found = profile()
    found.start()
    with rushlight.autocast("cpu"):
        linear(rushlight.ones(2, 4))
        found.stop()  # in another order than they were entered
    assert names(found)["aten::linear"] == 1


def test_an_error_inside_leaves_nothing():
    with pytest.raises(RuntimeError):
        with profile():
            rushlight.ones(2, 3) @ rushlight.ones(2, 3)
    assert rushlight.ones(2).exp().shape == (2,)


def test_ranges_decorate_and_other_threads_have_their_own():
    @record_function("decorated")
    def work():
        return 3

    assert work() == 3
    with profile() as found:
        assert work() == 3
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    events = [e for e in found.events() if e.name == "decorated"]
    assert len(events) == 2 and len({e.thread for e in events}) == 2


def test_the_former_profiler():
    with rushlight.autograd.profiler.profile(record_shapes=True) as found:
        with rushlight.autograd.profiler.record_function("mine"):
            rushlight.ones(3).exp()
    assert "aten::exp" in {e.name for e in found.function_events}
    assert "aten::exp" in str(found) and "mine" in found.table(sort_by="cpu_time_total")
    assert found.total_average().count == len(found.function_events)
    with rushlight.autograd.profiler.profile(enabled=False) as off:
        assert off is None
    with pytest.raises(RuntimeError, match="NVTX ranges need a CUDA device"):
        with rushlight.autograd.profiler.emit_nvtx():
            pass
    with rushlight.autograd.profiler.emit_itt(enabled=False) as nothing:
        assert nothing is not None


def test_second_order_gradients_under_a_profile():
    x = rushlight.tensor(2.0, requires_grad=True)
    with profile() as found:
        (first,) = rushlight.autograd.grad(x**3, x, create_graph=True)
        (second,) = rushlight.autograd.grad(first, x)
    assert second.item() == 12.0
    assert names(found)["PowBackward0"] >= 1
