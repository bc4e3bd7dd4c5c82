"""torcheval: metrics of classes, ranks, pictures and texts, over batches and merged."""

import torch
from common import report
from torcheval import metrics as M
from torcheval.metrics import functional as F


def main():
    torch.manual_seed(0)
    kinds = {
        "accuracy": M.MulticlassAccuracy(average="macro", num_classes=4),
        "auroc": M.BinaryAUROC(),
        "auprc": M.MulticlassAUPRC(num_classes=4),
        "f1": M.MulticlassF1Score(num_classes=4, average="weighted"),
        "confusion": M.MulticlassConfusionMatrix(4),
        "mse": M.MeanSquaredError(),
        "r2": M.R2Score(),
        "psnr": M.PeakSignalNoiseRatio(),
        "ndcg": M.RetrievalPrecision(k=2),
        "perplexity": M.Perplexity(),
        "hit": M.HitRate(k=2),
        "recip": M.ReciprocalRank(),
        "mean": M.Mean(),
    }
    found = {}
    for name, metric in kinds.items():
        other = type(metric)(
            **(
                {"num_classes": 4}
                if "num_classes" in vars(metric) and name != "confusion"
                else {"num_classes": 4}
                if name == "confusion"
                else {"k": 2}
                if name in ("hit", "ndcg")
                else {}
            )
        )
        for part in (metric, other):
            scores, labels = torch.rand(10, 4), torch.randint(0, 4, (10,))
            inputs = {
                "auroc": (scores[:, 0], (labels > 1).float()),
                "mse": (scores, scores.flip(0)),
                "r2": (scores[:, 0], scores[:, 1]),
                "psnr": (scores, scores.flip(1)),
                "ndcg": (scores[:, 0], (labels > 1).long()),
                "perplexity": (scores[None], labels[None]),
                "mean": (scores,),
            }.get(name, (scores, labels))
            part.update(*inputs)
        found[name] = metric.merge_state([other]).compute()
    found["bleu"] = F.bleu_score(["the cat sat on the mat"], [["the cat sat on a mat"]], n_gram=2)
    found["wer"] = F.word_error_rate(["hello world now"], ["hello word now"])
    found["curve"] = F.multiclass_precision_recall_curve(
        torch.rand(6, 3), torch.tensor([0, 1, 2, 0, 1, 2]), num_classes=3
    )[0]
    found["ne"] = F.binary_normalized_entropy(torch.rand(5), torch.tensor([0.0, 1, 0, 1, 1]))
    report(**found)


main()
