"""The logger of TensorBoard's event files in a trainer."""

import rushlight as rl
from lightning_lite.loggers import TensorBoardLogger


def test_a_run_is_written(model_class, loader, trainer, tmp_path):
    logger = TensorBoardLogger(tmp_path, name="mine", prefix="p")
    run = trainer(max_epochs=2, logger=logger, log_every_n_steps=1)

    class Logs(model_class):
        def training_step(self, batch, batch_idx):
            loss = super().training_step(batch, batch_idx)
            self.log("seen", float(batch_idx))
            return loss

    run.fit(Logs(), loader(32), loader(8))
    folder = tmp_path / "mine" / "version_0"
    assert run.log_dir == str(folder)
    (file,) = folder.glob("events.out.tfevents.*")
    data = file.read_bytes()
    assert data.count(b"p-seen") == 16  # 8 batches, 2 epochs
    logger.experiment.add_histogram("weights", rl.randn(10))
    logger.finalize("success")
    assert sum(b"weights" in f.read_bytes() for f in folder.glob("events*")) == 1
    assert TensorBoardLogger(tmp_path, name="mine").version == 1


def test_hyper_parameters_and_charts_of_several(tmp_path):
    logger = TensorBoardLogger(tmp_path, version="named", sub_dir="inner")
    logger.log_hyperparams({"lr": 0.1, "sizes": [1, 2]}, {"acc": 0.5})
    logger.log_metrics({"both": {"a": 1.0, "b": 2.0}})
    logger.finalize("success")
    folder = tmp_path / "lightning_logs" / "named" / "inner"
    assert '"lr": 0.1' in (folder / "hparams.yaml").read_text()
    data = b"".join(path.read_bytes() for path in folder.glob("events*"))
    assert b"_hparams_/session_start_info" in data and b"acc" in data
    assert (folder / "both_a").is_dir() and (folder / "both_b").is_dir()


def test_graphs(tmp_path):
    logger = TensorBoardLogger(tmp_path, log_graph=True)
    logger.log_graph(rl.nn.Linear(2, 3), rl.ones(1, 2))
    logger.finalize("success")
    (file,) = (tmp_path / "lightning_logs" / "version_0").glob("events*")
    assert b"Linear/linear" in file.read_bytes()


def test_going_on_purges_what_comes_again(model_class, loader, trainer, tmp_path):
    run = trainer(max_epochs=1, logger=TensorBoardLogger(tmp_path, version=0), log_every_n_steps=1)
    run.fit(model_class(), loader(32), loader(4))
    run.save_checkpoint(tmp_path / "a.ckpt")
    logger = TensorBoardLogger(tmp_path, version=0)
    again = trainer(max_epochs=2, logger=logger, log_every_n_steps=1)
    again.fit(model_class(), loader(32), loader(4), ckpt_path=tmp_path / "a.ckpt")
    assert logger.state_dict() == {"step": 15}
    assert logger._kwargs == {"purge_step": 8}
