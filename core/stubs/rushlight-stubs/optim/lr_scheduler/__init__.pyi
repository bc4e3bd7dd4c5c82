# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.optim.lr_scheduler.composed import ChainedScheduler as ChainedScheduler
from rushlight.optim.lr_scheduler.stepwise import ConstantLR as ConstantLR
from rushlight.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from rushlight.optim.lr_scheduler.cosine import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from rushlight.optim.lr_scheduler.cyclic import CyclicLR as CyclicLR
from rushlight.optim.lr_scheduler.stepwise import ExponentialLR as ExponentialLR
from rushlight.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from rushlight.optim.lr_scheduler.stepwise import LambdaLR as LambdaLR
from rushlight.optim.lr_scheduler.stepwise import LinearLR as LinearLR
from rushlight.optim.lr_scheduler.stepwise import MultiStepLR as MultiStepLR
from rushlight.optim.lr_scheduler.stepwise import MultiplicativeLR as MultiplicativeLR
from rushlight.optim.lr_scheduler.cyclic import OneCycleLR as OneCycleLR
from rushlight.optim.lr_scheduler.stepwise import PolynomialLR as PolynomialLR
from rushlight.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from rushlight.optim.lr_scheduler.composed import SequentialLR as SequentialLR
from rushlight.optim.lr_scheduler.stepwise import StepLR as StepLR
