"""What ATen's ops are in ONNX's operators, by family."""
