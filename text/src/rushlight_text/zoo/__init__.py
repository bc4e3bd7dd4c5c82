"""Small trained models that are in the package: they answer without network.

`bags.py`: classifiers of texts; `networks.py`, `writers.py`: transformers; `files.py`: how these
are written; `weights/`: their files, with `facts.json` on data, licences and figures. Trained by
``text/zoo/train.py`` and ``text/zoo/train_networks.py`` of the repository.
"""

from rushlight_text.zoo.bags import BagClassifier, Features, facts, load_bag
from rushlight_text.zoo.networks import NETWORKS, Pronouncer, load_network
from rushlight_text.zoo.writers import CharacterWriter, PlainEnglish

__all__ = [
    "NETWORKS",
    "BagClassifier",
    "CharacterWriter",
    "Features",
    "PlainEnglish",
    "Pronouncer",
    "facts",
    "load_bag",
    "load_network",
]
