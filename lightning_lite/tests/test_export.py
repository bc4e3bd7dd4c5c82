"""Exported Learners predict what they predicted; files hold no code; what cannot be told is."""

from __future__ import annotations

import pickletools
import zipfile

import pytest

import rushlight as rl
from lightning_lite import easy
from rushlight import nn

PIL = pytest.importorskip("PIL.Image")
QUIET = {"enable_progress_bar": False}


def colours(folder, block=easy.CategoryBlock, get_y=None, **options):
    """Twelve red and blue pictures as loaders."""
    for number in range(12):
        name = ("red", "blue")[number % 2]
        image = PIL.new("RGB", (24 + number, 20), name)
        image.paste((255, 255, 0), (0, 0, number, number))
        image.save(folder / f"{name}_{number}.png")
    whole = easy.DataBlock(
        (easy.ImageBlock, block), get_items=easy.get_image_files,
        get_y=get_y or (lambda file: file.name.split("_")[0]),
        splitter=easy.RandomSplitter(0.5, seed=1),
        item_tfms=options.pop("item_tfms", easy.Resize(16)),
        batch_tfms=[*easy.aug_transforms(), easy.Normalize.from_stats([0.5] * 3, [0.25] * 3)],
    )  # fmt: skip
    return whole.dataloaders(folder, bs=4, **options)


