"""Networks, and the ways to capture one, for `ci/captures.py`: start reading in `ways.py`."""
