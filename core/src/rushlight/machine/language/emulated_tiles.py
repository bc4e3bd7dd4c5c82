"""Matrix units (Intel AMX) where the machine has none: tiles in memory and functions on them.

A thread's eight tiles of 16 rows of 64 bytes belong to it from the configuration to the release, as
registers would: an entry of a table, found by the address of the thread's control block. Import at
first need.
"""

from __future__ import annotations

import textwrap

from rushlight.machine.language.emulated_instructions import (
    FMA,
    TILES,
    fused_and_flushed,
    halves_of_pairs,
)

ENTRIES = 256  # threads that may be between configuration and release at once
SYMBOL = "rushlight_tiles"

_TABLE = f"""
%tiles = type [8 x [16 x <16 x i32>]]
@owners = internal global [{ENTRIES} x i64] zeroinitializer
@tiles = internal global [{ENTRIES} x %tiles] zeroinitializer, align 64

declare void @llvm.trap()
{FMA}

define internal i64 @thread() alwaysinline {{
  %block = load i64, ptr addrspace(257) null  ; fs:0
  ret i64 %block
}}

; The first entry with this owner; a thread that has none ends the process.
define internal i64 @entry_of(i64 %owner) {{
start:
  br label %look
look:
  %i = phi i64 [ 0, %start ], [ %next, %more ]
  %at = getelementptr [{ENTRIES} x i64], ptr @owners, i64 0, i64 %i
  %found = load atomic i64, ptr %at monotonic, align 8
  %own = icmp eq i64 %found, %owner
  br i1 %own, label %done, label %more
more:
  %next = add i64 %i, 1
  %over = icmp eq i64 %next, {ENTRIES}
  br i1 %over, label %lost, label %look
done:
  ret i64 %i
lost:
  call void @llvm.trap()
  unreachable
}}

define internal ptr @tile(i8 %number) {{
  %owner = call i64 @thread()
  %entry = call i64 @entry_of(i64 %owner)
  %wide = zext i8 %number to i64
  %at = getelementptr [{ENTRIES} x %tiles], ptr @tiles, i64 0, i64 %entry, i64 %wide
  ret ptr %at
}}

define void @{TILES["llvm.x86.ldtilecfg"]}(ptr %setting) {{
  %owner = call i64 @thread()
  br label %claim
claim:
  %entry = call i64 @entry_of(i64 0)
  %at = getelementptr [{ENTRIES} x i64], ptr @owners, i64 0, i64 %entry
  %both = cmpxchg ptr %at, i64 0, i64 %owner seq_cst seq_cst
  %got = extractvalue {{ i64, i1 }} %both, 1
  br i1 %got, label %clear, label %claim
clear:
  %mine = getelementptr [{ENTRIES} x %tiles], ptr @tiles, i64 0, i64 %entry
  store %tiles zeroinitializer, ptr %mine, align 64
  ret void
}}

define void @{TILES["llvm.x86.tilerelease"]}() {{
  %owner = call i64 @thread()
  %entry = call i64 @entry_of(i64 %owner)
  %at = getelementptr [{ENTRIES} x i64], ptr @owners, i64 0, i64 %entry
  store atomic i64 0, ptr %at seq_cst, align 8
  ret void
}}

define void @{TILES["llvm.x86.tilezero"]}(i8 %number) {{
  %at = call ptr @tile(i8 %number)
  store [16 x <16 x i32>] zeroinitializer, ptr %at, align 64
  ret void
}}
"""


def _moves(name, loads):
    """TILELOADD and TILESTORED: 16 rows of 64 bytes from or to memory with a stride."""
    here, there = "ptr %memory, align 1", "ptr %row, align 64"
    source, target = (here, there) if loads else (there, here)
    return f"""
    define void @{name}(i8 %number, ptr %base, i64 %stride) {{
    start:
      %tile = call ptr @tile(i8 %number)
      br label %rows
    rows:
      %r = phi i64 [ 0, %start ], [ %next, %rows ]
      %row = getelementptr [16 x <16 x i32>], ptr %tile, i64 0, i64 %r
      %offset = mul i64 %r, %stride
      %memory = getelementptr i8, ptr %base, i64 %offset
      %words = load <16 x i32>, {source}
      store <16 x i32> %words, {target}
      %next = add i64 %r, 1
      %over = icmp eq i64 %next, 16
      br i1 %over, label %done, label %rows
    done:
      ret void
    }}"""


def _products(name):
    """TDPBF16PS: in each row the upper and the lower products of all pairs are summed apart, then
    both sums together are added to the tile."""
    f, w = "<16 x float>", "<16 x i32>"
    return f"""
    define void @{name}(i8 %c, i8 %a, i8 %b) {{
    start:
      %sums = call ptr @tile(i8 %c)
      %left = call ptr @tile(i8 %a)
      %right = call ptr @tile(i8 %b)
      br label %rows
    rows:
      %r = phi i64 [ 0, %start ], [ %r.next, %finish ]
      %row = getelementptr [16 x [16 x i32]], ptr %left, i64 0, i64 %r
      br label %steps
    steps:
      %k = phi i64 [ 0, %rows ], [ %k.next, %steps ]
      %even = phi {f} [ zeroinitializer, %rows ], [ %low, %steps ]
      %odd = phi {f} [ zeroinitializer, %rows ], [ %high, %steps ]
      %at = getelementptr [16 x i32], ptr %row, i64 0, i64 %k
      %word = load i32, ptr %at
      %one = insertelement {w} poison, i32 %word, i32 0
      %pairs = shufflevector {w} %one, {w} poison, {w} zeroinitializer
      %line = getelementptr [16 x {w}], ptr %right, i64 0, i64 %k
      %columns = load {w}, ptr %line, align 64
      {halves_of_pairs("x", "pairs")}
      {halves_of_pairs("y", "columns")}
      {fused_and_flushed("low", "x.0", "y.0", "even")}
      {fused_and_flushed("high", "x.1", "y.1", "odd")}
      %k.next = add i64 %k, 1
      %k.over = icmp eq i64 %k.next, 16
      br i1 %k.over, label %finish, label %steps
    finish:
      %to = getelementptr [16 x {f}], ptr %sums, i64 0, i64 %r
      %before = load {f}, ptr %to, align 64
      %both = fadd {f} %low, %high
      %after = fadd {f} %before, %both
      store {f} %after, ptr %to, align 64
      %r.next = add i64 %r, 1
      %r.over = icmp eq i64 %r.next, 16
      br i1 %r.over, label %done, label %rows
    done:
      ret void
    }}"""


def text() -> str:
    """The module: one function for each instruction, and one by whose name it is kept."""
    parts = (
        _TABLE,
        _moves(TILES["llvm.x86.tileloadd64"], True),
        _moves(TILES["llvm.x86.tilestored64"], False),
        _products(TILES["llvm.x86.tdpbf16ps"]),
        f"define void @{SYMBOL}() {{\n  ret void\n}}",
    )
    return "\n".join(textwrap.dedent(part) for part in parts)
