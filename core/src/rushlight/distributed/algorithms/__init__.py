"""Join and communication hooks: see :mod:`.join` and :mod:`.ddp_comm_hooks`."""
