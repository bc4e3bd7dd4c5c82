"""Subclasses of modules, optimizers and schedulers use private names that PyTorch leaves free."""

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.optim.lr_scheduler import LRScheduler

# The private methods of PyTorch 2.13's classes; every other private name is a subclass's.
PRIVATE = {
    nn.Module: {
        "_apply", "_call_impl", "_get_backward_hooks", "_get_backward_pre_hooks", "_get_name",
        "_load_from_state_dict", "_maybe_warn_non_full_backward_hook", "_named_members",
        "_register_load_state_dict_pre_hook", "_register_state_dict_hook",
        "_replicate_for_data_parallel", "_save_to_state_dict", "_slow_forward",
        "_wrapped_call_impl",
    },
    rl.optim.Optimizer: {
        "_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check",
        "_group_tensors_by_device_and_dtype", "_optimizer_step_code", "_patch_step_function",
        "_process_value_according_to_param_policy",
    },
}  # fmt: skip
FORMER = (
    "_load", "_load_one", "_cast", "_forget", "_check_name", "_find_unexpected", "_has_hooks",
    "_call_always", "_call_pre_hooks", "_call_with_hooks", "_set_registered", "_set_hook_kind",
    "_forward_hooks_now", "_backward_hooks_now", "_check_parameter", "_check_sizes",
    "_check_with_others", "_evaluate", "_set", "_check_order",
)  # fmt: skip


def taken(base):
    """A subclass that gives every such name a meaning of its own."""
    return type(f"Own{base.__name__}", (base,), dict.fromkeys(FORMER, "the subclass's"))


@pytest.mark.parametrize("base", PRIVATE, ids=lambda base: base.__name__)
def test_no_private_method_that_pytorch_lacks(base):
    methods = {
        name
        for parent in base.__mro__[:-1]
        for name, value in vars(parent).items()
        if callable(value) and name.startswith("_") and not name.startswith("__")
    }
    assert methods <= PRIVATE[base]


def test_module_with_names_of_its_own_loads_casts_and_calls_hooks():
    rl.manual_seed(0)
    net, other = taken(nn.Linear)(3, 2), nn.Linear(3, 2)
    net.load_state_dict(other.state_dict())
    assert rl.equal(net.weight, other.weight) and net._load == "the subclass's"
    seen = []
    net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append(grad_out[0]))
    net.register_forward_hook(lambda module, args, out: out + 1, always_call=True)
    x = rl.ones(4, 3, requires_grad=True)
    out = net(x)
    assert rl.equal(out, other(x * 2) + 1)
    out.sum().backward()
    assert rl.equal(seen[0], rl.ones(4, 2))
    net.register_buffer("mean", rl.zeros(2))
    net.part = nn.ReLU()
    net.part = nn.Tanh()
    assert [name for name, _ in net.named_children()] == ["part"]
    assert net.double().weight.dtype == rl.float64 and net.mean.dtype == rl.float64


def test_optimizer_and_schedule_with_names_of_their_own():
    def weights(optimizer_class, schedule_class):
        weight = nn.Parameter(rl.tensor([1.0, -2.0]))
        optimizer = optimizer_class([weight], lr=0.5, momentum=0.9)
        schedule = schedule_class(optimizer, gamma=0.1)
        for _ in range(3):

            def closure():
                optimizer.zero_grad()
                loss = weight.square().sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            schedule.step()
        optimizer.load_state_dict(optimizer.state_dict())
        return weight.detach(), schedule.get_last_lr()

    sgd, schedule = rl.optim.SGD, rl.optim.lr_scheduler.ExponentialLR
    own, rates = weights(taken(sgd), taken(schedule))
    plain, expected = weights(sgd, schedule)
    assert rl.equal(own, plain) and rates == expected
    assert rates == pytest.approx([0.0005])
    assert issubclass(taken(schedule), LRScheduler)
