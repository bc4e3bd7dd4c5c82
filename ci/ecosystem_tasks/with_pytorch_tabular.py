"""pytorch-tabular: three networks of tables by their configurations, saved and loaded."""

import tempfile

import numpy as np
import pandas
import torch
from common import report
from pytorch_tabular import TabularModel
from pytorch_tabular.config import DataConfig, OptimizerConfig, TrainerConfig
from pytorch_tabular.models import CategoryEmbeddingModelConfig, FTTransformerConfig, GANDALFConfig


def main():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "a": random.normal(size=96),
            "b": random.normal(size=96),
            "kind": random.choice(list("xyz"), 96),
        }
    )
    table["label"] = (table["a"] + (table["kind"] == "x") > 0.3).astype(int)
    configs = {
        "embedding": CategoryEmbeddingModelConfig(task="classification", layers="8-4"),
        "gandalf": GANDALFConfig(task="classification", gflu_stages=2),
        "transformer": FTTransformerConfig(
            task="classification", input_embed_dim=8, num_heads=2, num_attn_blocks=1,
            attn_dropout=0.0, ff_dropout=0.0, add_norm_dropout=0.0,
        ),
    }  # fmt: skip
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, config in configs.items():
            model = TabularModel(
                data_config=DataConfig(
                    target=["label"], continuous_cols=["a", "b"], categorical_cols=["kind"],
                    num_workers=0,
                ),
                model_config=config,
                optimizer_config=OptimizerConfig(),
                trainer_config=TrainerConfig(
                    batch_size=16, max_epochs=2, accelerator="cpu", progress_bar="none", seed=0,
                    checkpoints=None, early_stopping=None, load_best=False,
                    trainer_kwargs={"logger": False, "enable_model_summary": False,
                                    "default_root_dir": folder},
                ),
                verbose=False, suppress_lightning_logger=True,
            )  # fmt: skip
            model.fit(train=table[:64], validation=table[64:])
            out = model.predict(table[64:])
            column = [c for c in out.columns if c.endswith("1_probability")][0]
            found[name] = torch.as_tensor(out[column].to_numpy(copy=True))
            if name == "embedding":
                model.save_model(f"{folder}/saved")
                again = TabularModel.load_model(f"{folder}/saved")
                found["again"] = torch.as_tensor(
                    again.predict(table[64:])[column].to_numpy(copy=True)
                )
    report(**found)


main()
