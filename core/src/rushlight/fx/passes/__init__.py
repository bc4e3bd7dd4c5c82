"""Passes over graphs: each looks at, divides or draws one."""
