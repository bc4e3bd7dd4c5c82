"""Small trained models that are in the package: they answer without network.

`bags.py`: what they are; `weights/`: their files, with `facts.json` on data, licences and figures.
Trained by ``text/zoo/train.py`` of the repository.
"""

from rushlight_text.zoo.bags import BagClassifier, Features, facts, load_bag

__all__ = ["BagClassifier", "Features", "facts", "load_bag"]
