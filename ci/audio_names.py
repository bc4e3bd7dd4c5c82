"""The public names of torchaudio, and which of them rushlight_audio does not answer.

`audio/tests/recorded/names.json` holds the documented names of torchaudio 2.9 by module, and those
that versions up to 2.8 had and programs still use; `missing_names.txt` beside it holds those that
are not there.

Usage: python ci/audio_names.py record [FILE]     in an environment with torchaudio 2.9
       python ci/audio_names.py missing           in one with rushlight and rushlight_audio
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[1] / "audio" / "tests" / "recorded"
DOCUMENTED = (
    "torchaudio",
    "torchaudio.functional",
    "torchaudio.transforms",
    "torchaudio.compliance.kaldi",
    "torchaudio.models",
    "torchaudio.models.decoder",
    "torchaudio.models.wav2vec2.utils",
    "torchaudio.pipelines",
    "torchaudio.datasets",
)
FUNCTIONS = {
    "torchaudio.compliance.kaldi": "fbank get_mel_banks inverse_mel_scale inverse_mel_scale_scalar "
    "mel_scale mel_scale_scalar mfcc spectrogram vtln_warp_freq vtln_warp_mel_freq"
}
# What 2.9 threw out; `load_wav` is older.
REMOVED = {
    "torchaudio": "AudioMetaData info list_audio_backends get_audio_backend set_audio_backend "
    "load_wav io backend sox_effects kaldi_io utils",
    "torchaudio.backend.common": "AudioMetaData",
    "torchaudio.backend.soundfile_backend": "info load save",
    "torchaudio.backend.sox_io_backend": "info load save",
    "torchaudio.prototype.datasets": "Musan",
    "torchaudio.io": "AudioEffector CodecConfig StreamReader StreamWriter play_audio",
    "torchaudio.sox_effects": "apply_effects_file apply_effects_tensor effect_names "
    "init_sox_effects shutdown_sox_effects",
    "torchaudio.kaldi_io": "read_mat_ark read_mat_scp read_vec_flt_ark read_vec_flt_scp "
    "read_vec_int_ark",
    "torchaudio.utils": "download_asset ffmpeg_utils sox_utils",
    "torchaudio.utils.sox_utils": "get_buffer_size list_effects list_read_formats "
    "list_write_formats set_buffer_size set_seed set_use_threads set_verbosity",
    "torchaudio.utils.ffmpeg_utils": "get_audio_decoders get_audio_encoders get_build_config "
    "get_demuxers get_input_devices get_input_protocols get_log_level get_muxers "
    "get_output_devices get_output_protocols get_versions get_video_decoders get_video_encoders "
    "set_log_level",
    "torchaudio.datasets.utils": "download_url extract_archive",
}


def recorded() -> dict[str, dict[str, list[str]]]:
    """Both lists, asked of the installed torchaudio."""
    import torchaudio

    names = {}
    for module in DOCUMENTED:
        found = importlib.import_module(module)
        chosen = FUNCTIONS[module].split() if module in FUNCTIONS else found.__all__
        names[module] = sorted(
            name for name in chosen if not isinstance(vars(found).get(name), type(sys))
        )
    removed = {module: sorted(names.split()) for module, names in REMOVED.items()}
    return {"torchaudio": torchaudio.__version__, "names": names, "removed": removed}


def missing() -> list[str]:
    """The full names of both lists that rushlight_audio does not answer."""
    from rushlight.compat import availability

    lists = json.loads((RECORDED / "names.json").read_text())
    return sorted(
        {
            f"{module}.{name}"
            for part in ("names", "removed")
            for module, names in lists[part].items()
            for name in names
            if availability.judge(f"{module}.{name}").state == "missing"
        }
    )


def main() -> int:
    if sys.argv[1:2] == ["missing"]:
        (RECORDED / "missing_names.txt").write_text("".join(f"{name}\n" for name in missing()))
        return 0
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else RECORDED / "names.json"
    path.write_text(json.dumps(recorded(), indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
