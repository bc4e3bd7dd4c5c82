"""segment-anything: a small model, masks from points and boxes, and masks of a whole picture."""

from functools import partial

import numpy as np
import torch
from common import reloaded, report, train
from segment_anything import SamAutomaticMaskGenerator, SamPredictor
from segment_anything.modeling import (
    ImageEncoderViT,
    MaskDecoder,
    PromptEncoder,
    Sam,
    TwoWayTransformer,
)


def small():
    """A Segment Anything of few channels for pictures of 128."""
    encoder = ImageEncoderViT(
        img_size=128, patch_size=16, embed_dim=32, depth=2, num_heads=2, mlp_ratio=2, out_chans=16,
        qkv_bias=True, use_rel_pos=True, window_size=4, global_attn_indexes=[1],
        norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
    )  # fmt: skip
    prompts = PromptEncoder(
        embed_dim=16, image_embedding_size=(8, 8), input_image_size=(128, 128), mask_in_chans=4
    )
    between = TwoWayTransformer(depth=2, embedding_dim=16, mlp_dim=32, num_heads=2)
    decoder = MaskDecoder(
        transformer_dim=16, transformer=between, num_multimask_outputs=3, iou_head_depth=2,
        iou_head_hidden_dim=16,
    )  # fmt: skip
    return Sam(image_encoder=encoder, prompt_encoder=prompts, mask_decoder=decoder)


def loss_of(model, batch):
    """The loss of masks of one point."""
    features = model.image_encoder(model.preprocess(batch[0]))
    points = torch.tensor([[[40.0, 50.0]]]), torch.tensor([[1]])
    sparse, dense = model.prompt_encoder(points=points, boxes=None, masks=None)
    masks, quality = model.mask_decoder(
        image_embeddings=features, image_pe=model.prompt_encoder.get_dense_pe(),
        sparse_prompt_embeddings=sparse, dense_prompt_embeddings=dense, multimask_output=True,
    )  # fmt: skip
    loss = torch.nn.functional.binary_cross_entropy_with_logits(masks, batch[1])
    return loss + quality.square().mean()


def main():
    torch.manual_seed(0)
    net = small()
    picture = (np.indices((96, 128)).sum(0)[..., None] * [1, 2, 3] % 256).astype("uint8")
    batch = torch.rand(1, 3, 128, 128) * 255, (torch.rand(1, 3, 32, 32) > 0.5).float()
    found = {"losses": train(net, batch, loss_of)}
    net = reloaded(net, small).eval()
    predictor = SamPredictor(net)
    predictor.set_image(picture)
    point = {"point_coords": np.array([[30, 40]]), "point_labels": np.array([1])}
    masks, scores, low = predictor.predict(**point, return_logits=True)
    found["point"] = [torch.from_numpy(x) for x in (masks, scores, low)]
    again = predictor.predict(**point, mask_input=low[:1], multimask_output=False)
    found["again"] = [torch.from_numpy(x.astype("float32")) for x in again]
    boxes = predictor.transform.apply_boxes_torch(
        torch.tensor([[10, 10, 60, 70], [5, 20, 90, 80]]), picture.shape[:2]
    )
    found["boxes"] = predictor.predict_torch(None, None, boxes, return_logits=True)
    found["batch"] = [
        {k: v.float() for k, v in each.items()}
        for each in net([{"image": batch[0][0, :, :96], "original_size": (48, 64)}], True)
    ]
    whole = SamAutomaticMaskGenerator(
        net, points_per_side=4, pred_iou_thresh=-1e3, stability_score_thresh=0.0,
        box_nms_thresh=0.9, crop_n_layers=1,
    )  # fmt: skip
    made = whole.generate(picture)
    found["masks"] = [[m["area"], m["bbox"], float(m["predicted_iou"])] for m in made][:12]
    report(**found)


main()
