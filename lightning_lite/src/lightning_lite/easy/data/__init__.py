"""Files of a folder, who trains and who validates, and labels: functions in fastai's words.

It imports core's public names only. Begin reading at `splitters.py`.
"""

from lightning_lite.easy.data.affine import AffineCoordTfm, Dihedral, Flip, Rotate, Warp, Zoom
from lightning_lite.easy.data.augment import (
    RandomErasing,
    RandomResizedCropGPU,
    aug_transforms,
    setup_aug_tfms,
)
from lightning_lite.easy.data.blocks import (
    BBoxBlock,
    BBoxLblBlock,
    CategoryBlock,
    ImageBlock,
    MaskBlock,
    MultiCategoryBlock,
    PointBlock,
    RegressionBlock,
    TransformBlock,
)
from lightning_lite.easy.data.cropping import (
    CropPad,
    DihedralItem,
    FlipItem,
    PadMode,
    RandomCrop,
    RandomResizedCrop,
    RatioResize,
    Resize,
    ResizeMethod,
)
from lightning_lite.easy.data.data_block import DataBlock
from lightning_lite.easy.data.external import URLs, untar_data
from lightning_lite.easy.data.files import FileGetter, get_files, get_image_files, get_text_files
from lightning_lite.easy.data.image_loaders import ImageDataLoaders
from lightning_lite.easy.data.labellers import (
    AttrGetter,
    ColReader,
    ItemGetter,
    RegexLabeller,
    parent_label,
)
from lightning_lite.easy.data.lighting import (
    Brightness,
    Contrast,
    HSVTfm,
    Hue,
    LightingTfm,
    Saturation,
    SpaceTfm,
)
from lightning_lite.easy.data.loaders import DataLoaders
from lightning_lite.easy.data.pictures import (
    Normalize,
    PILImage,
    PILImageBW,
    PILMask,
    cifar_stats,
    imagenet_stats,
    mnist_stats,
)
from lightning_lite.easy.data.segmentation_loaders import SegmentationDataLoaders
from lightning_lite.easy.data.splitters import (
    ColSplitter,
    EndSplitter,
    FileSplitter,
    FuncSplitter,
    GrandparentSplitter,
    IndexSplitter,
    MaskSplitter,
    RandomSplitter,
    RandomSubsetSplitter,
    TrainTestSplitter,
)
from lightning_lite.easy.data.transform import Transform

__all__ = [
    "PadMode",
    "ResizeMethod",
    "cifar_stats",
    "imagenet_stats",
    "mnist_stats",
    "BBoxBlock",
    "BBoxLblBlock",
    "PointBlock",
    "SegmentationDataLoaders",
    "RandomErasing",
    "RandomResizedCropGPU",
    "URLs",
    "aug_transforms",
    "untar_data",
    "setup_aug_tfms",
    "AffineCoordTfm",
    "Dihedral",
    "Flip",
    "Rotate",
    "Warp",
    "Zoom",
    "CropPad",
    "DihedralItem",
    "FlipItem",
    "RandomCrop",
    "RandomResizedCrop",
    "RatioResize",
    "Brightness",
    "Contrast",
    "HSVTfm",
    "Hue",
    "LightingTfm",
    "Saturation",
    "SpaceTfm",
    "CategoryBlock",
    "ImageBlock",
    "MaskBlock",
    "MultiCategoryBlock",
    "RegressionBlock",
    "TransformBlock",
    "DataBlock",
    "ImageDataLoaders",
    "DataLoaders",
    "Normalize",
    "PILImage",
    "PILImageBW",
    "PILMask",
    "Resize",
    "Transform",
    "AttrGetter",
    "ColReader",
    "ColSplitter",
    "EndSplitter",
    "FileGetter",
    "FileSplitter",
    "FuncSplitter",
    "GrandparentSplitter",
    "IndexSplitter",
    "ItemGetter",
    "MaskSplitter",
    "RandomSplitter",
    "RandomSubsetSplitter",
    "RegexLabeller",
    "TrainTestSplitter",
    "get_files",
    "get_image_files",
    "get_text_files",
    "parent_label",
]
