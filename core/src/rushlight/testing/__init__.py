"""Checks for programs that use Rushlight, and the generated tests of its own ops."""
