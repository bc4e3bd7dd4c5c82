"""torchmetrics: metrics of classes, regression, pictures, text and sounds, over several batches."""

import io

import torch
import torchmetrics
from common import report
from torchmetrics import MetricCollection, audio, classification, image, regression, text


def main():
    torch.manual_seed(0)
    scores, classes = torch.rand(40, 5).softmax(-1), torch.randint(0, 5, (40,))
    several = MetricCollection({
        "accuracy": classification.MulticlassAccuracy(5),
        "f1": classification.MulticlassF1Score(5, average="weighted"),
        "auroc": classification.MulticlassAUROC(5),
        "confusion": classification.MulticlassConfusionMatrix(5),
        "calibration": classification.MulticlassCalibrationError(5),
        "kappa": classification.MulticlassCohenKappa(5),
        "precision": classification.MulticlassAveragePrecision(5),
    })  # fmt: skip
    for part in range(0, 40, 10):
        several.update(scores[part : part + 10], classes[part : part + 10])
    found = {"classes": several.compute()}
    x, y = torch.randn(30), torch.randn(30)
    for kind in (regression.MeanSquaredError, regression.PearsonCorrCoef, regression.R2Score,
                 regression.SpearmanCorrCoef, regression.KendallRankCorrCoef):  # fmt: skip
        metric = kind()
        metric.update(x[:15], y[:15])
        metric.update(x[15:], y[15:])
        found[kind.__name__] = metric.compute()
    one, other = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
    found["ssim"] = image.StructuralSimilarityIndexMeasure()(one, other)
    found["psnr"] = image.PeakSignalNoiseRatio(data_range=1.0)(one, other)
    found["snr"] = audio.ScaleInvariantSignalDistortionRatio()(x, y)
    found["wer"] = text.WordErrorRate()(["the cat sat"], ["the cat sat down"])
    found["perplexity"] = text.Perplexity()(scores.reshape(4, 10, 5), classes.reshape(4, 10))
    mean = torchmetrics.MeanMetric()
    mean.update(x)
    mean.persistent(True)
    file = io.BytesIO()
    torch.save(mean.state_dict(), file)
    file.seek(0)
    again = torchmetrics.MeanMetric()
    again.persistent(True)
    again.load_state_dict(torch.load(file))
    found["reloaded"] = [mean.compute(), again.compute()]
    report(**found)


main()
