"""Inner names of PyTorch that libraries import: each does what it does there."""

from __future__ import annotations

import dataclasses
import importlib
import pickle

import pytest

import rushlight

torch = pytest.importorskip("torch")
PAIR = (rushlight, torch)


def both(text, **names):
    """What an expression gives in both libraries, tensors as lists, or the kind of its error."""
    found = []
    for home in PAIR:
        try:
            value = eval(text, {"home": home, **names})  # noqa: S307
        except Exception as error:
            value = type(error)
        found.append(value.tolist() if hasattr(value, "tolist") else value)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "home.hub.HASH_REGEX.pattern", "home.hub.urlparse('https://a.b/c').netloc",
        "home.serialization.DEFAULT_PROTOCOL", "home.nn.modules.module._EXTRA_STATE_KEY_SUFFIX",
        "home.nn.init._calculate_correct_fan(home.ones(3, 4, 5), 'fan_out')",
        "home.nn.init._calculate_correct_fan(home.ones(3, 4, 5), 'fan')",
        "home._shape_as_tensor(home.ones(2, 3))", "home._assert_async(home.tensor(True))",
        "home._assert_async(home.tensor(False))", "home._assert_async(home.tensor(0), 'no')",
        "home._check_with(ValueError, False, lambda: 'x')", "home._check_with(ValueError, True)",
        "home._check_tensor_all(home.tensor([True, False]))",
        "home._check_tensor_all_with(KeyError, home.tensor([False]))",
        "home._check_tensor_all(home.tensor([1]))", "home._check_not_implemented(False)",
        "home._C._get_default_device()", "home._C._get_tracing_state()",
        "str(home._C._get_accelerator())", "home._C._get_privateuse1_backend_name()",
        "home._C._are_functorch_transforms_active()",
        "home.func.vmap(lambda x: x + home._C._are_functorch_transforms_active())(home.zeros(2))",
        "home._C._functorch.is_batchedtensor(home.ones(2))",
        "home.func.vmap(lambda x: x + home._C._functorch.is_batchedtensor(x))(home.zeros(2))",
        "home.func.vmap(lambda x: home._C._functorch.get_unwrapped(x).sum() + x)(home.ones(3))",
        "home._C._jit_set_profiling_mode(home._C._jit_set_profiling_mode(True))",
        "(home._C._jit_override_can_fuse_on_cpu(True), home._C._jit_can_fuse_on_cpu())",
        "home._C._jit_override_can_fuse_on_cpu(False)",
        "isinstance(3, (home.SymInt, home.SymFloat, home.SymBool))",
        "str(home.device('mps')), str(home.device('xpu', 1)), home.device('hpu:2').index",
        "home.device('npu')", "home.Stream().query(), str(home.Stream().device)",
        "home.Stream() == home.Stream(), home.Stream().stream_id, home.Stream('cpu').device_type",
        "home.Stream().wait_stream(home.Stream())", "home.Event('cpu').record()",
        "home._tensor_str._tensor_str(home.ones(2), 0)", "home._tensor_str.get_printoptions()",
        "home._tensor_str._add_suffixes('tensor([1]', ['a=1', 'b=2'], 7, False)",
        "home._tensor_str._add_suffixes('tensor([1]', ['a=1'], 7, True)",
        "home._dynamo.config.recompile_limit", "home._dynamo.config.capture_scalar_outputs",
        "home._inductor.config.conv_1x1_as_mm", "home._dynamo.mark_static_address(home.ones(1))",
        "home._dynamo.mark_dynamic(home.ones(1), 0)",
        # a function of its own: PyTorch remembers it for the whole process
        "(lambda own: home._dynamo.allow_in_graph(own) is own)(lambda x: x)",
        "home.utils.data.dataloader._collate_fn_t is not None",
        "home.utils.data._utils.collate.np_str_obj_array_pattern.pattern",
        "home.amp.grad_scaler.OptState.STEPPED.value", "home.futures.Future[int] is not None",
        "home.ops.aten._sparse_addmm(home.zeros(2, 2), home.eye(2).to_sparse(), home.ones(2, 2))",
        "home.nn.Buffer(home.ones(2)).persistent", "type(home.nn.Buffer(home.ones(1))).__name__",
        "isinstance(home.nn.Buffer(home.ones(1)) + 1, home.nn.Buffer)",
        "isinstance(home.nn.Buffer(home.ones(1)), home.nn.Buffer)",
    ],
)  # fmt: skip
def test_inner_names(text):
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch._inductor")
    ours, theirs = both(text)
    assert ours == theirs


def test_settings_hold_inside_of_a_patch():
    config = rushlight._dynamo.config
    with config.patch(recompile_limit=3, verbose=True):
        assert (config.recompile_limit, config.verbose) == (3, True)
    assert (config.recompile_limit, config.verbose) == (8, False)
    with pytest.raises(AttributeError):
        with config.patch(no_such_setting=1):
            pass


def test_functions_are_run_without_asking_classes():
    class Loud(rushlight.Tensor):
        """Counts what it is asked."""

        asked = 0

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked += 1
            return super().__torch_function__(func, types, args, kwargs)

    class Quiet(rushlight.Tensor):
        """Is never asked."""

        __torch_function__ = rushlight._C._disabled_torch_function_impl

    loud = rushlight.ones(2).as_subclass(Loud)
    with rushlight._C.DisableTorchFunctionSubclass():
        rushlight.add(loud, 1)
    assert Loud.asked == 0
    assert type(rushlight.ones(2).as_subclass(Quiet) + 1) is rushlight.Tensor
    found = rushlight._C._disabled_torch_function_impl(rushlight.add, (), (loud, 1))
    assert (found.tolist(), Loud.asked) == ([2.0, 2.0], 0)


