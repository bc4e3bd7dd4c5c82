"""Programs with subclasses of Tensor that define ``__torch_dispatch__``, for either library."""

import copy
import importlib
import types


def classes(p):
    """Subclasses of the library `p`, and the list of what they were told of."""
    tree_map = importlib.import_module(f"{p.__name__}.utils._pytree").tree_map
    dispatch = importlib.import_module(f"{p.__name__}.utils._python_dispatch")
    told = []

    class Two(p.Tensor):
        """Two tensors of one shape, to each of which everything is done."""

        @staticmethod
        def __new__(cls, a, b):
            return p.Tensor._make_wrapper_subclass(
                cls, a.shape, strides=a.stride(), dtype=a.dtype, device=a.device,
                requires_grad=a.requires_grad,
            )  # fmt: skip

        def __init__(self, a, b):
            self.a, self.b = a, b

        def __tensor_flatten__(self):
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(parts, context, size, stride):
            return Two(parts["a"], parts["b"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            each = [
                func(
                    *tree_map(lambda v, n=n: getattr(v, n) if isinstance(v, Two) else v, args),
                    **(kwargs or {}),
                )
                for n in "ab"
            ]
            if isinstance(each[0], tuple | list):
                out = [
                    Two(*p) if isinstance(p[0], p_tensor) else p[0] for p in zip(*each, strict=True)
                ]
                return type(each[0])(out)
            out = Two(*each) if isinstance(each[0], p_tensor) else each[0]
            return dispatch.return_and_correct_aliasing(func, args, kwargs, out)

    p_tensor = p.Tensor

    class Logged(p.Tensor):
        """One tensor, of which every op is written down with its arguments."""

        @staticmethod
        def __new__(cls, elem):
            return p.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
                dtype=elem.dtype, layout=elem.layout, device=elem.device,
                requires_grad=elem.requires_grad,
            )  # fmt: skip

        def __init__(self, elem):
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            unwrap = lambda v: v.elem if isinstance(v, cls) else v  # noqa: E731
            told.append(str(func))
            out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            return tree_map(lambda v: cls(v) if isinstance(v, p_tensor) else v, out)

    class Held(p.Tensor):
        """A tensor with elements of its own."""

        @staticmethod
        def __new__(cls, elem):
            return p.Tensor._make_subclass(cls, elem, elem.requires_grad)

        __torch_function__ = p._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    class Quantized(p.Tensor):
        """A matrix of int8 with a scale a row, for linear layers."""

        @staticmethod
        def __new__(cls, values, scale, dtype):
            return p.Tensor._make_wrapper_subclass(
                cls, values.shape, strides=values.stride(), dtype=dtype, device=values.device
            )

        def __init__(self, values, scale, dtype):
            self.values8, self.scale = values, scale

        @classmethod
        def of(cls, x):
            scale = x.abs().amax(1, keepdim=True) / 127
            return cls((x / scale).round().to(p.int8), scale, x.dtype)

        def dequantize(self):
            return self.values8.to(self.scale.dtype) * self.scale

        def __tensor_flatten__(self):
            return ["values8", "scale"], self.dtype

        @classmethod
        def __tensor_unflatten__(cls, parts, dtype, size, stride):
            return cls(parts["values8"], parts["scale"], dtype)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is p.nn.functional.linear:
                told.append("linear")
                x, weight, bias = (*args, None)[:3]
                out = x @ weight.values8.to(x.dtype).t() * weight.scale.t()
                return out if bias is None else out + bias
            with p._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            aten = p.ops.aten
            if func in (aten.detach.default, aten.clone.default, aten._to_copy.default):
                parts = [func(args[0].values8), func(args[0].scale, **(kwargs or {}))]
                return cls(parts[0].to(p.int8), parts[1], parts[1].dtype)
            plain = tree_map(lambda v: v.dequantize() if isinstance(v, cls) else v, args)
            return func(*plain, **(kwargs or {}))

    class Masked(p.Tensor):
        """Elements of which only those of a mask count."""

        @staticmethod
        def __new__(cls, data, mask):
            return p.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype)

        def __init__(self, data, mask):
            self.elements, self.mask = data, mask

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            aten, kwargs = p.ops.aten, kwargs or {}
            x = args[0]
            if func is aten.sum.default:
                return p.where(x.mask, x.elements, p.zeros_like(x.elements)).sum()
            if func in (aten.mul.Tensor, aten.add.Tensor):
                both = [v.elements if isinstance(v, cls) else v for v in args]
                mask = x.mask if not isinstance(args[1], cls) else x.mask & args[1].mask
                return cls(func(*both), mask)
            if func in (aten.neg.default, aten.exp.default, aten.detach.default):
                return cls(func(x.elements), x.mask)
            return NotImplemented

    class Scaled(p.Tensor):
        """A tensor times a number, by which products take no time."""

        @staticmethod
        def __new__(cls, elem, factor):
            return p.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)

        def __init__(self, elem, factor):
            self.elem, self.factor = elem, factor

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            if func is p.ops.aten.mul.Tensor and not isinstance(args[1], p_tensor):
                return cls(args[0].elem, args[0].factor * args[1])
            plain = tree_map(lambda v: v.elem * v.factor if isinstance(v, cls) else v, args)
            return func(*plain, **(kwargs or {}))

    class Waiting(p.Tensor):
        """The result of a collective, which is waited for at its first use."""

        @staticmethod
        def __new__(cls, elem):
            return p.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, device=elem.device
            )

        def __init__(self, elem):
            self.elem, self.waited = elem, False

        def wait(self):
            if not self.waited:
                told.append("wait")
                self.waited = True
            return self.elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            told.append(str(func))
            if func is p.ops.aten.view.default:
                return cls(func(args[0].elem, *args[1:]))
            unwrap = lambda v: v.wait() if isinstance(v, cls) else v  # noqa: E731
            return func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))

    class Names(dispatch.TorchDispatchMode):
        """A mode that writes down the classes that it meets."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append(f"mode {func} {[t.__name__ for t in types]}")
            return func(*args, **(kwargs or {}))

    return types.SimpleNamespace(
        told=told, Two=Two, Logged=Logged, Held=Held, Quantized=Quantized, Masked=Masked,
        Scaled=Scaled, Waiting=Waiting, Names=Names, dispatch=dispatch,
    )  # fmt: skip


def values(p, result):
    """A result as numbers, with the names of the classes."""
    if isinstance(result, dict):
        return {k: values(p, v) for k, v in result.items()}
    if isinstance(result, tuple | list):
        return [values(p, v) for v in result]
    if not isinstance(result, p.Tensor):
        return result.__name__ if isinstance(result, type) else result
    parts = [getattr(result, n) for n in ("a", "b", "elem", "elements", "values8", "scale")
             if n in getattr(result, "__dict__", {})]  # fmt: skip
    if parts:
        return [type(result).__name__, *(values(p, part) for part in parts)]
    if type(result).__name__ == "Held":
        return ["Held", tuple(result.shape)]
    return [str(result.dtype).split(".")[-1], result.detach().tolist()]


def run(p, program):
    """What a program gives, and what the classes were told."""
    c = classes(p)
    x = p.arange(6.0).reshape(2, 3) / 4 - 0.5
    try:
        result = values(p, program(p, c, x))
    except (RuntimeError, TypeError) as error:
        result = type(error).__name__
    # saved results are views of themselves there
    return [n for n in c.told if "aten.detach.default" not in n], result


def two(c, x, grad=False):
    return c.Two(x.clone().requires_grad_(grad), x.cos())


def logged(c, x, grad=False):
    return c.Logged(x.clone().requires_grad_(grad))


def gradient(p, c, x, function):
    leaf = logged(c, x, True)
    out = function(leaf)
    c.told.append("backward")
    out.backward()
    return out, leaf.grad


def chain(p, c, x):
    y = two(c, x)
    return (y + 1).exp() * y - 2, y.sum(1), y.mean(), y.t().contiguous(), y[0], y[:, 1:], y[None]


def shapes(p, c, x):
    y = two(c, x).t()
    same = (tuple(y.shape), y.stride(), y.dim(), y.numel(), y.is_contiguous(), len(y))
    more = y.requires_grad, y.is_leaf, y.data_ptr(), y.storage_offset(), y[0]._is_view()
    return *same, *more, y.view(-1).shape == (6,) if y.is_contiguous() else None


def in_place(p, c, x):
    y = two(c, x)
    same = y.add_(1)
    y.mul_(2).clamp_(max=3)
    y[0] = p.ones(3)
    return same is y, y, p.zeros(2, 3).copy_(y), y.zero_()


def several(p, c, x):
    y = two(c, x)
    return y.chunk(2), y.unbind(0), y.max(1), y.sort(1), p.cat([y, x]), p.stack([y, y])


def reading(p, c, x):
    y = two(c, x)
    return float(y.sum()), bool(y.sum() > 0), y[0, 0].item(), [float(v) for v in y[1]]


def unreadable(name):
    def program(p, c, x):
        return getattr(two(c, x), name)()

    return program


def conversions(p, c, x):
    y = two(c, x)
    return (
        y.double(),
        y.to(p.float32) is y,
        y.to("cpu") is y,
        y.to(p.int64),
        y.to(y.dtype, copy=True),
    )


def factories(p, c, x):
    y = two(c, x)
    return p.zeros_like(y), p.ones_like(y, dtype=p.float64), y.new_zeros(2), y.new_full((2,), 3.0)


def copies(p, c, x):
    y = two(c, x, True)
    y.tag = ["kept"]
    z = copy.deepcopy(y)
    return z, z.requires_grad, z.tag, z.a is y.a, z.is_leaf


def pickled(p, c, x):
    reduced = two(c, x).__reduce_ex__(2)
    function, args = reduced[:2]
    names = function.__name__.lstrip("_"), args[0].__name__.lstrip("_"), args[1]
    return names[0].startswith("rebuild_from_type"), names[2], args[2][2:5], args[2][7], args[3]


def parameter(p, c, x):
    q = p.nn.Parameter(two(c, x))
    model = p.nn.Module()
    model.weight = q
    names = [name for name, _ in model.named_parameters()]
    q2 = p.nn.Parameter(two(c, x), requires_grad=False)
    return (
        type(q),
        isinstance(q, p.nn.Parameter),
        q.requires_grad,
        q.is_leaf,
        names,
        q2.requires_grad,
    )


def training(p, c, x):
    model = p.nn.Linear(3, 2)
    with p.no_grad():
        model.weight.copy_(x), model.bias.zero_()
    model.weight = p.nn.Parameter(two(c, x))
    kept = model.weight
    loss = (model(x) ** 2).sum()
    c.told.append("backward")
    loss.backward()
    c.told.append("step")
    p.optim.SGD(model.parameters(), lr=0.1, foreach=False).step()
    return kept is model.weight, model.weight, kept.grad


def moved_module(p, c, x):
    model = p.nn.Linear(3, 2, bias=False)
    model.weight = p.nn.Parameter(two(c, x))
    kept = model.weight
    model.double()
    return model.weight is kept, kept, str(kept.dtype).split(".")[-1]


def quantized_linear(p, c, x):
    w = c.Quantized.of(x)
    out = p.nn.functional.linear(x, w, p.ones(2))
    return out, p.nn.functional.linear(x, w), w


def quantized_model(p, c, x):
    model = p.nn.Sequential(p.nn.Linear(3, 2), p.nn.ReLU())
    with p.no_grad():
        model[0].weight.copy_(x), model[0].bias.fill_(1)
    weight = c.Quantized.of(model[0].weight.detach())
    model[0].weight = p.nn.Parameter(weight, requires_grad=False)
    return model(x), type(model[0].weight), copy.deepcopy(model)[0].weight


def quantized_products(p, c, x):
    w = c.Quantized.of(x)
    return w.t(), x @ w.t(), w + 1, w.clone(), w.detach(), w.to(p.float64)


def state_dict(p, c, x):
    model = p.nn.Linear(3, 2, bias=False)
    model.weight = p.nn.Parameter(two(c, x))
    state = model.state_dict()
    other = p.nn.Linear(3, 2, bias=False)
    other.load_state_dict(state, assign=True)
    return state, type(other.weight)


def masked(p, c, x):
    y = c.Masked(x, x > 0)
    return y.sum(), (y * y).exp().sum(), (y + 1).neg().sum()


def declined(p, c, x):
    return c.Masked(x, x > 0).cos()


def scaled(p, c, x):
    y = c.Scaled(x, 2.0)
    return (y * 3.0).factor, y * 3.0 + 1, y @ x.t(), y.sum()


def waiting(p, c, x):
    y = c.Waiting(x)
    z = y.view(6)
    c.told.append("used")
    return z + 1, z * 2, y.sum()


def under_a_mode(p, c, x):
    y = two(c, x)
    with c.Names():
        out = (y + x).exp()
        first = y[0]
    return out, first


def gradient_under_a_mode(p, c, x):
    y = logged(c, x, True)
    with c.Names():
        out = (y.exp() * y).sum()
        out.backward()
    return out, y.grad


def disabled(p, c, x):
    held = c.Held(x)
    with p._C._DisableTorchDispatch():
        a = held + 1
    return a, held * 2, type(held.sum())


def held_gradient(p, c, x):
    held = c.Held(x.clone().requires_grad_())
    out = (held * held).sum()
    out.backward()
    return held.grad


def double_backward(p, c, x):
    y = logged(c, x, True)
    (first,) = p.autograd.grad((y**3).sum(), y, create_graph=True)
    (second,) = p.autograd.grad(first.sum(), y)
    return first, second


def in_place_gradient(p, c, x):
    def function(y):
        z = y * 1
        z.mul_(y).add_(2)
        return z.exp_().sum()

    return gradient(p, c, x, function)


def plain_and_wrapped(p, c, x):
    weight = x.clone().requires_grad_()
    out = (logged(c, x) * weight).sum()
    out.backward()
    return weight.grad


def hooks(p, c, x):
    y, seen = logged(c, x, True), []
    y.register_hook(lambda g: seen.append(type(g).__name__))
    z = y * 2
    z.retain_grad()
    z.sum().backward()
    return seen, z.grad, y.grad


def no_grad(p, c, x):
    y = logged(c, x, True)
    with p.no_grad():
        out = y * 2
    return out.requires_grad, (y * 2).requires_grad, y.detach().requires_grad


def custom_function(p, c, x):
    class Double(p.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            return v * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return gradient(p, c, x, lambda y: Double.apply(y).sum())


def subclass_of_subclass(p, c, x):
    class Inner(c.Two):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            c.told.append("Inner " + ",".join(t.__name__ for t in types))
            return NotImplemented

    return Inner(x, x) + two(c, x)


def transformed(p, c, x):
    y = two(c, x)
    out = c.dispatch.transform_subclass(y, lambda name, part: part * (1 if name == "a" else 2))
    return out, c.dispatch.is_traceable_wrapper_subclass(y)


def exchanged(p, c, x):
    y, z = two(c, x), p.zeros(3)
    p.utils.swap_tensors(y, z)
    return type(y), z


def functions(p, c, x):
    f, y = p.nn.functional, two(c, x)
    return f.relu(y), f.gelu(y), f.softmax(y, 1), f.layer_norm(y, (3,)), y.norm(), y.clamp(0, 1)


def choices(p, c, x):
    y = two(c, x)
    return (
        p.where(y > 0, y, x),
        y.masked_fill(x > 0, 0.0),
        y.gather(1, p.tensor([[0], [1]])),
        y.tril(),
    )


def products(p, c, x):
    y = two(c, x)
    return (
        y @ y.t(),
        p.bmm(y[None], y.t()[None]),
        y @ p.ones(3),
        p.nn.functional.linear(y, x, p.ones(2)),
    )


PROGRAMS = {
    "arithmetic and views": chain,
    "sizes": shapes,
    "writes": in_place,
    "several results": several,
    "reading numbers": reading,
    "numpy": unreadable("numpy"),
    "tolist": unreadable("tolist"),
    "item of many": unreadable("item"),
    "conversions": conversions,
    "factories": factories,
    "deepcopy": copies,
    "reduce": pickled,
    "parameter": parameter,
    "training": training,
    "module to": moved_module,
    "quantized linear": quantized_linear,
    "quantized model": quantized_model,
    "quantized products": quantized_products,
    "state dict": state_dict,
    "masked": masked,
    "declined": declined,
    "scaled": scaled,
    "waiting": waiting,
    "under a mode": under_a_mode,
    "gradient under a mode": gradient_under_a_mode,
    "dispatch off": disabled,
    "held elements": held_gradient,
    "gradient of a product": lambda p, c, x: gradient(p, c, x, lambda y: (y * y).sum()),
    "gradient of functions": lambda p, c, x: gradient(
        p, c, x, lambda y: (y.sigmoid() + y.tanh()).sum()
    ),
    "gradient of exp": lambda p, c, x: gradient(p, c, x, lambda y: y.exp().sum()),
    "gradient of views": lambda p, c, x: gradient(
        p, c, x, lambda y: (y.t()[1:] * 2).reshape(4).sum()
    ),
    "gradient of softmax": lambda p, c, x: gradient(p, c, x, lambda y: (y.softmax(1) * x).sum()),
    "gradient of products": lambda p, c, x: gradient(p, c, x, lambda y: (y @ x.t()).sum()),
    "gradient of linear": lambda p, c, x: gradient(
        p, c, x, lambda y: p.nn.functional.linear(x, y, p.ones(2)).sum()
    ),
    "gradient of a cast": lambda p, c, x: gradient(p, c, x, lambda y: y.double().sum()),
    "double backward": double_backward,
    "writes with gradients": in_place_gradient,
    "plain and wrapped": plain_and_wrapped,
    "hooks": hooks,
    "no_grad": no_grad,
    "a function of the user": custom_function,
    "subclass of a subclass": subclass_of_subclass,
    "transform_subclass": transformed,
    "swap_tensors": exchanged,
    "functions": functions,
    "choices": choices,
    "products": products,
    "vmap": lambda p, c, x: p.func.vmap(lambda r: r * 2)(two(c, x)),
    "func.grad": lambda p, c, x: p.func.grad(lambda t: (t * t).sum())(two(c, x)),
}
