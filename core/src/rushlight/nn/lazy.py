"""Lazy modules: layers that learn their input size from the first batch."""

from __future__ import annotations

from rushlight.dtypes import int64
from rushlight.nn import convolution, linear, normalization
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import empty, tensor
from rushlight.tensor.subclasses import retyped
from rushlight.tensor.tensor import Tensor


class _Uninitialized:
    """A tensor that has no shape yet."""

    def materialize(self, shape, device=None, dtype=None):
        """Allocate the shape; the tensor becomes an ordinary parameter or buffer."""
        device = self.device if device is None else device
        dtype = self.dtype if dtype is None else dtype
        self.data = empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        """Raises: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self):
        """Raises: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter without a shape."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        """Nothing but a device and a dtype."""
        return Parameter.__new__(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo):
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return made

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, None, self.dtype)


class UninitializedBuffer(_Uninitialized, Tensor):
    """A buffer without a shape."""

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        """Nothing but a device and a dtype."""
        made = retyped(empty(0, device=device, dtype=dtype), cls)
        made.persistent = persistent
        return made

    def __deepcopy__(self, memo):
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = type(self)(False, self.device, self.dtype, self.persistent)
        return made

    def __reduce_ex__(self, protocol):
        return type(self), (False, None, self.dtype, self.persistent)


def is_lazy(value):
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(value, _Uninitialized)


class LazyModuleMixin:
    """Turns a module into `cls_to_become` at its first forward.

    The class defines ``initialize_parameters(*input)``, which gives its uninitialized tensors
    their shapes.
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(v) for v in (*self._parameters.values(), *self._buffers.values()))

    def initialize_parameters(self, *args, **kwargs):
        """Give the uninitialized tensors their shapes; every lazy class defines its own."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, value in self._parameters.items():
            if value is not None:
                kept = is_lazy(value) or keep_vars
                destination[prefix + name] = value if kept else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                kept = is_lazy(value) or keep_vars
                destination[prefix + name] = value if kept else value.detach()

    def _lazy_load_hook(self, state_dict, prefix, *rest):
        """Shapes come from the checkpoint, if it has them."""
        for table in (self._parameters, self._buffers):
            for name, value in table.items():
                found = state_dict.get(prefix + name)
                if is_lazy(value) and found is not None and not is_lazy(found):
                    value.materialize(found.shape)

    @staticmethod
    def _infer_parameters(module, args, kwargs):
        module.initialize_parameters(*args, **kwargs)
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, linear.Linear):
    """A :class:`Linear` whose `in_features` come from the first input."""

    cls_to_become = linear.Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        """Draw fresh values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Shapes from the last size of the input."""
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]


class _LazyConvolution(LazyModuleMixin):
    def _prepare(self, out_channels, bias, kind):
        self.weight = UninitializedParameter(**kind)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**kind)

    def reset_parameters(self):
        """Draw fresh values, once there are shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Shapes from the channels of the input."""
        if not self.has_uninitialized_params():
            return
        unbatched = self._count + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        self.in_channels = input.shape[-unbatched]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        self.weight.materialize((first, second, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class _LazyForward(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        kind = {"device": device, "dtype": dtype}
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False,
                         padding_mode, **kind)  # fmt: skip
        self._prepare(out_channels, bias, kind)


class _LazyTransposed(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        kind = {"device": device, "dtype": dtype}
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False,
                         dilation, padding_mode, **kind)  # fmt: skip
        self._prepare(out_channels, bias, kind)


class LazyConv1d(_LazyForward, convolution.Conv1d):
    """A :class:`Conv1d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.Conv1d


class LazyConv2d(_LazyForward, convolution.Conv2d):
    """A :class:`Conv2d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.Conv2d


class LazyConv3d(_LazyForward, convolution.Conv3d):
    """A :class:`Conv3d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.Conv3d


class LazyConvTranspose1d(_LazyTransposed, convolution.ConvTranspose1d):
    """A :class:`ConvTranspose1d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, convolution.ConvTranspose2d):
    """A :class:`ConvTranspose2d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, convolution.ConvTranspose3d):
    """A :class:`ConvTranspose3d` whose `in_channels` come from the first input."""

    cls_to_become = convolution.ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    _affine, _track = True, True

    def __init__(
        self,
        eps=1e-05,
        momentum=0.1,
        affine=None,
        track_running_stats=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        affine = self._affine if affine is None else affine
        track = self._track if track_running_stats is None else track_running_stats
        kind = {"device": device, "dtype": dtype}
        super().__init__(0, eps, momentum, False, False, **kind)
        self.affine, self.track_running_stats = affine, track
        if affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if track:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self):
        """Weight 1, bias 0, fresh statistics, once there are shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        """Shapes from the channels of the input."""
        if not self.has_uninitialized_params():
            return
        unbatched = isinstance(self, normalization._InstanceNorm) and input.dim() == min(self._dims)
        self.num_features = input.shape[0 if unbatched else 1]
        for value in (*self._parameters.values(), *self._buffers.values()):
            if is_lazy(value):
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, normalization.BatchNorm1d):
    """A :class:`BatchNorm1d` whose `num_features` come from the first input."""

    cls_to_become = normalization.BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, normalization.BatchNorm2d):
    """A :class:`BatchNorm2d` whose `num_features` come from the first input."""

    cls_to_become = normalization.BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, normalization.BatchNorm3d):
    """A :class:`BatchNorm3d` whose `num_features` come from the first input."""

    cls_to_become = normalization.BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, normalization.InstanceNorm1d):
    """An :class:`InstanceNorm1d` whose `num_features` come from the first input."""

    cls_to_become = normalization.InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, normalization.InstanceNorm2d):
    """An :class:`InstanceNorm2d` whose `num_features` come from the first input."""

    cls_to_become = normalization.InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, normalization.InstanceNorm3d):
    """An :class:`InstanceNorm3d` whose `num_features` come from the first input."""

    cls_to_become = normalization.InstanceNorm3d


__all__ = [name for name in dir() if name.startswith(("Lazy", "Uninitialized"))] + ["is_lazy"]
