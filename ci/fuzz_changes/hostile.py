"""Names and numbers that no whole file has."""

CODE = "x)\nimport os\nos.system('touch /tmp/rushlight-fuzz-was-here')\n("
TEXTS = ("", "x", CODE, "../../etc/passwd", "/etc/passwd", "lambda", "²", "a.b", "\ud800",
         "x" * 5000, "torch.ops.aten.add.Tensor", "torch.ops.aten.__class__.default", "os.system",
         "Symbol('u0')", "Mul(" * 3000, "__import__('os').abort()", "aten", "[1, {}]",
         "0")  # fmt: skip
NUMBERS = (0, 1, -1, 2, 7, 64, -(2**31), 2**31 - 1, 2**40, 2**62, 2**63 - 1, -(2**63))
