"""Short programs, one subject each: they print the same under PyTorch and under Rushlight."""

import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import HAS_TORCH, run_rushlight, run_torch

LOADER = """
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        assert get_worker_info().num_workers == 2
        return torch.full((2000,), i * i / 81), {"n": i, "noise": torch.rand(2)}

if __name__ == "__main__":
    torch.manual_seed(1)
    loader = DataLoader(Squares(), batch_size=4, shuffle=True, num_workers=2,
                        multiprocessing_context="%s")
    model = torch.nn.Linear(2000, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for epoch in range(2):
        for x, info in loader:
            loss = (model(x) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(info["n"].tolist(), "%%.4g" %% loss.item(), info["noise"].sum().item() > 0)
"""

PROGRAMS = {
    "loader_fork": LOADER % "fork",
    "loader_spawn": LOADER % "spawn",
    "state_dict": """
        import io, torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3))
                self.scale = nn.Parameter(torch.ones(3, 1))
                self.register_buffer("mean", torch.zeros(2), persistent=False)
            def forward(self, x):
                return self.body(x) * self.scale
        torch.manual_seed(0)
        a, b, file = Net(), Net(), io.BytesIO()
        a(torch.randn(4, 2, 8))
        torch.save(a.state_dict(), file)
        file.seek(0)
        print(b.load_state_dict(torch.load(file, weights_only=True)))
        print({k: tuple(v.shape) for k, v in b.state_dict().items()})
        print(all(torch.equal(x, y) for x, y in zip(a.state_dict().values(),
                                                    b.state_dict().values())))
        try:
            b.load_state_dict({"scale": torch.ones(3, 1)})
        except RuntimeError as error:
            print("Missing key(s)" in str(error))
    """,
    "function": """
        import torch
        class Clamp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, low):
                ctx.save_for_backward(x)
                ctx.low = low
                return x.clamp(min=low)
            @staticmethod
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return grad * (x > ctx.low), None
        x = torch.linspace(-2, 2, 5, requires_grad=True)
        Clamp.apply(x, -0.5).pow(3).sum().backward()
        print(x.grad, Clamp.apply(x, 0).grad_fn is not None)
        with torch.no_grad():
            print(Clamp.apply(x, 0.0).requires_grad)
    """,
    "sampler": """
        import torch
        from torch.utils.data import (ConcatDataset, DataLoader, Dataset, IterableDataset, Sampler,
                                      Subset, random_split)
        from torch.utils.data.dataloader import default_collate
        class Letters(Dataset):
            def __init__(self, text):
                self.text = text
            def __len__(self):
                return len(self.text)
            def __getitem__(self, i):
                return self.text[i], i
        class EveryOther(Sampler):
            def __init__(self, data):
                self.n = len(data)
            def __iter__(self):
                return iter([*range(0, self.n, 2), *range(1, self.n, 2)])
            def __len__(self):
                return self.n
        class Count(IterableDataset):
            def __iter__(self):
                yield from range(5)
        torch.manual_seed(3)
        data = ConcatDataset([Letters("abcde"), Letters("vwxyz")])
        print(list(DataLoader(data, batch_size=3, sampler=EveryOther(data))))
        a, b = random_split(data, [0.7, 0.3], generator=torch.Generator().manual_seed(1))
        print(a.indices, [x for x in b], list(DataLoader(Count(), batch_size=2)))
        print(default_collate([{"a": 1, "b": [1.0, 2]}, {"a": 2, "b": [3.0, 4]}]))
        print(next(iter(DataLoader(Subset(data, [1, 2]), shuffle=True,
                                   collate_fn=lambda batch: batch[0]))))
    """,
    "schedulers": """
        import torch
        import torch.optim.lr_scheduler as sched
        p = torch.nn.Parameter(torch.zeros(2))
        for make in (lambda o: sched.StepLR(o, 2, 0.1), lambda o: sched.ExponentialLR(o, 0.9),
                     lambda o: sched.MultiStepLR(o, [1, 3]),
                     lambda o: sched.CosineAnnealingLR(o, 5),
                     lambda o: sched.CosineAnnealingWarmRestarts(o, 2),
                     lambda o: sched.LambdaLR(o, lambda e: 1 / (1 + e)),
                     lambda o: sched.CyclicLR(o, 0.1, 1.0, step_size_up=2),
                     lambda o: sched.SequentialLR(
                         o, [sched.LinearLR(o), sched.ConstantLR(o)], [2])):
            optimizer = torch.optim.SGD([p], lr=0.5, momentum=0.9)
            scheduler, seen = make(optimizer), []
            for _ in range(6):
                p.grad = torch.ones(2)
                optimizer.step()
                scheduler.step()
                seen.append(round(scheduler.get_last_lr()[0], 8))
            print(type(scheduler).__name__, seen)
    """,
    "isinstance": """
        import numbers, torch
        import torch.nn as nn
        from torch import Tensor
        from torch.nn.modules.batchnorm import _BatchNorm
        from torch.nn.modules.conv import _ConvNd
        from torch.nn.parameter import Parameter
        from torch.optim.lr_scheduler import LRScheduler
        from torch.optim.optimizer import Optimizer
        m = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
        o = torch.optim.Adam(m.parameters())
        print(isinstance(m, nn.Module), isinstance(m[0], _ConvNd), isinstance(m[1], _BatchNorm))
        print(isinstance(m[0].weight, Parameter), isinstance(m[0].weight, Tensor),
              isinstance(torch.ones(1), nn.Parameter), isinstance(o, Optimizer))
        print(isinstance(torch.float32, torch.dtype), isinstance(torch.device("cpu"), torch.device),
              isinstance(torch.Size([1]), tuple), issubclass(torch.Size, tuple),
              isinstance(torch.optim.lr_scheduler.StepLR(o, 1), LRScheduler))
        print(torch.is_tensor(m[0].bias), type(torch.ones(2).sum().item()).__name__)
    """,
    "pickled_model": """
        import copy, os, pickle, tempfile, torch
        from torch import nn
        class Model(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.width, self.rnn = width, nn.GRU(2, width, batch_first=True)
            def forward(self, x):
                return self.rnn(x)[0][:, -1]
        if __name__ == "__main__":
            torch.manual_seed(0)
            model, x = Model(3), torch.randn(2, 4, 2)
            path = os.path.join(tempfile.mkdtemp(), "model.pt")
            torch.save(model, path)
            for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model),
                          torch.load(path, weights_only=False)):
                print(type(other) is Model, torch.equal(other(x), model(x)), other)
    """,
    "same_numbers": """
        import torch
        import torch.nn as nn
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
        x, optimizer = torch.randn(64, 8), torch.optim.Adam(model.parameters(), 1e-2)
        y = x[:, :1] * x[:, 1:2]
        for _ in range(10):
            loss = nn.functional.huber_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"{loss.item():.5f}")
        print(torch.randperm(8).tolist(), torch.randint(100, (3,)), torch.rand(2))
    """,
    "hooks": """
        import torch
        from torch import nn
        seen = []
        m = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        nn.init.eye_(m[0].weight)
        nn.init.zeros_(m[0].bias)
        handle = m[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        m[1].register_forward_hook(lambda module, args, out: seen.append(tuple(out.shape)))
        m[0].register_full_backward_hook(lambda module, gi, go: seen.append(gi[0] is not None))
        x = torch.ones(1, 2, requires_grad=True)
        x.register_hook(lambda g: g * 10)
        m(x).sum().backward()
        print(seen, x.grad)
        handle.remove()
        print(m(x))
    """,
    "dtypes_and_printing": """
        import torch
        torch.set_printoptions(precision=3, sci_mode=False)
        x = torch.arange(6).reshape(2, 3)
        print(x, x.float() / 3, x.to(torch.float16).dtype, (x > 2).sum(), x.double().mean())
        print(x.bool(), x.numpy().dtype, torch.from_numpy(x.numpy()) + 1.5, x[:, None, ::2].shape)
        print(torch.tensor([1, 2.5]), torch.tensor(True), torch.empty(0), x.t().is_contiguous())
        print(torch.einsum("ij,kj->ik", x, x), x.type(), torch.ones(2).type())
    """,
    "storages": """
        import pickle, torch
        from torch.storage import TypedStorage, UntypedStorage
        s = torch.UntypedStorage([1, 2, 255])
        print(s.tolist(), len(s), s[1], isinstance(s, UntypedStorage))
        s[0] = 7
        print(s.tolist(), s.clone().tolist(), s.element_size(), len(torch.UntypedStorage()),
              torch.UntypedStorage(4).nbytes())
        t = torch.empty(0, dtype=torch.uint8).set_(s)
        t[1] = 9
        print(s.tolist(), s[1:].tolist())
        data = torch.ByteStorage.from_buffer(pickle.dumps({"a": 1}))
        print(pickle.loads(torch.ByteTensor(data).numpy().tobytes()))
        f = torch.FloatStorage([1, 2.5])
        print(f.tolist(), len(f), isinstance(f, torch.FloatStorage))
        print(isinstance(f, torch.LongStorage))
        x = torch.ones(2)
        print(isinstance(x.storage(), (torch.FloatStorage, TypedStorage)),
              isinstance(x.untyped_storage(), torch.UntypedStorage), isinstance(x, UntypedStorage))
        print(torch.IntStorage.from_buffer(bytes(8), "little").tolist(),
              torch.ShortStorage.from_buffer(b"\\x01\\x00\\x00\\x02", "big").tolist())
        try:
            torch.IntStorage.from_buffer(bytes(8))
        except RuntimeError as error:
            print("byte_order" in str(error))
        x.untyped_storage().fill_(0)
        print(x.tolist(), x.untyped_storage().tolist())
    """,
    "overrides": """
        import torch
        from torch.overrides import (TorchFunctionMode, handle_torch_function, has_torch_function,
                                     is_tensor_like)
        class Count(TorchFunctionMode):
            def __init__(self):
                super().__init__()
                self.names = []
            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.names.append(func.__name__)
                return func(*args, **(kwargs or {}))
        with Count() as count:
            y = torch.relu(torch.ones(2)).sum()
        print("relu" in count.names, "sum" in count.names, y.item())
        class Own:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__ if len(args) == 1 else NotImplemented
        def twice(x, *rest):
            if has_torch_function((x,)):
                return handle_torch_function(twice, (x,), x, *rest)
            return 2 * x
        print(twice(Own()), twice(torch.ones(1)).item(), has_torch_function((torch.ones(1),)))
        try:
            twice(Own(), 1)
        except TypeError as error:
            print("no implementation found" in str(error) or "Multiple dispatch" in str(error))
        print(is_tensor_like(3), is_tensor_like(torch.ones(1)), is_tensor_like(Own()))
    """,
    "inner_names": """
        import torch, warnings
        import torch.nn as nn
        from torch.types import Device, FileLike, Number, _int, _size
        from torch.nn.common_types import _ratio_any_t, _size_2_t
        from torch.nn.init import _calculate_fan_in_and_fan_out, _no_grad_trunc_normal_
        from torch.nn.modules.module import _addindent
        from torch.nn.modules.padding import _ReflectionPadNd, _ReplicationPadNd
        from torch.nn.modules.transformer import _get_activation_fn, _get_clones
        from torch.nn.parameter import is_lazy
        from torch.utils._pytree import tree_flatten, tree_map
        from torch.amp.autocast_mode import autocast
        print(isinstance(3, Number), isinstance("a", Number), _int is int)
        print(_addindent("a\\nb\\nc", 3), _get_activation_fn("gelu") is nn.functional.gelu)
        copies = _get_clones(nn.Linear(1, 1), 2)
        print(copies, copies[0].weight is copies[1].weight)
        print(is_lazy(nn.LazyLinear(2).weight), is_lazy(copies[0].weight))
        print(isinstance(nn.ReflectionPad2d(1), _ReflectionPadNd),
              isinstance(nn.ReflectionPad2d(1), _ReplicationPadNd), nn.ReplicationPad1d(2))
        torch.manual_seed(0)
        print(_no_grad_trunc_normal_(torch.empty(3), 0.0, 1.0, -2.0, 2.0),
              _calculate_fan_in_and_fan_out(torch.empty(2, 3)))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            print(nn.Container(a=nn.ReLU()), seen[0].category.__name__)
        x, w, g = torch.randn(2, 4, 6), torch.randn(4, 2, 3), torch.randn(2, 4, 2)
        for kind in ("input", "weight"):
            args = (x.shape, w, g) if kind == "input" else (x, w.shape, g)
            found = getattr(nn.grad, "conv1d_" + kind)(*args, stride=2, padding=0, groups=2)
            print(found.shape, ["%.4f" % v for v in found.flatten()[:5].tolist()])
        print(tree_map(lambda v: v + 1, {"a": [1, 2]}), tree_flatten((1, [2]))[0])
    """,
    "iteration": """
        import torch
        from torch import nn
        m = nn.ModuleDict({"a": nn.Linear(1, 2),
                           "b": nn.ModuleList([nn.ReLU(), nn.Bilinear(1, 1, 1)])})
        print(m, [n for n, _ in m.named_parameters()], [type(c).__name__ for c in m.modules()])
        print(sum(p.numel() for p in m.parameters() if p.requires_grad), m.training)
        for p in m["a"].parameters():
            p.requires_grad_(False)
        print([n for n, p in m.named_parameters() if p.requires_grad], m.eval().training)
    """,
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The programs as files, by name."""
    folder, found = tmp_path_factory.mktemp("programs"), {}
    for name, text in PROGRAMS.items():
        found[name] = folder / f"{name}.py"
        found[name].write_text(textwrap.dedent(text))
    return found


@pytest.fixture(scope="module")
def expected(paths, tmp_path_factory):
    """What PyTorch prints, where it is installed."""
    if not HAS_TORCH:
        return None
    return run_torch(paths.values(), tmp_path_factory.mktemp("printed"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_pytorch_prints(name, paths, expected):
    printed = run_rushlight(paths[name])
    assert printed.count("\n") >= 2
    if expected is None:
        pytest.skip("PyTorch is not installed: ran, nothing to compare with")
    assert printed == expected[f"{name}.py"]
