"""Parts whose form may still change, as PyTorch names them."""
