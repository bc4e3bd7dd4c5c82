"""Starting the ranks of a job on this machine and seeing to their end.

May import stores; begin reading at :mod:`.agent`. The command is :mod:`rushlight.distributed.run`.
"""
