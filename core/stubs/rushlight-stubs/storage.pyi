# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.ops.creation.storages import StorageType as StorageType
from rushlight.ops.former.former_methods import TypedStorage as TypedStorage
from rushlight import UntypedStorage as UntypedStorage
