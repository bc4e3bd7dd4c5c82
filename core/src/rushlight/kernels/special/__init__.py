"""Special functions whose series and recurrences take another number of steps for each element.

Arrays in, arrays out; it imports launching and the machine. Begin reading at :mod:`.pairs`.
"""
