"""The wheel of rushlight-audio, installed alone: a version, and a tensor of the core it brought."""

import sys

import rushlight as rl
import rushlight_audio

expected = sys.argv[1]
if rushlight_audio.__version__ != expected:
    raise SystemExit(f"version {rushlight_audio.__version__}, expected {expected}")
if rl.arange(5).sum().item() != 10:
    raise SystemExit("the core that came with it does not compute")
