"""cuBLASLt by ctypes: products of matrices with epilogues, in any precision that it has.

cuBLASLt counts in columns: a row-major [m, n] is its column-major [n, m]. :func:`arrange` says
what a :class:`Product` is in its terms and is tested without the library. Numbers of enumerations
are those of ``cublasLt.h`` (CUDA 12 and 13).
"""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from rushlight.machine.cuda.runtime.nvrtc import open_library
from rushlight.machine.cuda.runtime.products import Product

DATA_TYPES = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.float16): 2,
    np.dtype(ml_dtypes.bfloat16): 14,
}
COMPUTE_32F, COMPUTE_64F, COMPUTE_32F_FAST_TF32 = 68, 70, 77
# Attributes of a product's description, of a matrix's, of a preference.
TRANSPOSE_A, TRANSPOSE_B, EPILOGUE, BIAS_POINTER, BIAS_TYPE = 3, 4, 7, 8, 26
BATCH_COUNT, BATCH_STRIDE = 5, 6
WORKSPACE_BYTES, ALIGNMENT_A = 1, 5  # B, C, D follow
EPILOGUES = {"none": 1, "bias": 4, "relu_bias": 6, "gelu_bias": 36}
WORKSPACE = 32 << 20
ALGORITHM_BYTES = 64
NOT_FOUND = (
    "cuBLASLt was not found: it comes with `pip install rushlight[cuda13]` (or cuda12: the "
    "libraries of cupy[ctk])"
)
NOT_SUPPORTED = 15
STATUS = {
    1: "not initialized",
    3: "allocation failed",
    7: "invalid value",
    8: "architecture mismatch",
    11: "mapping error",
    13: "execution failed",
    14: "internal error",
    NOT_SUPPORTED: "not supported",
    16: "license error",
}


