"""Ops on signals: filters with feedback, suppression of detections.

They import the table and families below; :mod:`rushlight.signal` exports them. Begin reading at
:mod:`.recursive_filters`.
"""
