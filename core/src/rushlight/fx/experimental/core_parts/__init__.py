"""What functions of `nn.functional` come to in core ATen graphs, a family a file.

Each file's `parts()` maps overloads to functions of their arguments; begin with `losses.py`.
`exact_calls.py` and `numbers.py` have what families share.
"""
