"""``trace``: programs from recorded calls.

:mod:`.tracing` has the public functions, :mod:`.recorder` makes statements of calls, of tensors in
:mod:`.traced_values` and of functions that make tensors (:mod:`.creations`).
"""
