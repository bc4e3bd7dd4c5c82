"""Names of torchtext's prototypes: vectors, vocabularies, transforms, generation's pieces."""

import base64

import pytest

import rushlight as rl
from rushlight_text.prototype import transforms, vectors, vocab_factory
from rushlight_text.prototype.generate import GenerationUtils


def test_vectors_as_a_module(tmp_path):
    table = vectors.build_vectors(["a", "b"], rl.tensor([[1.0, 2], [3, 4]]))
    assert table(["b", "z"]).tolist() == [[3, 4], [0, 0]] and len(table) == 2
    assert table.lookup_vectors([]).shape == (0, 2) and not table.is_jitable
    table["b"] = rl.tensor([5.0, 6])
    table["c"] = rl.tensor([7.0, 8])
    assert table(["b", "c", "a"]).tolist() == [[5, 6], [7, 8], [1, 2]]
    assert transforms.VectorTransform(table)(["c"]).tolist() == [[7, 8]]
    with pytest.raises(ValueError, match=r"shape \[2\], got \[3\]"):
        table["d"] = rl.zeros(3)
    with pytest.raises(ValueError, match="2 tokens and 1 vectors"):
        vectors.Vectors(["a", "b"], rl.zeros(1, 2))
    with pytest.raises(ValueError, match="twice"):
        vectors.Vectors(["a", "a"], rl.zeros(2, 2))
    with pytest.raises(ValueError, match="unk_tensor has shape"):
        vectors.Vectors(["a"], rl.zeros(1, 2), rl.zeros(3))


def test_vectors_from_files(tmp_path, monkeypatch):
    path = tmp_path / "v.csv"
    path.write_text("a,1 2\nb,c,3 4\n")
    table = vectors.load_vectors_from_file_path(path, unk_tensor=rl.tensor([9.0, 9]))
    assert table["b,c"].tolist() == [3, 4] and table["?"].tolist() == [9, 9]
    path.write_text("a 1 2\n")
    assert vectors.load_vectors_from_file_path(path, " ")["a"].tolist() == [1, 2]
    for line, message in (("b,1", "expected a token"), ("b,1 x", "could not convert")):
        path.write_text(f"a,1 2\n{line}\n")
        with pytest.raises(ValueError, match=f"line 2: {message}"):
            vectors.load_vectors_from_file_path(path)
    monkeypatch.setenv("RUSHLIGHT_MIRRORS", str(tmp_path))
    (tmp_path / "wiki.en.vec").write_text("a 1 2\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "glove.6B.50d.txt").write_text("a 3 4\n")
    root = str(tmp_path / "root")
    assert vectors.FastText(root=root)["a"].tolist() == [1, 2]
    assert vectors.GloVe("6B", 50, root=root)["a"].tolist() == [3, 4]


def test_vocabularies_from_files(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("b a b\nc a b\n")
    build = vocab_factory.build_vocab_from_text_file
    assert build(path).get_itos() == ["b", "a", "c"]
    assert build(path, tokenizer=lambda line: line.upper().split(), min_freq=2)["A"] == 1
    path.write_text("z\ny\ny\nx y\n")
    load = vocab_factory.load_vocab_from_file
    assert load(path).get_itos() == ["z", "y", "x y"]
    assert load(path, min_freq=2).get_itos() == ["y"]


def test_transforms(recorded, tmp_path):
    entry = recorded("sentencepiece")["bpe"]
    answer = entry["answers"][0]
    path = tmp_path / "m.model"
    path.write_bytes(base64.b64decode(entry["model"]))
    model = transforms.load_sp_model(path)
    for source in (model, path, str(path)):
        pieces = transforms.sentencepiece_tokenizer(source)
        ids = transforms.sentencepiece_processor(source)
        assert pieces(answer["text"]) == answer["pieces"]
        assert ids(answer["text"]) == answer["ids"]
        assert pieces.decode(answer["pieces"]) == ids.decode(answer["ids"]) == answer["decoded"]
    assert transforms.basic_english_normalize()("It's Here.") == ["it", "'", "s", "here", "."]
    assert sorted(transforms.PRETRAINED_SP_MODEL)[0] == "text_bpe_15000"


def test_restrictions_of_scores():
    utils = GenerationUtils(rl.nn.Identity())
    scores = rl.tensor([[0.1, 0.5, 0.15, 0.25]])
    assert (
        utils._get_top_k_restriction(scores, 2).tolist() == rl.tensor([[0, 0.5, 0, 0.25]]).tolist()
    )
    kept = utils._get_top_p_restriction(scores, 0.8)
    assert kept.tolist() == rl.tensor([[0, 0.5, 0, 0.25]]).tolist()
    assert rl.equal(utils._apply_temperature(scores, 0.5), scores * 2)
    odd = rl.tensor([float("nan"), float("inf"), 1.0])
    assert utils._remove_invalid_values(odd).tolist() == [0.0, rl.finfo(rl.float32).max, 1.0]
    for call in (
        lambda: utils._get_top_k_restriction(scores, 0),
        lambda: utils._get_top_p_restriction(scores, 1.5),
        lambda: utils._apply_temperature(scores, 0.0),
    ):
        with pytest.raises(ValueError, match="should be"):
            call()
    with pytest.raises(NotImplementedError, match="rushlight_text.generation"):
        utils.beam_search(scores, 2, 5)


def test_models_without_an_encoder():
    class Counter(rl.nn.Module):
        def prepare_inputs_for_generation(self, ids, model_kwargs):
            return {"ids": ids}

        def forward(self, ids):
            return {"decoder_output": rl.nn.functional.one_hot(ids + 1, 6).float()}

    utils = GenerationUtils(Counter(), is_encoder_decoder=False)
    assert (
        utils.generate(rl.zeros(2, 1, dtype=rl.long), eos_idx=4).tolist() == [[0, 1, 2, 3, 4]] * 2
    )
    assert utils.generate(rl.zeros(1, 1, dtype=rl.long), max_length=3).tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="`num_beams` must be >= 1, got 0"):
        utils.generate(rl.zeros(1, 1, dtype=rl.long), num_beams=0)
