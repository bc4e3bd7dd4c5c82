"""All generated kernels of the op table: to compile them ahead, and to check them without a GPU."""

from __future__ import annotations

import rushlight
from rushlight.compiler.compilation import _trace
from rushlight.compiler.cuda import copies as cuda_copies
from rushlight.compiler.cuda import words as cuda_words
from rushlight.compiler.cuda.kernel import is_loaded, load_texts
from rushlight.compiler.cuda.text import FORMS, OPTIONS, Printer, is_printable, source
from rushlight.compiler.storage import COMPLEX, NUMPY
from rushlight.dtypes import FLOAT
from rushlight.ops._table import deferred as _deferred
from rushlight.ops._table.elementwise import Call
from rushlight.ops._table.fusion import FusedFormula
from rushlight.ops._table.op import TABLE
from rushlight.ops._table.recording import _parameters
from rushlight.testing.samples import samples_of

DTYPES = (rushlight.float32, rushlight.bfloat16, rushlight.int64)
BATCH = 40  # programs of one source


def programs(dtypes=DTYPES, gradients=True, ops=None):
    """The printers of every elementwise op of the table for the dtypes it takes, by name; with
    those of its gradient formulas."""
    _deferred.load_all()
    found = {}

    def keep(body, inputs, operands, scalars, static, outputs):
        program = _trace(body, inputs, operands, scalars, static, outputs)
        if is_printable(program):
            printer = Printer(program)
            found.setdefault(printer.name, printer)
        return program

    for op in TABLE.values() if ops is None else ops:
        if op.kind != "elementwise":
            continue
        for dtype in dtypes:
            for args, kwargs in samples_of(op, dtype):
                try:
                    call = Call(op, op.bind(args, kwargs))
                    call._compile(keep)
                except (RuntimeError, NotImplementedError, TypeError):
                    continue  # the op does not take this dtype
                if gradients and dtype.category == FLOAT:
                    _formulas(op, call, dtype, keep)
    return list(found.values())


def _formulas(op, call, dtype, keep):
    """The fused kernels of an op's gradient formulas for the attributes of a call."""
    for name, formula in op.formulas.items():
        parameters = _parameters(formula)
        tensors, args = [], []
        for p in parameters:
            position = op.index.get(p)
            tensor = p in ("grad", "out") or position in op.tensor_positions
            tensors.append(tensor)
            if p != "grad":
                args.append(None if tensor or position is None else call.values[position])
        if any(p.endswith("_shape") and p not in op.index for p in parameters):
            continue
        fused = FusedFormula(op, name, formula, parameters, tensors)
        if not fused.identity:
            fused._build(dtype, args, _Keeping(keep))


class _Keeping:
    """Stands for a compile function; what it gives has the attribute that is asked for."""

    fast = None

    def __init__(self, keep):
        self.keep = keep

    def __call__(self, *args):
        self.keep(*args)
        return self


def copies():
    """The printers of casts between all dtypes, fills, and NumPy's words in op bodies."""
    shorts = [s for s in NUMPY if s not in COMPLEX]
    found = [cuda_copies.cast_kernel(a, b).printer for a in shorts for b in shorts]
    found += [cuda_copies.fill_kernel(s, kind).printer for s in shorts for kind in ("i64", "f64")]
    for function in cuda_words.WORDS:
        for short in ("f32", "f64", "bf16", "i64", "bool"):
            kinds = (NUMPY[short],) * function.nin
            loops = cuda_words._resolved(function, kinds, None)
            if loops is not None:
                *operands, out = loops
                kernel = cuda_words._kernel(cuda_words.WORDS[function], kinds, tuple(operands), out)
                found += [] if kernel is None else [kernel.printer]
    return list({printer.name: printer for printer in found}.values())


def batches(printers):
    """The printers in groups of one source each."""
    return [printers[i : i + BATCH] for i in range(0, len(printers), BATCH)]


def sources(dtypes=DTYPES):
    """(name, text, options) of sources that hold every generated kernel."""
    for number, group in enumerate(batches(programs(dtypes))):
        yield f"elementwise_{number}", source([p.text(FORMS) for p in group]), OPTIONS
    for number, group in enumerate(batches(copies())):
        yield f"copies_{number}", source([p.text(FORMS) for p in group]), OPTIONS
    yield cuda_copies.ramp_source()


def load(printers):
    """Compile the kernels of printers that are not yet, many in a source."""
    missing = [p for p in printers if not is_loaded(p)]
    for group in batches(missing):
        load_texts(group)
    return len(missing)
