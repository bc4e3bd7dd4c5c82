"""Profiles as traces in the format of ``chrome://tracing``, Perfetto and TensorBoard.

See "Trace Event Format" (Google, 2016): complete events (``X``), names of processes and threads
(``M``), arrows from forward ops to the nodes of the backward pass (``s``, ``f``).
"""

from __future__ import annotations

import gzip
import json
import os
import threading


def trace_of(events, metadata=None) -> dict:
    """The trace as a dict, ready for JSON."""
    process = os.getpid()
    threads = {thread: number for number, thread in enumerate(_threads(events), process)}
    main = threading.main_thread().ident
    rows = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0,
         "args": {"name": "python"}},
        {"ph": "M", "name": "process_labels", "pid": process, "tid": 0, "ts": 0,
         "args": {"labels": "CPU"}},
    ]  # fmt: skip
    for thread, number in threads.items():
        name = f"thread {number} ({'main' if thread == main else 'python'})"
        rows.append({"ph": "M", "name": "thread_name", "pid": process, "tid": number, "ts": 0,
                     "args": {"name": name}})  # fmt: skip
    forward = {e.sequence_nr: e for e in events if e.category == "cpu_op" and e.sequence_nr >= 0}
    for event in events:
        rows.append(_row(event, process, threads[event.thread]))
        source = forward.get(event.sequence_nr) if event.category == "backward" else None
        if source is not None:
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr, "pid": process}
            rows.append({"ph": "s", **arrow, "tid": threads[source.thread],
                         "ts": round(source.time_range.start, 3)})  # fmt: skip
            rows.append({"ph": "f", "bp": "e", **arrow, "tid": threads[event.thread],
                         "ts": round(event.time_range.start, 3)})  # fmt: skip
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        **(metadata or {}),
        "displayTimeUnit": "ms",
        "traceEvents": rows,
    }


def _threads(events):
    return dict.fromkeys(event.thread for event in events)


def _row(event, process, thread):
    details: dict = {"External id": event.id}
    if event.input_shapes:
        details["Input Dims"] = event.input_shapes
    if event.stack:
        details["Call stack"] = ";".join(event.stack)
    if event.sequence_nr >= 0:
        details["Sequence number"] = event.sequence_nr
    if event.own_bytes:
        details["Bytes"] = event.own_bytes
    if event.flops:
        details["flops"] = event.flops
    category = "cpu_op" if event.category == "backward" else event.category
    start, end = event.time_range.start, event.time_range.end
    return {
        "ph": "X", "cat": category, "name": event.name, "pid": process, "tid": thread,
        "ts": round(start, 3), "dur": round(end - start, 3), "args": details,
    }  # fmt: skip


def write_trace(events, path, metadata=None) -> None:
    """Write a trace; packed when the path ends in ``.gz``."""
    data = json.dumps(trace_of(events, metadata)).encode()
    if os.fspath(path).endswith(".gz"):
        data = gzip.compress(data)
    with open(path, "wb") as file:
        file.write(data)
