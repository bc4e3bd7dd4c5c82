"""Images resized, sampled at positions, padded, and dealt out between channels and space.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.taps`.
"""
