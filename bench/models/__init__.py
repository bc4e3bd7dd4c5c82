"""Models whose steps are timed: each written once, for whichever library is handed in."""
