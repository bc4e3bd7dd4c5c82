"""Activation layers."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.initialization import constant_
from rushlight.nn.module import Module
from rushlight.nn.parameter import Parameter
from rushlight.ops.creation.tensors import full


class ReLU(Module):
    """Applies ``max(x, 0)``."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class SELU(Module):
    """The self-normalising exponential unit."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.selu(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class SiLU(Module):
    """``x * sigmoid(x)``."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """``x * tanh(softplus(x))``."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class Hardswish(Module):
    """``x * relu6(x + 3) / 6``."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.hardswish(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class Hardsigmoid(Module):
    """``relu6(x + 3) / 6``."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.hardsigmoid(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """`x` where positive, else ``negative_slope * x``."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """`x` where positive, else ``alpha * (exp(x) - 1)``."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.elu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(Module):
    """`x` where positive, else ``alpha * (exp(x / alpha) - 1)``."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.celu(input, self.alpha, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        """Apply the function element by element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        """The settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """`x` moved toward zero by `lambd`; zero within."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        """Apply the function element by element."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        """The settings."""
        return f"{self.lambd}"


class Hardshrink(Module):
    """`x` where its absolute value exceeds `lambd`, else zero."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        """Apply the function element by element."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        """The settings."""
        return f"{self.lambd}"


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """Apply the function element by element."""
        return F.glu(input, self.dim)

    def extra_repr(self):
        """The settings."""
        return f"dim={self.dim}"


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input):
        """Apply the function element by element."""
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        """Apply the function element by element."""
        return F.tanh(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``."""

    def forward(self, input):
        """Apply the function element by element."""
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input):
        """Apply the function element by element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input):
        """Apply the function element by element."""
        return F.tanhshrink(input)


class Identity(Module):
    """The input itself; arguments are ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """Return the input."""
        return input


class GELU(Module):
    """``x * Phi(x)``; `approximate` ``"tanh"`` is its tanh form."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        """Apply the function element by element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        """The settings."""
        return f"approximate={self.approximate!r}"


class Hardtanh(Module):
    """`x` limited to ``[min_val, max_val]``."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        if max_val <= min_val:
            raise ValueError(f"max_val ({max_val}) must be larger than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        text = f"min_val={self.min_val}, max_val={self.max_val}"
        return text + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """Applies ``min(max(x, 0), 6)``."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input):
        """Apply the function element by element."""
        return F.relu6(input, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """`x` where it exceeds `threshold`, else `value`."""

    def __init__(self, threshold, value: float, inplace=False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.threshold(input, self.threshold, self.value, inplace=self.inplace)

    def extra_repr(self):
        """The settings."""
        text = f"threshold={self.threshold}, value={self.value}"
        return text + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """`x` where positive, else a learned multiple of it. (He et al., 2015.)"""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), init, device=device, dtype=dtype))

    def reset_parameters(self):
        """Make the slopes `init` again."""
        constant_(self.weight, self.init)

    def forward(self, input):
        """Apply the function element by element."""
        return F.prelu(input, self.weight)

    def extra_repr(self):
        """The settings."""
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """A leaky rectifier with random slopes in training."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        """Apply the function element by element."""
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self):
        """The settings."""
        return f"lower={self.lower}, upper={self.upper}"


class Softmax(Module):
    """``exp(x) / sum(exp(x))`` along `dim`."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        """Apply the function along `dim`."""
        return F.softmax(input, self.dim)

    def extra_repr(self):
        """The settings."""
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """``log(softmax(x))`` along `dim`."""

    def forward(self, input):
        """Apply the function along `dim`."""
        return F.log_softmax(input, self.dim)


class Softmin(Softmax):
    """``softmax(-x)`` along `dim`."""

    def forward(self, input):
        """Apply the function along `dim`."""
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W)."""

    def forward(self, input):
        """Apply the function over the channels."""
        return F.softmax(input, -3)
