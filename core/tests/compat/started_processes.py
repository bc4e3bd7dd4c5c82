"""Functions that the tests run in other processes: those must be importable."""

import rushlight


def square(index, queue, numbers):
    """Put the squares of a row of `numbers` into the queue."""
    queue.put((index, numbers[index] ** 2))


def fail(index):
    """Fail in the second process."""
    if index == 1:
        raise ValueError("the second one fails")


def leave(index):
    """End with a status of its own."""
    raise SystemExit(3)


def fill(queue):
    """Put a tensor that travels through shared memory."""
    queue.put(rushlight.arange(10_000.0))
