"""Other people's packages on torchaudio run with Rushlight in PyTorch's place.

Each is installed without its dependencies (they name PyTorch) into a folder, and a short program
that reads, changes and writes sound with it is run by `python -m rushlight run`; what it prints
must be what stands here.

Usage: python ci/audio_programs.py [FOLDER]      installs into FOLDER if need be
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".nox" / "audio_programs"
# Without their dependencies; what they need besides PyTorch is in NEEDED.
PACKAGES = (
    "speechbrain==1.1.2",
    "silero-vad==6.2.3",
    "torch-audiomentations==0.12.0",
    "torch-pitch-shift==1.2.5",
    "julius==0.2.8",
    "primePy==1.3",
    "lhotse==1.33.0",
)
NEEDED = (
    *("hyperpyyaml", "ruamel.yaml", "sentencepiece", "joblib", "tqdm", "scipy", "packaging"),
    *("huggingface_hub", "requests", "lilcom", "intervaltree", "tabulate", "cytoolz", "click"),
    *("PyYAML", "urllib3", "audioread", "typing_extensions"),
)
PROGRAMS = {
    "speechbrain": """
import torch, torchaudio
from speechbrain.dataio import dataio
from speechbrain.lobes.features import Fbank
from speechbrain.augment.time_domain import SpeedPerturb
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
tone = torch.sin(torch.arange(16000) / 10)
torchaudio.save("a.wav", tone[None], 16000)
assert torch.equal(dataio.read_audio("a.wav"), tone)
print(tuple(Fbank()(tone[None]).shape), tuple(SpeedPerturb(16000, speeds=[90])(tone[None]).shape))
print(tuple(ECAPA_TDNN(80, lin_neurons=32, channels=[32] * 5)(torch.randn(2, 50, 80)).shape))
""",
    "silero_vad": """
import torch, torchaudio
from silero_vad import get_speech_timestamps, load_silero_vad, read_audio, save_audio
torchaudio.save("a.wav", torch.zeros(1, 48000), 48000)
waveform = read_audio("a.wav")
save_audio("b.wav", waveform)
print(tuple(waveform.shape), get_speech_timestamps(waveform, load_silero_vad()))
print(torchaudio.info("b.wav").num_frames)
""",
    "torch_audiomentations": """
import torch
from torch_audiomentations import AddColoredNoise, Compose, Gain, LowPassFilter, PitchShift, Shift
kinds = (Gain, LowPassFilter, Shift, AddColoredNoise)
chain = Compose([kind(p=1.0, output_type="dict") for kind in kinds], output_type="dict")
sound = torch.rand(4, 2, 16000) - 0.5
print(tuple(chain(sound, sample_rate=16000)["samples"].shape))
shift = PitchShift(p=1.0, output_type="dict", sample_rate=16000)
print(tuple(shift(sound, sample_rate=16000)["samples"].shape))
""",
    "lhotse": """
import torch, torchaudio
from lhotse import Fbank, Recording
torchaudio.save("c.wav", torch.sin(torch.arange(32000) / 10)[None], 16000)
recording = Recording.from_file("c.wav")
print(recording.resample(8000).load_audio().shape, recording.perturb_speed(1.1).load_audio().shape)
print(recording.to_cut().compute_features(Fbank()).shape)
""",
}
PRINTED = {
    "speechbrain": "(1, 101, 40) (1, 17778)\n(2, 1, 32)\n",
    "silero_vad": "(16000,) []\n16000\n",
    "torch_audiomentations": "(4, 2, 16000)\n(4, 2, 16000)\n",
    "lhotse": "(1, 16000) (1, 29091)\n(200, 80)\n",
}


def installed(folder: Path) -> Path:
    """A folder with the packages."""
    done = folder / "installed.txt"
    wanted = "\n".join((*PACKAGES, *NEEDED))
    if not done.exists() or done.read_text() != wanted:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
        subprocess.run([*pip, *NEEDED], check=True)
        target = ["--no-deps", "--target", str(folder)]
        subprocess.run([*pip, *target, *PACKAGES], check=True)
        done.write_text(wanted)
    return folder


def main() -> int:
    folder = installed(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
    paths = [os.environ.get("PYTHONPATH", ""), str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    failed = []
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as work:
            (Path(work) / "program.py").write_text(program)
            command = [sys.executable, "-W", "ignore", "-m", "rushlight", "run", "program.py"]
            done = subprocess.run(
                command, cwd=work, env=environment, capture_output=True, text=True
            )
        if done.returncode or done.stdout != PRINTED[name]:
            failed.append(name)
            print(f"FAILED {name}\n{done.stdout}{done.stderr}", flush=True)
    print(f"audio_programs: {len(PROGRAMS) - len(failed)} of {len(PROGRAMS)} packages run")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
