"""Whole sequences of LSTM, GRU and Elman networks.

Arrays in, arrays out; it imports products and the machine. Begin reading at :mod:`.sequences`.
"""
