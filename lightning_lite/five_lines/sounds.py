"""Sounds: which of five voices speaks?

    python sounds.py FOLDER

2,800 announcements of a telephone exchange, spoken in a studio by five voices in English, Spanish,
French, Italian and Russian: Debian's packages asterisk-core-sounds-{en,es,fr,it,ru}-wav (CC BY-SA
3.0, CC BY 3.0), unpacked by `dpkg -x` into FOLDER. A second of each clip is heard. A fifth of the
clips, drawn, is held out; since each voice has its language, no test is made of voices apart from
languages. The baseline answers the most frequent voice.
"""

from __future__ import annotations

import sys
from collections import Counter

import rushlight as rl
from lightning_lite.easy import (
    AudioDataLoaders,
    RegexLabeller,
    accuracy,
    audio_learner,
    get_audio_files,
)

rl.manual_seed(0)
rate = {"sample_rate": 8000, "seed": 0}
voice_of = RegexLabeller(r"asterisk/sounds/(\w+)/")
wide = {"channels": (32, 64, 128), "n_mels": 64}

files = [file for file in get_audio_files(sys.argv[1]) if file.stat().st_size > 4000]
dls = AudioDataLoaders.from_path_func(".", files, voice_of, **rate)
learn = audio_learner(dls, config=wide, metrics=accuracy)
learn.fit_one_cycle(8, 0.01)
found = learn.validate()[1]

share = max(Counter(voice_of(file) for file in files).values()) / len(files)
print(f"accuracy {found:.1%} of {len(dls.valid.dataset)} clips, the same voice {share:.1%}")
assert found >= 0.93
