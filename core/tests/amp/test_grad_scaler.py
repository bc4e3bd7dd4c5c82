"""`GradScaler` and what programs that subclass it call, beside PyTorch's."""

import importlib
import math
import pickle

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = [rushlight, torch]


def _part(lib, path):
    return importlib.import_module(f"{lib.__name__}.{path}")


def _closure_scaler(lib):
    """A scaler that steps by a closure, as Composer has it: the optimizer asks for the loss, whose
    gradients are unscaled at once."""
    grad_scaler = _part(lib, "cuda.amp.grad_scaler")
    fresh = _part(lib, "amp.grad_scaler")._refresh_per_optimizer_state
    OptState = grad_scaler.OptState

    class ClosureScaler(lib.amp.GradScaler):
        def _is_finite_after_unscaling(self, optimizer):
            self._check_scale_growth_tracker("step")
            state = self._per_optimizer_states[id(optimizer)]
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            return not sum(v.item() for v in state["found_inf_per_device"].values())

        def step(self, optimizer, *args, **kwargs):
            closure = kwargs["closure"]

            def unscaled(**kwargs):
                self._per_optimizer_states[id(optimizer)]["stage"] = OptState.READY
                optimizer.zero_grad()
                loss = closure(**kwargs)
                return loss if self._is_finite_after_unscaling(optimizer) else None

            return optimizer.step(closure=unscaled)

        def update(self, new_scale=None):
            scale, tracker = self._check_scale_growth_tracker("update")
            marks = [mark for state in self._per_optimizer_states.values()
                     for mark in state["found_inf_per_device"].values()]  # fmt: skip
            lib._amp_update_scale_(
                scale, tracker, sum(marks[1:], marks[0]), self._growth_factor,
                self._backoff_factor, self._growth_interval,
            )  # fmt: skip
            for key in self._per_optimizer_states:
                self._per_optimizer_states[key] = fresh()

    return ClosureScaler


def _closure_history(lib):
    weight = lib.ones(2, requires_grad=True)
    optimizer, found = lib.optim.LBFGS([weight], lr=0.1, max_iter=2), []
    scaler = _closure_scaler(lib)("cpu", init_scale=8.0, growth_interval=2)
    for factor in (1.0, 3.0, 2.0):

        def closure(factor=factor):
            loss = ((weight * factor - 1) ** 2).sum()
            scaler.scale(loss).backward()
            return loss

        scaler.step(optimizer, closure=closure)
        scaler.update()
        found.append((scaler.get_scale(), weight.tolist()))
    return found


