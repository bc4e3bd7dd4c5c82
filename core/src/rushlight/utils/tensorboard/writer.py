"""`SummaryWriter`: curves, pictures, sounds, texts and more, for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from rushlight.machine import np
from rushlight.utils.tensorboard import summary
from rushlight.utils.tensorboard.pictures import array_of, figure_pixels
from rushlight.utils.tensorboard.records import FileWriter, block, integer


class SummaryWriter:
    """Writes event files that TensorBoard shows: ``tensorboard --logdir runs``.

    `log_dir` is by default ``runs/`` with the time, the host and the `comment`. With `purge_step`
    TensorBoard forgets what an earlier run logged from that step on. Events reach the disk at the
    latest with `max_queue` others, or with the first one after `flush_secs`; the writer's `close`,
    or the end of its ``with`` block, writes the rest.

    >>> import tempfile
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     writer.add_scalar("loss", 0.5, global_step=1)
    """

    def __init__(
        self,
        log_dir=None,
        comment="",
        purge_step=None,
        max_queue=10,
        flush_secs=120,
        filename_suffix="",
    ):
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step = purge_step
        self._options = max_queue, flush_secs, filename_suffix
        self.all_writers: dict | None = None
        self.file_writer: FileWriter | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                start = block(7, integer(1, 1))  # a session begins here
                self.file_writer.add_event(start, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """The folder of the event files."""
        return self.log_dir

    def _add(self, made, step, walltime):
        self._get_file_writer().add_summary(made, step, walltime)

    # ------------------------------------------------------------------------------------- numbers
    def add_scalar(
        self, tag, scalar_value, global_step=None, walltime=None, new_style=False,
        double_precision=False,
    ):  # fmt: skip
        """A point of a curve."""
        made = summary.scalar(tag, scalar_value, None, new_style, double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Points of several curves in one chart; each curve is a run of its own."""
        self._get_file_writer()
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._options)
            made = summary.scalar(main_tag, value)
            self.all_writers[folder].add_summary(made, global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A tensor as it is."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None
    ):
        """How values are distributed; `bins` are exponential, or what NumPy's histogram takes."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None,
        walltime=None,
    ):  # fmt: skip
        """A histogram of which everything is known already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_pr_curve(
        self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None,
        walltime=None,
    ):  # fmt: skip
        """Precision and recall of predictions in [0, 1] for labels 0 and 1, by threshold."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self, tag, true_positive_counts, false_positive_counts, true_negative_counts,
        false_negative_counts, precision, recall, global_step=None, num_thresholds=127,
        weights=None, walltime=None,
    ):  # fmt: skip
        """A precision-recall curve of which everything is known already."""
        made = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall, num_thresholds,
        )  # fmt: skip
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout):
        """How the page of custom scalars is laid out: category -> chart -> ``[kind, tags]``, where
        kind is ``"Multiline"`` or ``"Margin"``."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One chart of several curves on the page of custom scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One chart of a curve and its two bounds on the page of custom scalars."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    # ------------------------------------------------------------------------------------- pictures
    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture: bytes, or floats between 0 and 1; grey, colour, or colour with alpha."""
        made = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(made, global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """A batch of pictures, eight in a row."""
        if isinstance(img_tensor, list | tuple):
            img_tensor = np.stack([array_of(i) for i in img_tensor])
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1,
        dataformats="CHW", labels=None,
    ):  # fmt: skip
        """A picture with frames around ``(left, top, right, bottom)`` boxes, `rescale` times as
        large."""
        labels = [labels] if isinstance(labels, str) else labels
        made = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A Matplotlib figure, or several."""
        pixels = figure_pixels(figure, close)
        self.add_image(tag, pixels, global_step, walltime, dataformats="NHWC")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Films ``(N, T, C, H, W)``, as an animated GIF."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_mesh(
        self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None,
        walltime=None,
    ):  # fmt: skip
        """Points in space, or the triangles between them, ``(N, points, 3)`` each."""
        made = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    # ---------------------------------------------------------------------------- sounds and texts
    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound ``(1, L)`` of values between -1 and 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text; Markdown is shown as such."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # -------------------------------------------------------------------------------------- models
    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The ops of a model, which is run once with `input_to_model` (a tensor or a tuple)."""
        from rushlight.utils.tensorboard.graph import graph_of

        self._get_file_writer().add_event(block(4, graph_of(model, input_to_model)))

    def add_embedding(
        self, mat, metadata=None, label_img=None, global_step=None, tag="default",
        metadata_header=None,
    ):  # fmt: skip
        """Points ``(N, D)`` for the projector, with their names and square pictures."""
        from rushlight.utils.tensorboard.embeddings import write_embedding

        write_embedding(self.log_dir, mat, metadata, label_img, global_step, tag, metadata_header)

    def add_hparams(
        self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None
    ):
        """A set of hyper-parameters and what came of them, as a run of its own."""
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for each in made:
                writer._add(each, None, None)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    # ---------------------------------------------------------------------------------------- ends
    def flush(self):
        """Write what is held."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Write what is held and close the files."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
