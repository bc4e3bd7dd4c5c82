"""Hooks, groups, names, options and errors that all optimizers share."""

import copy

import pytest

import rushlight
from rushlight.optim import SGD, Adam, Optimizer
from rushlight.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


def weight(value=1.0):
    made = rushlight.full((2, 2), value, requires_grad=True)
    made.grad = rushlight.ones(2, 2)
    return made


def test_step_hooks_are_called_in_order():
    optimizer, seen = SGD([weight()], lr=0.1), []
    handles = [
        register_optimizer_step_pre_hook(lambda o, a, k: seen.append("global before")),
        register_optimizer_step_post_hook(lambda o, a, k: seen.append("global after")),
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append("before")),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("after")),
    ]
    optimizer.step()
    assert seen == ["global before", "before", "after", "global after"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4


def test_hooks_may_change_the_arguments():
    optimizer = SGD([weight()], lr=0.1)
    with optimizer.register_step_pre_hook(lambda o, a, k: ((lambda: 7.0,), {})):
        assert optimizer.step() == 7.0
    with (
        optimizer.register_step_pre_hook(lambda o, a, k: 3),
        pytest.raises(RuntimeError, match="must return None or a tuple"),
    ):
        optimizer.step()


def test_state_dict_hooks():
    optimizer, seen = SGD([weight()], lr=0.1, momentum=0.9), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, s: {**s, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(
        lambda o, s: {"state": s["state"], "param_groups": s["param_groups"]}
    )
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    state = optimizer.state_dict()
    assert state["extra"] == 1
    optimizer.load_state_dict(state)
    assert seen == ["first", "second", "loaded"]


def test_names_stay_with_their_parameters():
    optimizer = Adam([("a", weight()), ("b", weight())])
    optimizer.add_param_group({"params": [("c", weight())], "lr": 0.1})
    assert [g["param_names"] for g in optimizer.state_dict()["param_groups"]] == [["a", "b"], ["c"]]
    nameless = optimizer.state_dict()
    for group in nameless["param_groups"]:
        del group["param_names"]
    optimizer.load_state_dict(nameless)
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert "param_names: ['a', 'b']" in repr(optimizer)
    with pytest.raises(ValueError, match="with/without names"):
        optimizer.add_param_group({"params": [weight()]})
    with pytest.raises(ValueError, match="Some param names are missing"):
        SGD([("a", weight()), weight()])


def test_older_state_dicts_get_what_they_lack():
    optimizer = rushlight.optim.RMSprop([weight()], momentum=0.5, centered=True)
    optimizer.step()
    state = optimizer.state_dict()
    for name in ("foreach", "maximize", "centered", "momentum", "differentiable", "capturable"):
        del state["param_groups"][0][name]
    state["state"][0]["step"] = 1
    optimizer.load_state_dict(state)
    group = optimizer.param_groups[0]
    assert (group["foreach"], group["maximize"], group["centered"]) == (None, False, False)
    step = optimizer.state[optimizer.param_groups[0]["params"][0]]["step"]
    assert step.dtype is rushlight.float32
    assert float(step) == 1


def test_counters_follow_the_default_dtype():
    rushlight.set_default_dtype(rushlight.float64)
    try:
        w = weight()
        optimizer = Adam([w])
        optimizer.step()
        assert optimizer.state[w]["step"].dtype is rushlight.float64
    finally:
        rushlight.set_default_dtype(rushlight.float32)


def test_own_optimizers_record_unless_they_say_otherwise():
    class Plain(Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            return rushlight.is_grad_enabled(), closure() if closure else None

    optimizer = Plain([weight()])
    assert optimizer.step() == (True, None)
    seen = []
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(1))
    assert optimizer.step(rushlight.is_grad_enabled) == (True, True)
    assert seen == [1]
    assert SGD([weight()]).step(rushlight.is_grad_enabled) is True


def test_hooks_run_once_for_a_step_that_calls_its_parents():
    class Counting(SGD):
        def step(self, closure=None):
            return super().step(closure)

    optimizer, seen = Counting([weight()], lr=0.1), []
    optimizer.register_step_pre_hook(lambda o, a, k: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, a, k: seen.append("after"))
    optimizer.step()
    assert seen == ["before", "after"]


def test_loss_scales_are_taken_by_fused_steps():
    w = weight()
    optimizer = SGD([w], lr=0.5, fused=True)
    assert optimizer._step_supports_amp_scaling
    optimizer.grad_scale, optimizer.found_inf = rushlight.tensor(4.0), rushlight.tensor(0.0)
    optimizer.step()
    assert (w == 1 - 0.5 / 4).all()
    optimizer.found_inf = rushlight.tensor(1.0)
    optimizer.step()
    assert (w == 1 - 0.5 / 4).all()


def test_expanded_gradients_are_only_read():
    w = rushlight.zeros(2, 3, requires_grad=True)
    w.sum().backward()
    for name in ("SGD", "Adam", "RMSprop"):
        before = w.detach().clone()
        w.grad = rushlight.ones(1, 1).expand(2, 3)
        getattr(rushlight.optim, name)([w], lr=0.1).step()
        assert (w.grad == 1).all()
        assert (w < before).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: o.SGD(weight()), TypeError, "iterable of Tensors or dicts"),
        (lambda o: o.SGD([3]), TypeError, "can only optimize Tensors"),
        (lambda o: o.SGD([{"params": {weight()}}]), TypeError, "ordered collection"),
        (lambda o: o.SGD([weight() * 2]), ValueError, "non-leaf"),
        (lambda o: o.SGD([weight()]).add_param_group([1]), TypeError, "must be a dict"),
        (lambda o: o.SGD([weight()], fused=True, foreach=True), RuntimeError, "together"),
        (lambda o: o.Adam([weight()], fused=True, differentiable=True), RuntimeError, "support"),
        (lambda o: o.Adam([weight()], capturable=True).step(), AssertionError, "capturable"),
        (lambda o: o.SparseAdam([weight()]).step(), RuntimeError, "dense gradients"),
        (lambda o: o.SparseAdam([weight()], lr=0), ValueError, "Invalid learning rate: 0"),
        (lambda o: o.LBFGS([{"params": [weight()]}, {"params": [weight()]}]), ValueError, "LBFGS"),
        (lambda o: o.Adadelta([weight()], rho=1.1), ValueError, "Invalid rho value: 1.1"),
        (lambda o: o.Muon([rushlight.ones(3)]), ValueError, "only supports 2D"),
        (lambda o: o.Adafactor([weight()], d=0.5), ValueError, "threshold d should be >= 1"),
        (lambda o: o.Rprop([weight()], etas=(1.0, 0.5)), ValueError, "Invalid eta values"),
        (lambda o: o.Adam([weight()], lr=rushlight.ones(2)), ValueError, "1-element"),
    ],
)
def test_bad_use_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make(rushlight.optim)


