# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.utils.data.datapipes.datapipe import DataChunk as DataChunk
from rushlight.utils.data.datapipes.datapipe import IterDataPipe as IterDataPipe
from rushlight.utils.data.datapipes.datapipe import MapDataPipe as MapDataPipe
from rushlight.utils.data.datapipes.datapipe import functional_datapipe as functional_datapipe
from rushlight.utils.data.datapipes import iter as iter
from rushlight.utils.data.datapipes import map as map
