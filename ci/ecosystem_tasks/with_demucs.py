"""demucs: small networks of three kinds that part sounds, in chunks too, their training, files."""

import random
import tempfile
from pathlib import Path

import torch
from common import report, train
from demucs.apply import BagOfModels, apply_model
from demucs.augment import FlipChannels, FlipSign, Remix, Scale, Shift
from demucs.demucs import Demucs
from demucs.hdemucs import HDemucs
from demucs.htdemucs import HTDemucs
from demucs.spec import ispectro, spectro
from demucs.states import get_state, load_model, save_with_checksum
from demucs.svd import svd_penalty
from torch import nn

SOURCES = ["drums", "rest"]


def networks():
    """A network of each kind, small."""
    torch.manual_seed(0)
    options = {"samplerate": 8000, "channels": 4, "segment": 1, "dconv_comp": 2}
    yield Demucs(SOURCES, depth=3, dconv_attn=2, dconv_lstm=2, resample=True, **options)
    yield HDemucs(SOURCES, depth=4, nfft=256, dconv_attn=3, dconv_lstm=3, **options)
    yield HTDemucs(
        SOURCES,
        depth=3,
        nfft=512,
        t_layers=2,
        t_heads=2,
        bottom_channels=16,
        use_train_segment=False,
        **options,
    )


def augmented(sounds, found):
    """What training does to sounds first."""
    torch.manual_seed(4)
    random.seed(4)
    for change in (Shift(100), FlipChannels(), FlipSign(), Remix(proba=1, group_size=2), Scale(1)):
        found[type(change).__name__] = change.train()(sounds)


def main():
    torch.manual_seed(1)
    mix, parts = torch.randn(2, 2, 4000), torch.randn(2, 2, 2, 4000)
    found, models = {}, list(networks())
    for net in models:
        name = type(net).__name__
        random.seed(0)
        found[f"{name} losses"] = train(net, mix, lambda m, x: nn.functional.l1_loss(m(x), parts))
        found[f"{name} gradients"] = [p.grad.norm() for p in net.parameters() if p.grad is not None]
        random.seed(0)
        found[f"{name} parted"] = apply_model(net.eval(), mix, shifts=1, overlap=0.25)
    found["bag"] = apply_model(BagOfModels(models[1:], [[1, 0], [0.5, 1]]), mix, split=False)
    found["penalty"] = svd_penalty(models[0], min_size=0.001, exact=True)
    with tempfile.TemporaryDirectory() as folder:
        args, kwargs = models[2]._init_args_kwargs
        state = get_state(models[2], None)
        package = {"klass": HTDemucs, "args": args, "kwargs": kwargs, "state": state}
        save_with_checksum(package, Path(folder, "m.th"))
        (file,) = Path(folder).iterdir()
        found["kept"] = load_model(file).eval()(mix)
    z = spectro(mix, 256)
    found["spectra"] = [z, ispectro(z, 64, 4000)]
    augmented(parts.repeat(2, 1, 1, 1), found)
    report(**found)


main()
