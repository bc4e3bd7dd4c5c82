"""Every op of the table, by the tests that its declaration implies."""

from rushlight.testing.ops import generate

generate(globals())
