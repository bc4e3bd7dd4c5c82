"""Data sets that are computed, not read. May import `tv_tensors` and `datasets.vision`; begin with
`shapes`."""
