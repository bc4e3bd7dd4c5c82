"""Small imitations of the folders of torchaudio's data sets, made by Python's library alone.

`FOLDERS` holds for each data set a function that fills a folder and gives the calls to make, as
keyword arguments without `root`. Every sound file is a WAV, whatever its ending: what reads it
looks at its content.
"""

from __future__ import annotations

import hashlib
import struct
import wave
from pathlib import Path

FOLDERS = {}


def folder(function):
    FOLDERS[function.__name__] = function
    return function


def sound(path, rate=16000, frames=400, channels=1):
    """A WAV of 16 bits whose samples follow from its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    seed = int(hashlib.sha256(path.name.encode()).hexdigest()[:6], 16)
    samples = [(seed * (i + 1) * (i + 3)) % 65536 - 32768 for i in range(frames * channels)]
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(struct.pack(f"<{len(samples)}h", *samples))


def text(path, content, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode(encoding))


@folder
def CMUARCTIC(root):
    for voice in ("aew", "slt"):
        base = root / "ARCTIC" / f"cmu_us_{voice}_arctic"
        lines = []
        for number, words in enumerate(("Author of the trail, Philip Steels.", "Not at all.")):
            name = f"arctic_a{number + 1:04}"
            sound(base / "wav" / f"{name}.wav", frames=100 + number)
            lines.append(f'( {name} "{words.replace(",", "")}" )\n')
        text(base / "etc" / "txt.done.data", "".join(lines))
    return [{}, {"url": "slt"}]


@folder
def CMUDict(root):
    text(
        root / "cmudict-0.7b",
        ';;; a comment\n!EXCLAMATION-POINT  EH2 K S\n"CLOSE-QUOTE  K L OW1 Z\n'
        "...ELLIPSIS  IH2 L\n--DASH  D AE1 SH\n'BOUT  B AW1 T\nA  AH0\nA(1)  EY1\n"
        "D\xc9J\xc0  D EY2 ZH AA1\nZEBRA(2)  Z IY1 B R AH0\n",
        "latin-1",
    )
    text(root / "cmudict-0.7b.symbols", "AA\nAA0\nAA1\nZH\n")
    return [{}, {"exclude_punctuations": False}]


@folder
def COMMONVOICE(root):
    header = "client_id\tpath\tsentence\tup_votes\tlocale\n"
    rows = "a1\tcommon_voice_en_1\tHello \u00fc\t2\ten\nb2\tcommon_voice_en_2.mp3\tTwo\t0\ten\n"
    text(root / "train.tsv", header + rows)
    text(root / "test.tsv", header + "a1\tcommon_voice_en_3.mp3\tOnly one\t1\ten\n")
    for number in (1, 2, 3):
        sound(root / "clips" / f"common_voice_en_{number}.mp3", rate=48000)
    return [{}, {"tsv": "test.tsv"}]


@folder
def DR_VCTK(root):
    base = root / "DR-VCTK" / "DR-VCTK"
    for subset, title in (("train", "one\ntwo\n"), ("test", "one\n")):
        names = [f"p22{n}_00{n}.wav" for n in (3, 1)]
        rows = "".join(f"{name}\tmic{n}\t{n + 1}\n" for n, name in enumerate(names))
        text(base / "configurations" / f"{subset}_ch_log.txt", title + rows)
        for name in names:
            sound(base / f"clean_{subset}set_wav_16k" / name)
            sound(base / f"device-recorded_{subset}set_wav_16k" / name, frames=410)
    return [{}, {"subset": "test"}]


@folder
def FluentSpeechCommands(root):
    base = root / "fluent_speech_commands_dataset"
    header = ",path,speakerId,transcription,action,object,location\n"
    for subset in ("train", "test"):
        rows = ""
        for number in range(2):
            path = f"wavs/speakers/s{number}/{subset}{number}.wav"
            sound(base / path)
            rows += f'{number},{path},s{number},"Turn, on",activate,lights,kitchen\n'
        text(base / "data" / f"{subset}_data.csv", header + rows)
    return [{}, {"subset": "test"}]


@folder
def GTZAN(root):
    for name in ("blues.00000", "blues.00029", "rock.00001", "pop.00099"):
        sound(root / "genres" / name.split(".")[0] / f"{name}.wav", rate=22050)
    text(root / "genres" / "rock" / "notes.txt", "not a song")
    sound(root / "genres" / "rock" / "rock.1.wav")
    return [{}]


@folder
def IEMOCAP(root):
    for session in (1, 2):
        base = root / "IEMOCAP" / f"Session{session}"
        for kind in ("impro01", "script01_1"):
            talk = f"Ses0{session}F_{kind}"
            lines = "% comment\n\n"
            for number, feeling in enumerate(("neu", "xxx", "hap")):
                name = f"{talk}_F00{number}"
                sound(base / "sentences" / "wav" / talk / f"{name}.wav")
                lines += f"[6.2 - 8.2]\t{name}\t{feeling}\t[2.5, 2.5, 2.5]\nC-E2:\tNeutral;\t()\n"
            lines += f"[9.0 - 9.5]\t{talk}_M999\tsad\t[1, 1, 1]\n"
            text(base / "dialog" / "EmoEvaluation" / f"{talk}.txt", lines)
    return [{"sessions": (1, 2)}, {"sessions": (2,), "utterance_type": "scripted"}]


def book(base, speaker, chapter, words):
    lines = ""
    for number, spoken in enumerate(words):
        name = f"{speaker}-{chapter}-{number:04}"
        sound(base / str(speaker) / str(chapter) / f"{name}.flac")
        lines += f"{name} {spoken}\n"
    text(base / str(speaker) / str(chapter) / f"{speaker}-{chapter}.trans.txt", lines)


@folder
def LIBRISPEECH(root):
    for part in ("train-clean-100", "dev-other"):
        for speaker, chapter in ((103, 1240), (84, 121550)):
            book(root / "LibriSpeech" / part, speaker, chapter, ["CHAPTER ONE", "IT IS THE ONE"])
    return [{}, {"url": "dev-other"}]


@folder
def LibriSpeechBiasing(root):
    LIBRISPEECH(root)
    return [{}, {"blist": ["ONE", "IT", "NOTHING"]}]


@folder
def LibriLightLimited(root):
    base = root / "librispeech_finetuning"
    for part in ("1h/0/clean", "1h/1/other", "9h/clean"):
        book(base / part, 60, 121082, ["SO THEY SAID", "NO"])
    return [{}, {"subset": "1h"}, {"subset": "10h"}]


@folder
def LibriMix(root):
    for rate, place in ((8000, "wav8k/min/train-360"), (16000, "wav16k/max/dev")):
        base = root / "Libri2Mix" / place
        for part in ("mix_clean", "mix_both", "mix_single", "s1", "s2"):
            for name in ("b_c.wav", "a_d.wav"):
                sound(base / part / name, rate)
    other = {"subset": "dev", "sample_rate": 16000, "mode": "max"}
    return [{}, {**other, "task": "enh_both"}, {**other, "task": "sep_noisy"}]


@folder
def LIBRITTS(root):
    for number in (0, 1):
        name = f"103_1241_00000{number}_000001"
        base = root / "LibriTTS" / "train-clean-100" / "103" / "1241"
        sound(base / f"{name}.wav", rate=24000)
        text(base / f"{name}.original.txt", f"Mr. {number}.")
        text(base / f"{name}.normalized.txt", f"Mister {number}.\nmore")
    return [{}]


@folder
def LJSPEECH(root):
    base = root / "LJSpeech-1.1"
    for number in (1, 2):
        sound(base / "wavs" / f"LJ001-000{number}.wav", rate=22050)
    text(base / "metadata.csv", 'LJ001-0001|In "1455", or|In "fourteen", or\nLJ001-0002|x|y\n')
    return [{}]


@folder
def MUSDB_HQ(root):
    songs = {"train": ["A - One", "Leaf - Summerghost", "B - Two"], "test": ["C - Three"]}
    for subset, names in songs.items():
        for name in names:
            for source in ("bass", "drums", "other", "vocals", "mixture"):
                path = root / "musdb18hq" / subset / name / f"{source}.wav"
                sound(path, 44100, 60, channels=2)
    return [
        {"subset": "train"},
        {"subset": "train", "split": "train", "sources": ["vocals", "bass"]},
        {"subset": "test"},
    ]


@folder
def QUESST14(root):
    base = root / "quesst14Database"
    for list_name in ("utterances", "dev", "eval"):
        rows = ""
        for number, language in enumerate(("nnenglish", "czech", "nnenglish")):
            path = f"{list_name}/quesst14_{number:05}.wav"
            sound(base / path, 8000)
            rows += f"quesst14Database/{path} {language}\n"
        text(base / "scoring" / f"language_key_{list_name}.lst", rows)
    return [{"subset": "docs"}, {"subset": "dev", "language": None}, {"subset": "eval"}]


@folder
def Snips(root):
    lines = ""
    for subset in ("train", "test"):
        for speaker in ("Aditi", "Joey", "Nobody"):
            name = f"{speaker}-snips-{subset}-0"
            sound(root / "SNIPS" / subset / f"{name}.mp3")
            sound(root / "SNIPS" / subset / f"{name}.wav", frames=300)
            lines += f"{name} BOS play a song EOS\tO O B-music I-music O PlayMusic\n"
    text(root / "SNIPS" / "all.iob.snips.txt", lines)
    return [
        {"subset": "train"},
        {"subset": "test", "speakers": ["Joey", "Nobody"], "audio_format": "wav"},
    ]


@folder
def SPEECHCOMMANDS(root):
    base = root / "SpeechCommands" / "speech_commands_v0.02"
    for word in ("yes", "bed"):
        for number in range(4):
            sound(base / word / f"0a{number}b_nohash_{number}.wav")
    sound(base / "_background_noise_" / "pink_noise.wav")
    text(base / "validation_list.txt", "bed/0a0b_nohash_0.wav\nyes/0a1b_nohash_1.wav\n")
    text(base / "testing_list.txt", "bed/0a3b_nohash_3.wav\n")
    return [{}] + [{"subset": subset} for subset in ("training", "validation", "testing")]


@folder
def TEDLIUM(root):
    calls = []
    for release, base, part in (
        ("release1", "TEDLIUM_release1", "train"),
        ("release2", "TEDLIUM_release2", "dev"),
        ("release3", "TEDLIUM_release-3/data", ""),
        ("release3", "TEDLIUM_release-3/legacy", "test"),
    ):
        place = root / base / part
        for talk in ("B_2003", "A_2002"):
            sound(place / "sph" / f"{talk}.sph", frames=1600)
            times = ((0, 0.025), (0.05, 0.1))
            rows = [f"{talk} 1 S{talk} {a} {b} <o,f0,male> i 'm {a}\n" for a, b in times]
            text(place / "stm" / f"{talk}.stm", "".join(rows))
        calls.append({"release": release, "subset": part or "train"})
    words = "a AH\na(2) EY\nabout AH B AW T\n"
    text(root / "TEDLIUM_release1" / "TEDLIUM.150K.dic", words)
    text(root / "TEDLIUM_release2" / "TEDLIUM.152k.dic", words)
    text(root / "TEDLIUM_release-3" / "TEDLIUM.152k.dic", words)
    return calls


@folder
def VCTK_092(root):
    base = root / "VCTK-Corpus-0.92"
    for speaker in ("p225", "p280", "p362"):
        for number in ("001", "002"):
            name = f"{speaker}_{number}"
            text(base / "txt" / speaker / f"{name}.txt", f"Please call {name}.\nmore\n")
            for mic in ("mic1", "mic2"):
                if (speaker, number, mic) != ("p362", "002", "mic2"):
                    path = base / "wav48_silence_trimmed" / speaker / f"{name}_{mic}.flac"
                    sound(path, 48000)
    return [{}, {"mic_id": "mic1"}]


def voices(root):
    for speaker in ("id10001", "id10002"):
        for number in (1, 2):
            sound(root / "wav" / speaker / "abc" / f"0000{number}.wav")


@folder
def VoxCeleb1Identification(root):
    voices(root)
    rows = "1 id10002/abc/00001.wav\n2 id10001/abc/00001.wav\n1 id10001/abc/00002.wav\n"
    text(root / "iden_split.txt", rows + "3 id10002/abc/00002.wav\n")
    return [{}, {"subset": "dev"}, {"subset": "test"}]


@folder
def VoxCeleb1Verification(root):
    voices(root)
    rows = "1 id10001/abc/00001.wav id10001/abc/00002.wav\n"
    text(root / "veri_test.txt", rows + "0 id10001/abc/00001.wav id10002/abc/00001.wav\n")
    return [{}]


@folder
def YESNO(root):
    for name in ("0_0_0_0_1_1_1_1", "1_0_1_1_0_0_0_1"):
        sound(root / "waves_yesno" / f"{name}.wav", 8000)
    return [{}]


def described(item, root):
    """An item as JSON holds it: of a tensor the dtype, the shape and a sum over its samples."""
    if hasattr(item, "dtype") and hasattr(item, "shape"):
        data = (item.double() * 32768).round().long().flatten().tolist()
        digest = hashlib.sha256(repr(data).encode()).hexdigest()[:16]
        return ["tensor", str(item.dtype).split(".")[-1], list(item.shape), digest]
    if isinstance(item, (tuple, list)):
        return [type(item).__name__, *(described(each, root) for each in item)]
    if isinstance(item, dict):
        return {key: described(value, root) for key, value in item.items()}
    return item.replace(str(root), "ROOT") if isinstance(item, str) else item


def results(kind, name, root):
    """The items, and metadata where there are some, of all calls."""
    calls = FOLDERS[name](Path(root))
    found = []
    for options in calls:
        data = kind(root=str(root), **options)
        entry = {"items": [described(data[n], root) for n in range(len(data))]}
        if hasattr(data, "get_metadata"):
            entry["metadata"] = [described(data.get_metadata(n), root) for n in range(len(data))]
        for extra in ("symbols", "phoneme_dict"):
            if hasattr(data, extra):
                entry[extra] = described(getattr(data, extra), root)
        found.append(entry)
    return found
