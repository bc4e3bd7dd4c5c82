"""What ci/house.py counts: each module reads parsed sources and gives what it found, by rule."""
