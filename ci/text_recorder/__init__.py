"""What other libraries answer on text, recorded for the tests of rushlight_text.

Runs in an environment with PyTorch, transformers, sentencepiece, sacrebleu, rouge-score, seqeval.
Begin reading at `__main__.py`; each other file records one subject.
"""
