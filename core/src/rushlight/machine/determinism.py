"""Whether a program asked for deterministic algorithms alone, and only to be warned."""

asked = [False, False]
