"""open_clip: a small CLIP, its loss and its tokenizer's numbers."""

import open_clip
import torch
from common import report, train
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.model import CLIP


def net():
    return CLIP(
        embed_dim=16,
        vision_cfg={"layers": 2, "width": 32, "head_width": 8, "patch_size": 8, "image_size": 32},
        text_cfg={"context_length": 12, "vocab_size": 64, "width": 32, "heads": 4, "layers": 2},
    )


def main():
    torch.manual_seed(0)
    model = net()
    images, words = torch.rand(3, 3, 32, 32), torch.randint(1, 63, (3, 12))
    loss = ClipLoss()

    def of_batch(m, batch):
        image, text, scale = m(*batch)
        return loss(image, text, scale)

    found = {"losses": train(model, (images, words), of_batch)}
    model.eval()
    found["images"] = model.encode_image(images, normalize=True)
    found["texts"] = model.encode_text(words, normalize=True)
    image, text, scale = model(images, words)
    found["siglip"] = SigLipLoss()(image, text, scale, torch.zeros(()))
    found["models"] = len(open_clip.list_models()) > 50
    prepare = open_clip.transform.image_transform(32, is_train=False)
    from PIL import Image

    found["prepared"] = prepare(Image.new("RGB", (50, 40), (200, 30, 90)))
    report(**found)


main()
