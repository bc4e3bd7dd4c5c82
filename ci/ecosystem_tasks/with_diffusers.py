"""diffusers: a small U-Net, schedulers, a pipeline, an autoencoder."""

import tempfile

import torch
from common import report, train
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)


def net():
    return UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1,
        block_out_channels=(16, 32), norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8,
    )  # fmt: skip


def main():
    found = {}
    torch.manual_seed(0)
    model, scheduler = net(), DDPMScheduler(num_train_timesteps=100)
    images, noise = torch.rand(2, 3, 16, 16), torch.randn(2, 3, 16, 16)
    times = torch.tensor([10, 60])
    noisy = scheduler.add_noise(images, noise, times)
    found["losses"] = train(
        model, noisy, lambda m, x: torch.nn.functional.mse_loss(m(x, times).sample, noise)
    )
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = UNet2DModel.from_pretrained(folder)
        same = again(noisy, times).sample - model.eval()(noisy, times).sample
        found["reloaded"] = same.abs().max()
    for kind in (DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler):
        steps = kind(num_train_timesteps=100)
        steps.set_timesteps(4)
        torch.manual_seed(2)
        x = torch.randn(1, 3, 16, 16) * steps.init_noise_sigma
        with torch.no_grad():
            for t in steps.timesteps:
                x = steps.step(model(steps.scale_model_input(x, t), t).sample, t, x).prev_sample
        found[kind.__name__] = x
    pipe = DDPMPipeline(unet=model, scheduler=scheduler)
    pipe.set_progress_bar_config(disable=True)
    made = pipe(num_inference_steps=3, generator=torch.manual_seed(4), output_type="np").images
    found["pipeline"] = torch.tensor(made)
    torch.manual_seed(0)
    coder = AutoencoderKL(block_out_channels=(8, 8), down_block_types=("DownEncoderBlock2D",) * 2,
                          up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4)  # fmt: skip
    found["autoencoder"] = coder(images).sample
    text = UNet2DConditionModel(
        sample_size=8, block_out_channels=(16, 16), layers_per_block=1, cross_attention_dim=12,
        norm_num_groups=4, attention_head_dim=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )  # fmt: skip
    out = text(torch.rand(1, 4, 8, 8), 5, torch.rand(1, 6, 12)).sample
    out.square().mean().backward()
    found["text"] = out
    report(**found)


main()
