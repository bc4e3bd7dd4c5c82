"""Functions and generator functions that run inside of a context manager."""

from __future__ import annotations

import functools
import inspect


def run_inside(manager_of, function):
    """`function`, with each of its calls inside of a manager that ``manager_of()`` gives.

    The body of a generator function runs inside of one, and the code between its items outside;
    what is sent or thrown into the generator reaches it.
    """
    if inspect.isgeneratorfunction(function):
        return _generator_inside(manager_of, function)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with manager_of():
            return function(*args, **kwargs)

    return wrapped


def _generator_inside(manager_of, function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        generator = function(*args, **kwargs)
        resume, value = generator.send, None
        try:
            while True:
                with manager_of():
                    item = resume(value)
                try:
                    value = yield item
                except GeneratorExit:
                    with manager_of():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error
                else:
                    resume = generator.send
        except StopIteration as stop:
            return stop.value
        finally:
            generator.close()

    return wrapped
