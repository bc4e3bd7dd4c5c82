"""encodec: a small codec of sounds with residual codebooks, and its packing."""

import io

import torch
from common import reloaded, report, train
from encodec import EncodecModel, binary, quantization
from encodec.modules import SEANetDecoder, SEANetEncoder
from encodec.msstftd import MultiScaleSTFTDiscriminator
from encodec.utils import convert_audio


def small():
    options = {"channels": 1, "n_filters": 4, "dimension": 16, "ratios": [4, 2], "lstm": 1}
    return EncodecModel(
        SEANetEncoder(norm="weight_norm", causal=True, **options),
        SEANetDecoder(norm="weight_norm", causal=True, **options),
        quantization.ResidualVectorQuantizer(dimension=16, n_q=4, bins=32, kmeans_init=False),
        [6.0], 8000, 1, normalize=True, segment=0.5, name="small",
    )  # fmt: skip


def loss_of(model, sounds):
    vectors = model.encoder(sounds)
    out = model.decoder(vectors + model.quantizer.vq.layers[0]._codebook.embed.mean())
    return (out - sounds).square().mean()


def main():
    torch.manual_seed(0)
    net, sounds = small(), torch.rand(2, 1, 8000) - 0.5
    found = {"losses": train(net, sounds[..., :1600], loss_of)}
    net = reloaded(net, small).eval()
    net.set_target_bandwidth(6.0)
    with torch.no_grad():
        frames = net.encode(sounds)
        found["codes"] = [[codes.float(), scale] for codes, scale in frames]
        found["decoded"] = net.decode(frames)
        found["whole"] = net(sounds)
    torch.manual_seed(1)
    quantized = net.train().quantizer(torch.randn(2, 16, 40), 1000, 6.0)
    found["quantized"] = [quantized.quantized, quantized.penalty, quantized.bandwidth]
    torch.manual_seed(2)
    judge = MultiScaleSTFTDiscriminator(filters=4)
    scores, maps = judge(sounds)
    found["judged"] = [scores, [len(m) for m in maps]]
    found["rates"] = convert_audio(torch.rand(2, 800), 8000, 16000, 1)
    file = io.BytesIO()
    packer = binary.BitPacker(5, file)
    for value in frames[0][0][0, 0].tolist():
        packer.push(value)
    packer.flush()
    file.seek(0)
    unpacker = binary.BitUnpacker(5, file)
    found["unpacked"] = [unpacker.pull() for _ in range(20)]
    report(**found)


main()
