"""ONNX's operators, as functions of tensors."""
