"""Prepared calls of ops: generated Python per kind of arguments, over the native calls.

They import the table and the fast path. Begin reading at :mod:`.elementwise_prepared`, then
:mod:`.elementwise_calls`, whose generated text `linecache` holds.
"""
