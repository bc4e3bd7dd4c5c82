"""Calls of a Fortran routine once per matrix of a batch, in one loop of machine code.

A Python call of a routine costs as much as the routine does for a small matrix: its dozen arguments
are all passed by address, which move from matrix to matrix.
"""

from __future__ import annotations

import ctypes
import functools
import struct

from rushlight.machine import openblas

_HEADER = object.__basicsize__  # behind its header, an array object holds the address of its data
_BY_ADDRESS = -1  # in place of a step: the number itself is in the table


def call(name, count, *arguments):
    """Call the private OpenBLAS's routine `name` `count` times. Arrays of that many rows move from
    call to call; other arrays, integers and letters stay."""
    values, letters = [], 0
    for argument in arguments:
        kind = type(argument)
        if kind is int:
            values += argument, _BY_ADDRESS
        elif kind is str:
            letters += 1
            values += ord(argument), _BY_ADDRESS
        else:
            moves = count > 1 and argument.shape[0] == count
            values += id(argument) + _HEADER, argument.strides[0] if moves else 0
    loop, pack = _loop(len(arguments), letters)
    loop(_address(name), pack(*values), count)


@functools.cache
def _address(name):
    function = getattr(openblas.library(), f"scipy_{name}_64_")
    return ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def _loop(count, letters):
    from rushlight.machine.machine_code import load_module

    symbol = f"fortran_loop_{count}_{letters}"
    address = load_module(symbol, lambda: _text(symbol, count, letters))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64)
    return kind(address), struct.Struct(f"{2 * count}q").pack


def _text(symbol, count, letters):
    """A loop over calls of a routine with `count` arguments, of which that many are letters, whose
    lengths Fortran passes behind the others. Its table holds two words for each: where an
    array object has its address and how far it moves, or a number and that it is one."""
    before, inside, passed = [], [], []
    for i in range(count):
        before += [
            f"%p{i} = getelementptr i64, ptr %table, i64 {2 * i}",
            f"%q{i} = getelementptr i64, ptr %table, i64 {2 * i + 1}",
            f"%v{i} = load i64, ptr %p{i}",
            f"%t{i} = load i64, ptr %q{i}",
            f"%k{i} = icmp eq i64 %t{i}, {_BY_ADDRESS}",
            f"%w{i} = ptrtoint ptr %p{i} to i64",
            f"%h{i} = select i1 %k{i}, i64 %w{i}, i64 %v{i}",
            f"%o{i} = inttoptr i64 %h{i} to ptr",
            f"%d{i} = load i64, ptr %o{i}",
            f"%a{i} = select i1 %k{i}, i64 %w{i}, i64 %d{i}",
            f"%s{i} = select i1 %k{i}, i64 0, i64 %t{i}",
        ]
        inside += [
            f"%m{i} = mul i64 %i, %s{i}",
            f"%n{i} = add i64 %a{i}, %m{i}",
            f"%x{i} = inttoptr i64 %n{i} to ptr",
        ]
        passed.append(f"ptr %x{i}")
    passed += ["i64 1"] * letters
    lines = [
        f"define void @{symbol}(ptr %routine, ptr %table, i64 %count) {{",
        "start:",
        *before,
        "%some = icmp sgt i64 %count, 0",
        "br i1 %some, label %loop, label %done",
        "loop:",
        "%i = phi i64 [0, %start], [%next, %loop]",
        *inside,
        f"call void %routine({', '.join(passed)})",
        "%next = add i64 %i, 1",
        "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %loop, label %done",
        "done:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)
