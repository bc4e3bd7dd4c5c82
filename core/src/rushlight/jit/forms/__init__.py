"""What public functions and layers are in the terms of ATen, and ATen's ops in those of public
functions: where names or arguments differ between the two.

To load and run: :mod:`.aten`, and :mod:`.former` for archives of earlier versions. To write:
:mod:`.rewrites` for single calls, and code in TorchScript for functions (:mod:`.functional`,
:mod:`.losses`), layers (:mod:`.layers`, :mod:`.activations`,
:mod:`.attention`) and contexts (:mod:`.contexts`).
"""
