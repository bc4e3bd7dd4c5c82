"""Data pipes: data sets made of small steps, each a data set over another one.

Begin reading at :mod:`.datapipe`; :mod:`.iter` has those that are read in order, :mod:`.map` those
that are read by index. PyTorch keeps them for programs that have them; new programs chain
generators.
"""

from rushlight.utils.data.datapipes import iter, map  # noqa: A004 - PyTorch's names
from rushlight.utils.data.datapipes.datapipe import (
    DataChunk,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
)

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe", "iter", "map"]