def test_a_scaler_of_ones_own_steps_by_a_closure():
    ours, theirs = _closure_history(rushlight), _closure_history(torch)
    assert [scale for scale, _ in ours] == [scale for scale, _ in theirs]
    np.testing.assert_allclose([w for _, w in ours], [w for _, w in theirs], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_scaled_losses_have_pytorchs_dtype_and_value(dtype, shape):
    found = []
    for lib in BOTH:
        loss = lib.full(shape, 3.0, dtype=getattr(lib, dtype))
        scaled = lib.amp.GradScaler("cpu", init_scale=2.0**15).scale([loss, (loss, loss)])[1][0]
        found.append((str(scaled.dtype).rpartition(".")[2], scaled.tolist()))
    assert found[0] == found[1]
    if not shape:
        assert found[0][1] == 3 * 2.0**15 or dtype == "bfloat16"


def _stops(lib):
    """Kind and text of the error of each call out of order."""
    weight = lib.ones(2, requires_grad=True)
    optimizer, other = lib.optim.SGD([weight], lr=0.5), lib.optim.SGD([lib.ones(1)], lr=0.5)
    half = lib.optim.SGD([lib.nn.Parameter(lib.ones(2, dtype=lib.float16))], lr=0.5)
    half.param_groups[0]["params"][0].grad = lib.ones(2, dtype=lib.float16)
    fresh, scaler = (lib.amp.GradScaler("cpu") for _ in range(2))
    scaler.scale(weight.sum()).backward()
    calls = [
        lambda: fresh.unscale_(optimizer), lambda: fresh.step(optimizer), fresh.update,
        scaler.update, lambda: scaler.step(other), lambda: scaler.unscale_(half),
        lambda: scaler.step(optimizer, closure=None), lambda: scaler.scale(3),
        lambda: scaler.update(lib.ones(2)), lambda: scaler.load_state_dict({}),
        lambda: (scaler.unscale_(optimizer), pickle.dumps(scaler)),
    ]  # fmt: skip
    found = []
    for call in calls:
        with pytest.raises(Exception) as error:
            call()
        found.append((type(error.value).__name__, str(error.value)))
    return found


def test_calls_out_of_order_raise_pytorchs_errors():
    for ours, theirs in zip(_stops(rushlight), _stops(torch), strict=True):
        assert ours == theirs


def test_what_a_scaler_keeps_between_steps():
    found = []
    for lib in BOTH:
        weight = lib.ones(2, requires_grad=True)
        optimizer = lib.optim.SGD([weight], lr=0.5)
        scaler = lib.amp.GradScaler("cpu", init_scale=4.0, growth_interval=3)
        kept = [scaler._get_growth_tracker(), scaler.get_scale(), scaler._get_scale_async()]
        for factor in (1.0, 2.0):
            optimizer.zero_grad()
            scaler.scale((weight * factor).sum()).backward()
            checked = scaler._check_inf_per_device(optimizer)
            kept.append([v.item() for v in checked.values()])
            scaler.unscale_(optimizer)
            kept.append([v.item() for v in scaler._found_inf_per_device(optimizer).values()])
            scaler.step(optimizer)
            scaler.update()
        copy = pickle.loads(pickle.dumps(scaler))
        kept += [copy.state_dict(), scaler._get_growth_tracker(), scaler._get_scale_async().item()]
        scaler.update(lib.tensor(5.0))
        kept.append(scaler.get_scale())
        scaler.update(3.0)
        scaler.load_state_dict(copy.state_dict() | {"scale": 7.0})
        kept += [scaler.get_scale(), scaler.state_dict()]
        found.append(kept)
    assert found[0] == found[1]


DTYPES = ["float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("last", [1.0, math.inf, math.nan])
def test_lists_are_checked_and_unscaled(dtype, last):
    found = []
    for lib in BOTH:
        kind = getattr(lib, dtype)
        parts = [
            lib.tensor([1.5, -3.25, 1e-3], dtype=kind),
            lib.tensor([[2.0, last]], dtype=kind).t(),
        ]
        mark = lib.zeros(1)
        lib._amp_foreach_non_finite_check_and_unscale_(parts, mark, lib.tensor([0.3]))
        found.append((mark.tolist(), [str(p.double().tolist()) for p in parts]))
    assert found[0] == found[1]
    assert found[0][0] == [0.0 if last == 1 else 1.0]


@pytest.mark.parametrize(
    "start, tracker, mark", [(4.0, 0, 0), (4.0, 1, 0), (4.0, 1, 1), (3e38, 1, 0)]
)
def test_the_factor_adapts(start, tracker, mark):
    found = []
    for lib in BOTH:
        state = lib.tensor(start), lib.tensor(tracker, dtype=lib.int32), lib.tensor(float(mark))
        result = lib._amp_update_scale_(*state, 2.5, 0.25, 2)
        found.append((result.item(), *(part.item() for part in state)))
    assert found[0] == found[1]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_former_paths(device):
    scalers, modes = (importlib.import_module(f"rushlight.{device}.amp.{name}")
                      for name in ("grad_scaler", "autocast_mode"))  # fmt: skip
    package = importlib.import_module(f"rushlight.{device}.amp")
    assert scalers.GradScaler is package.GradScaler and modes.autocast is package.autocast
    with pytest.warns(FutureWarning, match=f"rushlight.{device}.amp.GradScaler.args...") as seen:
        scaler = scalers.GradScaler(8.0, enabled=device == "cpu")
    assert seen[0].filename == __file__
    assert scaler.scale(rushlight.tensor(2.0)).item() == (16.0 if device == "cpu" else 2.0)
    assert rushlight.cuda.amp.amp_definitely_not_available() is not rushlight.cuda.is_available()


def test_factors_are_read_and_set():
    for lib in BOTH:
        options = {"growth_factor": 3.0, "backoff_factor": 0.25, "growth_interval": 5}
        scaler = lib.amp.GradScaler("cpu", **options)
        found = scaler.get_growth_factor(), scaler.get_backoff_factor()
        assert found == (3.0, 0.25) and scaler.get_growth_interval() == 5
        scaler.set_growth_factor(4.0)
        scaler.set_backoff_factor(0.5)
        scaler.set_growth_interval(7)
        state = scaler.state_dict()
        assert [state[name] for name in options] == [4.0, 0.5, 7]
