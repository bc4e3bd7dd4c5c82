"""Whole graph files (`seeds`), and changes of archives and of ONNX models."""
