"""Do queries that PyTorch's users type find their page among the first three of the docs' search?

    python ci/docs_search.py            after docs/build.py; needs lunr (`pip install lunr`)
    python ci/docs_search.py QUERY      what a query finds

The site searches with lunr.js in the browser. This reads the same index, site/search/, with lunr
for Python, in the theme's way: titles count a thousand times, every word is a beginning of words,
results of one page stand together, and pages, and entries with all words, come sooner.
"""

from __future__ import annotations

import html
import json
import re
import sys

from packages import ROOT

INDEX = ROOT / "site" / "search" / "search_index.json"
FIRST = 3
# Query -> pages of which one must be among the first.
QUERIES = {
    "save model": ("learn_saving", "checkpoints"),
    "load checkpoint": ("checkpoints", "learn_saving"),
    "state_dict": ("learn_saving", "checkpoints"),
    "safetensors": ("learn_saving", "checkpoints"),
    "dataloader num_workers": ("data_loading", "learn_data", "reference/rushlight.utils.data"),
    "collate padding": ("learn_data",),
    "autograd gradient": ("learn_tensors", "reference/rushlight.autograd"),
    "zero_grad": ("learn_tensors", "learn_modules"),
    "learning rate": ("learn_modules", "trainer"),
    "lr scheduler": ("reference/rushlight.optim.lr_scheduler",),
    "training loop": ("learn_modules",),
    "cuda gpu": ("gpu", "devices"),
    "devices": ("devices",),
    "torch.compile": ("compile",),
    "onnx export": ("onnx",),
    "torchscript": ("torchscript",),
    "torch.export": ("export",),
    "vmap": ("function_transforms",),
    "jacobian hessian": ("function_transforms", "learn_tensors"),
    "custom operator": ("custom_ops",),
    "distributed training": ("distributed",),
    "early stopping": ("learn_trainer", "trainer"),
    "trainer callbacks": ("trainer",),
    "profiler": ("profiling", "reference/rushlight.profiler"),
    "random seed": ("seeds",),
    "data augmentation": ("learn_vision", "vision_transforms"),
    "bounding boxes detection": ("learn_vision", "vision_models"),
    "tokenizer": ("text_models", "learn_text"),
    "text generation": ("text_models", "learn_text"),
    "mel spectrogram": ("learn_audio", "audio_functions"),
    "resample audio": ("learn_audio", "audio_functions", "guides/audio"),
    "debug nan": ("learn_debugging",),
    "sparse tensors": ("sparse",),
    "nested tensor": ("nested",),
    "normal distribution": ("distributions", "reference/rushlight.distributions"),
    "import torch": ("run_pytorch_programs", "from_pytorch"),
}


def words_of(text: str) -> str:
    """The text of a piece of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def index_of(entries: list[dict]):
    """Lunr's index of the site, with the theme's pipeline: stop words alone, no stems."""
    from lunr import get_default_builder, lunr
    from lunr.stop_word_filter import stop_word_filter

    builder = get_default_builder()
    for pipeline in (builder.pipeline, builder.search_pipeline):
        pipeline.reset()
    builder.pipeline.add(stop_word_filter)
    fields = [{"field_name": "title", "boost": 1000}, "text"]
    boosted = [(entry, {"boost": entry.get("boost", 1)}) for entry in entries]
    return lunr("location", fields, boosted, builder=builder)


def found(index, query: str) -> list[str]:
    """The pages that a query finds, best first."""
    words = query.lower().split()
    best: dict[str, float] = {}
    for result in index.search(" ".join(f"{word}*" for word in words)):
        page, _, anchor = result["ref"].partition("#")
        terms = list(result["match_data"].metadata)
        whole = all(any(term.startswith(word) for term in terms) for word in words)
        score = result["score"] * (1 + (int(not anchor) + int(whole)) ** 2)
        best[page] = max(best.get(page, 0.0), score)
    return [page.removesuffix(".html") for page in sorted(best, key=lambda page: -best[page])]


def main() -> int:
    entries = json.loads(INDEX.read_text(encoding="utf-8"))["docs"]
    for entry in entries:
        entry.update(title=words_of(entry["title"]), text=words_of(entry["text"]))
    index = index_of(entries)
    if sys.argv[1:]:
        print("\n".join(found(index, " ".join(sys.argv[1:]))[:10]))
        return 0
    missed = 0
    for query, pages in QUERIES.items():
        first = found(index, query)[:FIRST]
        if not set(pages) & set(first):
            missed += 1
            print(f"{query!r} finds {first}, not {pages}")
    print(f"docs: {len(QUERIES) - missed} of {len(QUERIES)} queries find their page")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
