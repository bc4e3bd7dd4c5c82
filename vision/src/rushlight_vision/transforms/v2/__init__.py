"""Transforms of images together with their masks, boxes and key points."""
