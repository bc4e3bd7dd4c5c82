"""PyTorch's random numbers, and samples of distributions from them.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.engine`.
"""
