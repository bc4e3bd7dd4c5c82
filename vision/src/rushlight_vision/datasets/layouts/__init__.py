"""Folders of pictures whose layout is guessed: one file for each layout that people use.

May import `tv_tensors`, `datasets.folder` and the readers of COCO; begin with `reading`.
"""
