"""What captured graphs refer to stays as long as they do."""

from __future__ import annotations

import gc

import pytest
from kernel_cases import ON_DEVICE

import rushlight
from rushlight.compiler.cuda import array_code


def captured(step):
    """A graph of a step after one that was run, and what the captured one returned."""
    side = rushlight.cuda.Stream()
    with rushlight.cuda.stream(side):
        step()
    rushlight.cuda.current_stream().wait_stream(side)
    graph = rushlight.cuda.CUDAGraph()
    with rushlight.cuda.graph(graph):
        found = step()
    return graph, found


def test_tables_of_indices_outlive_the_cache_that_they_came_from():
    x = rushlight.arange(1000.0, device="cuda")
    order = [(i * 7) % 1000 for i in range(1000)]
    graph, found = captured(lambda: x[order] * 2)
    array_code._tables.clear()
    gc.collect()
    others = [rushlight.full((1000,), 1 << 40, device="cuda") for _ in range(50)]
    x.add_(1)
    graph.replay()
    assert found.tolist() == [2.0 * (i + 1) for i in order] and len(others) == 50


@pytest.mark.skipif(not ON_DEVICE, reason="asks for all of a device's memory")
def test_a_graph_that_was_captured_when_memory_was_short_has_its_memory():
    free, _ = rushlight.cuda.mem_get_info()
    part = 256 << 20

    def step(x):
        for number in range(12):  # sizes differ: freed memory does not fit the next
            y = rushlight.zeros(part // 4 + 4096 * number, device="cuda") + x
            x = y[:1] + 1
        return x

    start = rushlight.zeros(1, device="cuda")
    hog = [rushlight.empty(free - 8 * part, dtype=rushlight.uint8, device="cuda")]
    try:
        graph, found = captured(lambda: step(start))
    except rushlight.OutOfMemoryError:
        hog.clear()
        graph, found = captured(lambda: step(start))
    finally:
        hog.clear()
    gc.collect()
    rushlight.cuda.empty_cache()
    for number in range(3):
        start.fill_(float(number))
        graph.replay()
        assert found.item() == number + 12