def test_wrong_state_dicts_are_refused():
    optimizer = SGD([weight(), weight()])
    state = SGD([weight()]).state_dict()
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict(state)
    state["param_groups"] *= 2
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict(state)


def test_duplicates_in_a_group_warn_and_across_groups_raise():
    w = weight()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        SGD([w, w])
    with pytest.raises(ValueError, match="more than one parameter group"):
        SGD([{"params": [w]}, {"params": [w]}])


def test_parameters_and_state_are_swapped_for_a_while():
    w = weight()
    optimizer = Adam([w], lr=0.1)
    optimizer.step()
    before, state = w.detach().clone(), optimizer.state_dict()
    other = weight(5.0)
    given = {
        "state": {0: {k: v.clone() for k, v in state["state"][0].items()}},
        "param_groups": [{**state["param_groups"][0], "lr": 0.5}],
    }
    swap = rushlight.optim.swap_in_optimizer_params_and_state
    with swap(optimizer, {"w": other}, given):
        optimizer.step()
    assert (w == before).all()
    assert float(other.max()) < 4.6
    assert float(given["state"][0]["step"]) == 2
    assert float(optimizer.state[w]["step"]) == 1
    assert optimizer.param_groups[0]["lr"] == 0.1
    for bad in (
        3,
        {**given, "state": {7: {}}},
        {**given, "param_groups": []},
        {**given, "param_groups": [{"params": [0]}]},
    ):
        with (
            pytest.raises(RuntimeError, match="swap_in_optimizer_params_and_state requires"),
            swap(optimizer, {"w": other}, bad),
        ):
            optimizer.step()
    assert (w == before).all()


def test_counters_that_are_plain_numbers_stay_so():
    """Only the optimizers that count in tensors make tensors of the counters of older states."""

    class Own(rushlight.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.5})

        @rushlight.no_grad()
        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                self.state[p]["step"] = self.state[p].get("step", 0) + 1
                p.sub_(p.grad, alpha=self.param_groups[0]["lr"] / self.state[p]["step"])

    def sparse_step(p, optimizer):
        optimizer.zero_grad()
        p.square().sum().backward()
        p.grad = (p.grad * rushlight.tensor([[1.0], [0.0]])).to_sparse(1)
        optimizer.step()

    p = rushlight.ones(2, 3, requires_grad=True)
    own = Own([p])
    p.sum().backward()
    own.step()
    other = copy.deepcopy(own)
    other.load_state_dict(own.state_dict())
    (state,) = other.state.values()
    assert type(state["step"]) is int and set(other.param_groups[0]) == {"params", "lr"}
    p = rushlight.ones(2, 3, requires_grad=True)
    sparse = rushlight.optim.SparseAdam([p])
    for _ in range(3):
        sparse_step(p, sparse)
    q, again = copy.deepcopy((p, sparse))
    for _ in range(3):
        sparse_step(p, sparse)
        sparse_step(q, again)
    assert p.tolist() == q.tolist() and list(again.param_groups[0]) == list(sparse.param_groups[0])