def test_modes_are_off_too():
    class Count(rushlight.overrides.TorchFunctionMode):
        """Counts calls."""

        calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            type(self).calls += 1
            return func(*args, **(kwargs or {}))

    x = rushlight.ones(2)
    with Count():
        assert rushlight._C._is_torch_function_mode_enabled()
        with rushlight._C.DisableTorchFunction():
            rushlight.add(x, 1)
            assert not rushlight._C._is_torch_function_mode_enabled()
        assert Count.calls == 0
        with rushlight._C.DisableTorchFunctionSubclass():
            rushlight.add(x, 1)
        assert Count.calls == 1


def test_tensors_change_places():
    for home in PAIR:
        layer = home.nn.Linear(2, 2, bias=False)
        optimizer = home.optim.SGD(layer.parameters(), lr=1.0)
        weight, other = layer.weight, home.nn.Parameter(home.zeros(1, 2))
        weight.mark = "w"
        home.utils.swap_tensors(weight, other)
        assert layer.weight is weight and tuple(weight.shape) == (1, 2)
        assert other.mark == "w" and not hasattr(weight, "mark")
        layer(home.ones(1, 2)).sum().backward()
        optimizer.step()
        assert weight.tolist() == [[-1.0, -1.0]]
        with pytest.raises((TypeError, AttributeError)):
            home.utils.swap_tensors(weight, "text")


def test_files_are_mapped(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(32)))
    for home in PAIR:
        storage = home.UntypedStorage.from_file(str(path), False, 32)
        part = home.asarray(storage.untyped()[8:16], dtype=home.uint8)
        assert part.tolist() == list(range(8, 16))
        assert part.view(home.int32).tolist() == [185207048, 252579084]
        private = home.from_file(str(path), size=4, dtype=home.uint8)
        private.fill_(9)
        assert path.read_bytes()[:4] == bytes(range(4))
        with pytest.raises(RuntimeError):
            home.from_file(str(path), size=100, dtype=home.float64)
        new = tmp_path / home.__name__
        home.from_file(str(new), shared=True, size=3, dtype=home.int16).copy_(home.arange(3))
        assert new.read_bytes() == b"\0\0\1\0\2\0"


def test_expanded_views_that_repeat_nothing_can_be_written_to():
    for _ in range(40):  # the ways of the first calls and of later ones
        base = rushlight.arange(4)
        base.expand(1, -1).zero_()
        assert base.tolist() == [0, 0, 0, 0]
        with pytest.raises(RuntimeError, match="single memory location"):
            rushlight.arange(4).expand(2, -1).zero_()


@dataclasses.dataclass
class Pair:
    """A class whose methods Python writes."""

    first: rushlight.Tensor
    second: int = 3

    def total(self) -> rushlight.Tensor:
        return self.first + self.second


def test_dataclasses_are_scripted():
    rushlight.jit.script(Pair)

    @rushlight.jit.script
    def run(x: rushlight.Tensor) -> rushlight.Tensor:
        return Pair(x).total() + Pair(x, 5).total()

    assert run(rushlight.ones(2)).tolist() == [10.0, 10.0]


def test_buffers_register_as_there():
    for home in PAIR:
        module = home.nn.Module()
        module.kept, module.left = (
            home.nn.Buffer(home.ones(2)),
            home.nn.Buffer(home.zeros(1), persistent=False),
        )
        assert list(module.state_dict()) == ["kept"]
        assert [name for name, _ in module.named_buffers()] == ["kept", "left"]
        module.left = home.empty_like(module.left).fill_(4)
        assert module.left.tolist() == [4.0]
        assert list(module.state_dict()) == ["kept"]


def test_scatter_and_gather_are_opposites():
    from rushlight.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs

    given = {"x": rushlight.arange(6.0).reshape(3, 2), "rest": [(rushlight.ones(3), "text")]}
    parts = scatter(given, ["cpu", "cpu"])
    assert [p["x"].shape[0] for p in parts] == [2, 1]
    assert parts[1]["rest"][0][1] == "text"
    assert gather([p["x"] for p in parts], "cpu").tolist() == given["x"].tolist()
    assert gather([rushlight.tensor(1.0), rushlight.tensor(2.0)], "cpu").tolist() == [1.0, 2.0]
    args, kwargs = scatter_kwargs((rushlight.ones(2),), None, ["cpu", "cpu"])
    assert len(args) == len(kwargs) == 2 and kwargs == ({}, {})


def test_futures_in_annotations_and_pickles_of_marks():
    assert rushlight.futures.Future[int].__args__ == (int,)
    assert pickle.loads(pickle.dumps(rushlight.amp.grad_scaler.OptState.READY)).value == 0


def test_bars_of_progress_are_found_beside_downloads(monkeypatch):
    tqdm = pytest.importorskip("tqdm")

    from rushlight.hub import tqdm as found

    assert found is torch.hub.tqdm is tqdm.tqdm
    with pytest.raises(AttributeError, match="no attribute 'bars'"):
        rushlight.hub.bars  # noqa: B018 - the name itself is asked for
    monkeypatch.setitem(importlib.sys.modules, "tqdm", None)
    with pytest.raises(AttributeError, match="pip install tqdm"):
        rushlight.hub.tqdm  # noqa: B018
