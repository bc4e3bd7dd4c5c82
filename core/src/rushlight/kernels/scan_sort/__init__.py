"""Running sums, order, the k largest, and positions in sorted sequences.

Arrays in, arrays out; it imports the machine. Begin reading at :mod:`.lines` and :mod:`.ordering`.
"""
