"""denoising-diffusion-pytorch: U-Nets, training by three objectives, sampling, its Trainer."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from common import reloaded, report, train
from denoising_diffusion_pytorch import (
    ElucidatedDiffusion,
    GaussianDiffusion,
    GaussianDiffusion1D,
    Trainer,
    Unet,
    Unet1D,
)
from PIL import Image


def unet(**options):
    return Unet(dim=8, dim_mults=(1, 2), flash_attn=False, attn_dim_head=8, attn_heads=2, **options)


def diffusion(**options):
    return GaussianDiffusion(
        unet(), image_size=16, timesteps=20, **{"sampling_timesteps": 20, **options}
    )


def trained(folder):
    """The state of a model that its own Trainer trained over pictures of a folder."""
    for i in range(100):
        square = np.full((20, 20, 3), 2 * i, "uint8")
        Image.fromarray(square).save(folder / f"{i}.png")
    torch.manual_seed(4)
    trainer = Trainer(
        diffusion(), str(folder), train_batch_size=2,
        gradient_accumulate_every=8, train_num_steps=2, num_samples=1,
        save_and_sample_every=100, results_folder=str(folder / "out"), calculate_fid=False,
        augment_horizontal_flip=False,
    )  # fmt: skip
    trainer.train()
    trainer.save(1)
    trainer.load(1)
    return trainer.step


def main():
    torch.manual_seed(0)
    pictures = torch.rand(2, 3, 16, 16)
    found = {}
    for objective in ("pred_noise", "pred_x0", "pred_v"):
        torch.manual_seed(1)
        model = diffusion(objective=objective)
        found[objective] = train(model, pictures, lambda m, x: m(x))
    again = reloaded(model, lambda: diffusion(objective="pred_v"))
    torch.manual_seed(2)
    found["sampled"] = again.sample(batch_size=2)
    torch.manual_seed(2)
    found["fewer steps"] = diffusion(sampling_timesteps=5).sample(batch_size=2)
    torch.manual_seed(3)
    line = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16,
                               timesteps=10)  # fmt: skip
    found["1d"] = train(line, torch.rand(2, 2, 16), lambda m, x: m(x))
    found["1d sampled"] = line.sample(batch_size=1)
    torch.manual_seed(3)
    elucidated = ElucidatedDiffusion(
        unet(learned_sinusoidal_cond=True), image_size=16, num_sample_steps=4
    )
    found["elucidated"] = train(elucidated, pictures, lambda m, x: m(x))
    found["elucidated sampled"] = elucidated.sample(batch_size=1)
    with tempfile.TemporaryDirectory() as folder:
        found["trainer"] = trained(Path(folder))
    report(**found)


main()