class Heuristic(ctypes.Structure):
    """``cublasLtMatmulHeuristicResult_t``: 96 bytes."""

    _fields_ = (
        ("algorithm", ctypes.c_ubyte * ALGORITHM_BYTES),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


@dataclass(frozen=True)
class Operand:
    """A column-major matrix: rows, columns, leading dimension, and whether it is turned."""

    rows: int
    columns: int
    leading: int
    turned: bool
    batch_stride: int


@dataclass(frozen=True)
class Arrangement:
    """A product in columns: ``D[m, n] = first @ second``; `swapped` says that first is `b`."""

    first: Operand
    second: Operand
    result: Operand
    swapped: bool


def _leading(strides, rows, columns):
    """(leading dimension, whether memory is row-major) of a [rows, columns] with these strides."""
    row, column = strides
    if column == 1 and (row >= columns or rows <= 1):
        return max(row if rows > 1 else columns, 1), True
    return max(column if columns > 1 else rows, 1), False


def arrange(product: Product) -> Arrangement:
    """What cuBLASLt is asked for. A row-major result is computed turned: out.T = b.T @ a.T."""
    p = product
    leading, by_rows = _leading(p.out_strides, p.m, p.n)
    step_a, step_b, step_out = p.batch_strides

    def operand(strides, rows, columns, step, turned_result):
        lead, in_rows = _leading(strides, rows, columns)
        stored = (columns, rows) if in_rows else (rows, columns)
        return Operand(*stored, lead, in_rows != turned_result, step)

    a = operand(p.a_strides, p.m, p.k, step_a, by_rows)
    b = operand(p.b_strides, p.k, p.n, step_b, by_rows)
    if by_rows:
        return Arrangement(b, a, Operand(p.n, p.m, leading, False, step_out), True)
    if p.epilogue != "none":
        raise ValueError("gemm(): an epilogue with a bias needs a row-major result")
    return Arrangement(a, b, Operand(p.m, p.n, leading, False, step_out), False)


def compute_types(product: Product) -> tuple[int, int]:
    """cuBLASLt's compute type and the type of alpha and beta."""
    if product.dtype == np.float64:
        return COMPUTE_64F, 1
    fast = product.tf32 and product.dtype == np.float32
    return (COMPUTE_32F_FAST_TF32 if fast else COMPUTE_32F), 0


def alignment(address: int) -> int:
    """The largest power of two up to 256 that divides an address."""
    return min(256, address & -address) if address else 256


class Plan:
    """Descriptions of one kind of product and the algorithm that was chosen for it."""

    def __init__(self, library, product):
        self.library, self.arrangement = library, arrange(product)
        compute, self.scale = compute_types(product)
        self.operation = library.make("MatmulDesc", ctypes.c_int(compute), ctypes.c_int(self.scale))
        a, b = self.arrangement.first, self.arrangement.second
        library.set("MatmulDesc", self.operation, TRANSPOSE_A, ctypes.c_int32(int(a.turned)))
        library.set("MatmulDesc", self.operation, TRANSPOSE_B, ctypes.c_int32(int(b.turned)))
        code = ctypes.c_uint32(EPILOGUES[product.epilogue])
        library.set("MatmulDesc", self.operation, EPILOGUE, code)
        result = DATA_TYPES[product.result_dtype]
        if product.epilogue != "none":
            library.set("MatmulDesc", self.operation, BIAS_TYPE, ctypes.c_int32(result))
        kind = DATA_TYPES[product.dtype]
        self.layouts = [
            library.layout(kind, a, product.batch),
            library.layout(kind, b, product.batch),
            library.layout(result, self.arrangement.result, product.batch),
        ]
        real = ctypes.c_double if self.scale else ctypes.c_float
        self.alpha, self.beta = real(product.alpha), real(product.beta)
        self.heuristic, self.refusal = None, None

    def choose(self, handle, alignments):
        """Ask for the best algorithm for these alignments and keep it."""
        library = self.library
        preference = library.make("MatmulPreference")
        try:
            library.set("MatmulPreference", preference, WORKSPACE_BYTES, ctypes.c_uint64(WORKSPACE))
            for number, value in enumerate(alignments):
                library.set(
                    "MatmulPreference", preference, ALIGNMENT_A + number, ctypes.c_uint32(value)
                )
            found, count = Heuristic(), ctypes.c_int()
            a, b, out = self.layouts
            library.check(
                "cublasLtMatmulAlgoGetHeuristic", handle, self.operation, a, b, out, out,
                preference, ctypes.c_int(1), ctypes.byref(found), ctypes.byref(count),
            )  # fmt: skip
        finally:
            library.check("cublasLtMatmulPreferenceDestroy", preference)
        if count.value == 0:
            raise NotImplementedError("cuBLASLt has no algorithm for this product")
        self.heuristic = found


class Library:
    """The loaded library with a handle per device and the plans made so far."""

    def __init__(self):
        self.functions = open_library("cublasLt")
        if self.functions is None:
            raise RuntimeError(NOT_FOUND)
        self.handles, self.lock = {}, threading.Lock()

    def check(self, name, *arguments):
        """Call a function; RuntimeError where its status is not success, NotImplementedError where
        the library does not support what is asked."""
        status = getattr(self.functions, name)(*arguments)
        if status:
            kind = NotImplementedError if status == NOT_SUPPORTED else RuntimeError
            raise kind(f"{name}: {STATUS.get(status, f'status {status}')}")

    def make(self, kind, *arguments):
        """A new description."""
        made = ctypes.c_void_p()
        self.check(f"cublasLt{kind}Create", ctypes.byref(made), *arguments)
        return made

    def set(self, kind, what, attribute, value):
        """One attribute."""
        self.check(
            f"cublasLt{kind}SetAttribute", what, ctypes.c_int(attribute), ctypes.byref(value),
            ctypes.c_size_t(ctypes.sizeof(value)),
        )  # fmt: skip

    def layout(self, kind, operand, batch):
        """The description of a matrix, or of a batch of them."""
        made = self.make(
            "MatrixLayout", ctypes.c_int(kind), ctypes.c_uint64(operand.rows),
            ctypes.c_uint64(operand.columns), ctypes.c_int64(operand.leading),
        )  # fmt: skip
        if batch > 1:
            self.set("MatrixLayout", made, BATCH_COUNT, ctypes.c_int32(batch))
            self.set("MatrixLayout", made, BATCH_STRIDE, ctypes.c_int64(operand.batch_stride))
        return made

    def handle(self, device):
        """The handle of the current device."""
        if device not in self.handles:
            made = ctypes.c_void_p()
            self.check("cublasLtCreate", ctypes.byref(made))
            self.handles[device] = made
        return self.handles[device]

    def _planned(self, product, key, handle):
        """A plan, kept with its product; with the reason where there is no algorithm."""
        plan = Plan(self, product)
        _, _, a, b, out = key
        first, second = (b, a) if plan.arrangement.swapped else (a, b)
        try:
            if product.epilogue == "gelu_bias" and product.dtype == np.float64:
                raise NotImplementedError("cuBLASLt's GELU of float64 is right to 1e-11 only")
            plan.choose(handle, (first, second, out, out))
        except NotImplementedError as error:
            plan.refusal = str(error)
        product.plans[key] = plan
        return plan

    def multiply(self, device, product, a, b, out, bias, stream, allocate):
        """Launch a product; `allocate(nbytes)` gives workspace that is kept until it returns."""
        key = (self, device, alignment(a), alignment(b), alignment(out))
        with self.lock:
            handle = self.handle(device)
            plan = product.plans.get(key)
            if plan is None:
                plan = self._planned(product, key, handle)
            if plan.refusal:
                raise NotImplementedError(plan.refusal)
            if bias:
                self.set("MatmulDesc", plan.operation, BIAS_POINTER, ctypes.c_void_p(bias))
            first, second = (b, a) if plan.arrangement.swapped else (a, b)
            need = plan.heuristic.workspace
            space = allocate(need) if need else None
            left, right, result = plan.layouts
            self.check(
                "cublasLtMatmul", handle, plan.operation, ctypes.byref(plan.alpha),
                ctypes.c_void_p(first), left, ctypes.c_void_p(second), right,
                ctypes.byref(plan.beta), ctypes.c_void_p(out), result, ctypes.c_void_p(out), result,
                ctypes.byref(plan.heuristic.algorithm),
                ctypes.c_void_p(space.address if space else 0), ctypes.c_size_t(need),
                ctypes.c_void_p(stream),
            )  # fmt: skip