class Own(nn.Module):
    """A network of the program's own."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(x.mean((2, 3)))


def own(folder, loss=None, **options):
    dls = options.pop("dls", None) or colours(folder)
    return easy.Learner(dls, Own(), loss or nn.CrossEntropyLoss(), path=folder, **QUIET, **options)


def same_predictions(learn, again, items):
    for item in items:
        (name, number, shares), (other, again_number, again_shares) = (
            each.predict(item) for each in (learn, again)
        )
        assert name == other and rl.equal(number, again_number) and rl.equal(shares, again_shares)
    loaders = [each.dls.test_dl(items) for each in (learn, again)]
    outputs, others = (
        each.get_preds(dl)[0] for each, dl in zip((learn, again), loaders, strict=True)
    )
    assert rl.equal(outputs, others)


def test_vision_round_trip(tmp_path):
    pytest.importorskip("rushlight_vision")
    dls = colours(tmp_path)
    metrics = [easy.accuracy, easy.named(easy.top_k_accuracy, "top2", k=2)]
    learn = easy.vision_learner(
        dls, "resnet18", hidden=8, ps=0.1, path=tmp_path, metrics=metrics, **QUIET
    )
    learn.fit_one_cycle(1, 0.01)
    again = easy.load_learner(learn.export(), **QUIET)
    same_predictions(learn, again, easy.get_image_files(tmp_path)[:1])
    assert again.dls.vocab == ["blue", "red"] and len(again.module.groups()) == 3
    assert again.validate(dls.valid) == learn.validate()
    assert again.recorder.names == learn.recorder.names
    third = easy.load_learner(again.export(tmp_path / "deep" / "third.pkl"), **QUIET)
    same_predictions(learn, third, [tmp_path / "red_0.png"])


def test_architectures_by_function(tmp_path):
    models = pytest.importorskip("rushlight_vision.models")
    learn = easy.vision_learner(colours(tmp_path), models.resnet18, hidden=8, path=tmp_path)
    assert learn.recipe.config["arch"] == "resnet18"


def test_own_networks_are_given_again(tmp_path):
    learn = own(tmp_path)
    file = learn.export("own.pkl")
    same_predictions(learn, easy.load_learner(file, model=Own(), **QUIET), [tmp_path / "red_0.png"])
    with pytest.raises(ValueError, match=r"of the program's own, Own; give it: .*model=Own"):
        easy.load_learner(file)
    with pytest.raises(RuntimeError, match="last"):
        easy.load_learner(file, model=nn.Linear(3, 2))


def test_other_targets(tmp_path):
    several = colours(tmp_path, easy.MultiCategoryBlock, lambda file: [file.name[:3], "square"])
    learn = easy.vision_learner(several, make_body, path=tmp_path, hidden=4, **QUIET)
    again = easy.load_learner(learn.export(), model=learn.model, **QUIET)
    same_predictions(learn, again, [tmp_path / "red_0.png"])
    assert isinstance(again.module.loss_func, nn.BCEWithLogitsLoss)
    numbers = colours(tmp_path, easy.RegressionBlock, lambda file: [1.0, 2.0])
    learn = own(tmp_path, nn.functional.mse_loss, dls=numbers)
    again = easy.load_learner(learn.export(), model=Own(), **QUIET)
    same_predictions(learn, again, [tmp_path / "red_0.png"])
    assert again.module.loss_func is nn.functional.mse_loss


def make_body():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_tables_and_ratings(tmp_path):
    table = {"kind": ["a", "b"] * 40, "hours": [4.0, None] * 40, "rich": ["y", "n"] * 40}
    learn = easy.tabular_learner(table, "rich", ["kind"], ["hours"], bs=16, path=tmp_path, **QUIET)
    again = easy.load_learner(learn.export(), **QUIET)
    inputs = learn.processor.transform(table)
    for one, other in zip(inputs, again.processor.transform(table), strict=True):
        assert rl.equal(one, other)
    assert rl.equal(learn.model.eval()(*inputs), again.model.eval()(*inputs))
    assert again.vocab == ["n", "y"]
    learn = easy.collab_learner(
        ["ann", "bob"] * 20, ["tea", "rum", "ale", "gin"] * 10, [5.0, 1.0] * 20, n_factors=3,
        y_range=(0, 6), path=tmp_path, **QUIET,
    )  # fmt: skip
    again = easy.load_learner(learn.export(), **QUIET)
    pairs = rl.tensor([[1, 2], [2, 1], [0, 0]])
    assert rl.equal(learn.model(pairs), again.model(pairs))
    assert [again.users, again.items] == [learn.users, learn.items]


def test_losses_keep_their_options(tmp_path):
    loss = nn.CrossEntropyLoss(weight=rl.tensor([1.0, 3.0]), label_smoothing=0.1)
    again = easy.load_learner(own(tmp_path, loss).export(), model=Own())
    x, y = rl.randn(5, 2), rl.tensor([0, 1, 1, 0, 1])
    assert rl.equal(again.module.loss_func(x, y), loss(x, y))


def test_files_hold_no_code(tmp_path):
    file = own(tmp_path, metrics=easy.accuracy).export()
    with zipfile.ZipFile(file) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith("data.pkl")]
        found = pickletools.genops(archive.read(name))
        words = {str(arg) for _, arg, _ in found if isinstance(arg, str)}
    assert not [each for each in words if "lightning_lite" in each and "Learner" not in each]
    assert rl.load(file, weights_only=True)["data"]["parts"][1]["getter"] is None


def test_hostile_names_find_nothing(tmp_path):
    file = own(tmp_path).export()
    state = rl.load(file)
    for change, message in (
        ({"recipe": ["system", {"items": []}]}, "architecture is 'system'"),
        ({"loss": {"layer": "Module", "options": {"items": []}}}, "loss is 'Module'"),
        ({"metrics": [{"metric": {"function": "eval"}, "options": {"items": []}, "name": None}]},
         "function 'eval'"),
        ({"format": "other"}, "not a file of Learner.export"),
    ):  # fmt: skip
        rl.save({**state, **change}, file)
        given = {} if "recipe" in change else {"model": Own()}
        with pytest.raises(ValueError, match=message):
            easy.load_learner(file, **given)


def test_what_cannot_be_described_is_told(tmp_path):
    with pytest.raises(ValueError, match="loss_func is <function"):
        own(tmp_path, lambda output, target: output.mean()).export()
    with pytest.raises(ValueError, match="metrics .* holds <function"):
        own(tmp_path, metrics=lambda output, target: output.mean()).export()
    dls = colours(tmp_path, item_tfms=[easy.Resize(16), lambda image: image])
    with pytest.raises(ValueError, match="item_tfms holds <function"):
        own(tmp_path, dls=dls).export()

    class Wide(easy.Resize):
        pass

    with pytest.raises(ValueError, match="item_tfms holds .*Wide"):
        own(tmp_path, dls=colours(tmp_path, item_tfms=Wide(16))).export()
    again = easy.load_learner(own(tmp_path).export(), model=Own())
    with pytest.raises(ValueError, match="does not keep how items say their targets"):
        next(iter(again.dls.test_dl([tmp_path / "red_0.png"], with_labels=True)))
    with pytest.raises(ValueError, match="0 samples make no batch"):
        again.dls.one_batch()
