"""Ops on signals: filters with feedback.

They import the table and families below; :mod:`rushlight.signal` exports them. Begin reading at
:mod:`.recursive_filters`.
"""
