"""From Python syntax trees to the intermediate form: names, types, branches.

:mod:`.functions` compiles one function, with what :mod:`.statements`, :mod:`.blocks`,
:mod:`.expressions`, :mod:`.conditions`, :mod:`.containers` and :mod:`.calls` know; what names mean
is a resolver's: :mod:`rushlight.jit.archived` for archives, :mod:`rushlight.jit.python_names` for
functions and modules of Python.
"""
