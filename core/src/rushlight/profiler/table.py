"""The table of a profile: a row for a name, columns for times, memory, counts."""

from __future__ import annotations

_KEYS = (
    "cpu_time cpu_time_total cpu_memory_usage self_cpu_memory_usage self_cpu_time_total count "
    "device_time device_time_total self_device_time_total flops cuda_time cuda_time_total"
).split()


def memory_text(count) -> str:
    """Bytes as tables print them."""
    for size, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _clipped(text, width, end=True):
    if width is None or len(text) <= width:
        return text
    return text[: width - 3] + "..." if end else "..." + text[3 - width :]


def _share(part, total):
    return f"{100.0 * part / total:.2f}%" if total else "NaN"


def make_table(
    events, sort_by, row_limit, widths, header, top_level_events_only, memory, flops, time_unit
):
    """The text of the table."""
    from rushlight.profiler.events import time_text

    if not events:
        return ""
    rows = _rows(events, sort_by, top_level_events_only)
    total = sum(e.self_cpu_time_total for e in events)
    divisor = {None: None, "us": 1.0, "ms": 1e3, "s": 1e6}[time_unit]

    def shown(value):
        return time_text(value) if divisor is None else f"{value / divisor:.3f}{time_unit}"

    columns = _columns(rows, widths, total, shown, memory, flops)
    rows = rows[: row_limit if row_limit >= 0 else None]
    lines = _aligned(list(columns), [[cell(e) for cell in columns.values()] for e in rows])
    if header is not None:
        lines = ["=" * len(lines[0]), header, *lines]
    return "\n".join(lines) + f"\nSelf CPU time total: {shown(total)}\n"


def _rows(events, sort_by, top_level_events_only):
    """The events to show, in their order."""
    if sort_by is not None and sort_by not in _KEYS:
        raise ValueError(f"table: expected 'sort_by' to be one of {_KEYS}, got {sort_by!r}")
    rows = list(events)
    if top_level_events_only:
        rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
    if sort_by is not None:
        rows.sort(key=lambda e: getattr(e, sort_by.replace("cuda", "device"), 0), reverse=True)
    return rows


def _columns(rows, widths, total, shown, memory, flops):
    """Title -> the text of an event in that column. `shown` writes a time."""
    columns = {
        "Name": lambda e: _clipped(e.key, widths[0]),
        "Self CPU %": lambda e: _share(e.self_cpu_time_total, total),
        "Self CPU": lambda e: shown(e.self_cpu_time_total),
        "CPU total %": lambda e: _share(e.cpu_time_total, total),
        "CPU total": lambda e: shown(e.cpu_time_total),
        "CPU time avg": lambda e: shown(e.cpu_time),
    }
    if memory:
        columns["CPU Mem"] = lambda e: memory_text(e.cpu_memory_usage)
        columns["Self CPU Mem"] = lambda e: memory_text(e.self_cpu_memory_usage)
    columns["# of Calls"] = lambda e: str(e.count)
    if any(e.input_shapes for e in rows):
        columns["Input Shapes"] = lambda e: _clipped(str(e.input_shapes), widths[1])
    if any(e.stack for e in rows):
        columns["Source Location"] = lambda e: (
            _clipped(e.stack[0], widths[2], False) if e.stack else ""
        )
    if flops:
        columns["Total MFLOPs"] = lambda e: f"{e.flops / 1e6:.3f}" if e.flops else "--"
    return columns


def _aligned(titles, cells):
    """The lines of a table between rules; columns of words start, those of numbers end, aligned."""
    sizes = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    left = {0, *(i for i, t in enumerate(titles) if t in ("Input Shapes", "Source Location"))}

    def printed(line):
        return "  ".join(
            text.ljust(size) if i in left else text.rjust(size)
            for i, (text, size) in enumerate(zip(line, sizes, strict=True))
        )

    rule = "  ".join("-" * size for size in sizes)
    return [rule, printed(titles), rule, *map(printed, cells), rule]
