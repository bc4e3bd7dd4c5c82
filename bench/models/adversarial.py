"""A generative adversarial network: two optimizers in one step."""

from __future__ import annotations


def dcgan(library):
    """DCGAN on 32 x 32, batch 16: one step of the discriminator and one of the generator."""
    nn = library.nn

    def up(before, after, stride=2, padding=1):
        return [nn.ConvTranspose2d(before, after, 4, stride, padding, bias=False),
                nn.BatchNorm2d(after), nn.ReLU()]  # fmt: skip

    def down(before, after):
        return [nn.Conv2d(before, after, 4, 2, 1, bias=False), nn.BatchNorm2d(after),
                nn.LeakyReLU(0.2)]  # fmt: skip

    generator = nn.Sequential(
        *up(64, 128, 1, 0), *up(128, 64), *up(64, 32), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()
    )
    judge = nn.Sequential(
        *down(3, 32), *down(32, 64), *down(64, 128), nn.Conv2d(128, 1, 4), nn.Flatten()
    )
    real, noise = library.rand(16, 3, 32, 32) * 2 - 1, library.randn(16, 64, 1, 1)
    ones, zeros = library.ones(16, 1), library.zeros(16, 1)
    loss_of = nn.functional.binary_cross_entropy_with_logits

    def step(optimizers):
        first, second = optimizers
        first.zero_grad()
        fake = generator(noise)
        loss = loss_of(judge(real), ones) + loss_of(judge(fake.detach()), zeros)
        loss.backward()
        first.step()
        second.zero_grad()
        wanted = loss_of(judge(fake), ones)
        wanted.backward()
        second.step()
        return loss + wanted.detach()

    return (judge, generator), step
