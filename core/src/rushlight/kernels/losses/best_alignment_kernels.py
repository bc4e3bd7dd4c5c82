"""Compiled loops behind :mod:`rushlight.kernels.losses.best_alignment`. Import at first need.

Blanks and labels are stored apart, as for the loss: blank j stands before label j, the last one
after all labels. Each step writes down for every state which one it came from, a byte each.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    f32,
    function,
    i64,
    independent,
    infinity,
    range_kernel,
    real,
    u8,
)
from rushlight.machine.worker_pool import scratch

# Arguments: the paths, scores, labels, lengths of both; then sizes and the blank.
PATHS, X, LABELS, INPUTS, TARGETS, STEPS, CLASSES, WIDTH, BLANK = range(1, 10)


@function
def emitted(x, labels, out, count):
    """The scores of the labels at a step."""
    for j in independent(count):
        out[j] = x[labels[j]]


@function
def step(last, row, seen, blank, origins, count, width):
    """The best scores of all states from those of the step before, and where they came from. Rows:
    blanks, then labels with minus infinity ahead."""
    size = 4 if real is f32 else 8
    b, label = array(real, last), array(real, last + size * width)
    own = array(real, last + size * (width + 1))
    blanks, labels = array(real, row), array(real, row + size * (width + 1))
    score, skip = array(real, seen), array(real, seen - size * width)
    blank_origins, label_origins = array(u8, origins), array(u8, origins + width)
    for j in independent(count + 1):
        from_label = label[j] > b[j]
        blanks[j] = (label[j] if from_label else b[j]) + blank
        blank_origins[j] = u8(1) if from_label else u8(0)
    for j in independent(count):
        jump = label[j] + skip[j]  # minus infinity where labels repeat
        jumps = (jump > b[j]) & (jump > own[j])
        comes = (b[j] > own[j]) & (b[j] > jump)
        labels[j] = (jump if jumps else (b[j] if comes else own[j])) + score[j]
        label_origins[j] = u8(2) if jumps else (u8(1) if comes else u8(0))


@function
def traced(path, labels, origins, last, length, count, width, blank):
    """The path from its last state back; states are 2 j for blank j, 2 j + 1 for label j."""
    state = last
    for back in range(length - 1):
        t = length - 1 - back
        j = state // 2
        path[t] = labels[min(j, max(count - 1, 0))] if state % 2 == 1 else blank
        from_state = array(u8, origins + 2 * width * t)[j + width * (state % 2)]
        state -= i64(from_state)
    if state % 2 == 1:
        path[0] = labels[0]
    else:
        path[0] = blank


@function
def start(room, x, labels, count, width, blank):
    """Where labels repeat (minus infinity), and the states before and at the first step."""
    size = 4 if real is f32 else 8
    skip, state = array(real, room), array(real, room + size * 2 * width)
    for j in range(width):
        skip[j] = 0
    for j in range(1, count):
        skip[j] = -infinity(real) if labels[j] == labels[j - 1] else real(0)
    for j in range(4 * width):
        state[j] = -infinity(real)
    state[0] = x[blank]
    if count > 0:
        state[width + 1] = x[labels[0]]


@function
def filled(path, start, stop, blank):
    """Blanks past the end of a sample."""
    for t in range(start, stop):
        path[t] = blank


@function
def final(state, count, width):
    """The last state of the best path."""
    end = 2 * count
    if count > 0:
        if state[width + count] >= state[count]:
            end -= 1
    return end


@range_kernel(wide=True)
def best_paths(args, lo, hi, tid):
    """Items are samples (N, T, C) with labels (N, L)."""
    g, size = array(i64, args), 4 if real is f32 else 8
    steps, classes, blank = g[STEPS], g[CLASSES], g[BLANK]
    for n in range(lo, hi):
        length, count = array(i64, g[INPUTS])[n], array(i64, g[TARGETS])[n]
        labels = array(i64, g[LABELS] + 8 * n * g[WIDTH])
        path = array(i64, g[PATHS] + 8 * n * steps)
        filled(path, length, steps, blank)
        if length == 0:
            continue
        width = count + 2
        room = scratch(tid, size * 6 * width + 2 * width * length)
        seen, rows, origins = room + size * width, room + size * 2 * width, room + size * 6 * width
        x = g[X] + size * n * steps * classes
        start(room, array(real, x), labels, count, width, blank)
        last = rows
        for t in range(1, length):
            score = array(real, x + size * t * classes)
            emitted(score, labels, array(real, seen), count)
            row = rows + size * 2 * width * (t % 2)
            step(last, row, seen, score[blank], origins + 2 * width * t, count, width)
            last = row
        end = final(array(real, last), count, width)
        traced(path, labels, origins, end, length, count, width, blank)
