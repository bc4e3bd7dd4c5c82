"""Compiled loops behind :mod:`rushlight.kernels.signal.lexicon_search`. Import at first need.

A frame is one item, so that all of it runs in the caller's thread. Sums are rounded as NumPy rounds
them: no product is fused with a sum.
"""

from __future__ import annotations

from rushlight.machine.language.functions import (
    array,
    bitcast,
    f64,
    function,
    i64,
    range_kernel,
    u8,
)

# Argument words: addresses of the hypotheses, their number; scores of tokens, which of them count.
SCORE, STATE, NODE, TOKEN, BLANK, COUNT, HEARD, TRIED, SIZE = range(9)
# The tree, how many nodes it has; special tokens, the unknown word (-1: none), the weight (f64).
STARTS, TOKENS, CHILDREN, BEST, LABEL_STARTS, LABELS, NODES = range(9, 16)
SIL, BLANK_TOKEN, UNKNOWN, WEIGHT = range(16, 20)
# What follows; then results: where its kinds end.
TO_SCORE, TO_BEFORE, TO_STATE, TO_NODE, TO_TOKEN, TO_PARENT, TO_WORD, TO_BLANK = range(20, 28)
INNER_END, KNOWN_END, OTHER_END, END = range(28, 32)
INNER, KNOWN, OTHER = range(3)  # kinds: inside of a word, the end of one, the end of an unknown one
# Of the choice: scores, keys, their number; the most that are chosen, the threshold (f64), a table
# and its number of slots less one, the rows, room for the slots in use; then a result: how many
# there are.
KEY, ROWS, MOST, THRESHOLD, TABLE, MASK, CHOSEN, USED, FOUND = range(1, 10)


@function
def best_before(g, node):
    """The best score of a word below a node, as counted in hypotheses: none at the root."""
    return array(f64, g[BEST])[node] if node != 0 else f64(0)


@function
def put(g, at, score, parent, node, token, word):
    """Write down what follows a hypothesis, without a blank; the next row."""
    array(f64, g[TO_SCORE])[at] = score
    array(f64, g[TO_BEFORE])[at] = best_before(g, array(i64, g[NODE])[parent])
    array(i64, g[TO_STATE])[at] = array(i64, g[STATE])[parent]
    array(i64, g[TO_NODE])[at] = node
    array(i64, g[TO_TOKEN])[at] = token
    array(i64, g[TO_PARENT])[at] = parent
    array(i64, g[TO_WORD])[at] = word
    array(u8, g[TO_BLANK])[at] = u8(0)
    return at + 1


@function(fused=False)
def inside(g, at, score, i, child, token):
    """A token more inside of a word, which a repetition needs a blank for."""
    starts, node = array(i64, g[STARTS]), array(i64, g[NODE])[i]
    new = (array(u8, g[BLANK])[i] != u8(0)) | (token != array(i64, g[TOKEN])[i])
    if (starts[child + 1] > starts[child]) & new:
        gain = array(f64, g[BEST])[child] - best_before(g, node)
        at = put(g, at, score + bitcast(f64, g[WEIGHT]) * gain, i, child, token, -1)
    return at


@function
def ended(g, at, score, i, child, token):
    """The words that a token ends. One of one token needs a blank before it is said again."""
    starts = array(i64, g[LABEL_STARTS])
    if (array(i64, g[NODE])[i] != 0) | (token != array(i64, g[TOKEN])[i]):
        for label in range(starts[child], starts[child + 1]):
            at = put(g, at, score, i, 0, token, array(i64, g[LABELS])[label])
    return at


@function
def unknown(g, at, score, i, child, token):
    """The unknown word, where a token ends none."""
    starts = array(i64, g[LABEL_STARTS])
    if starts[child] == starts[child + 1]:
        at = put(g, at, score, i, 0, token, g[UNKNOWN])
    return at


@function
def spelled(g, at, kind):
    """Hypotheses with a token more."""
    starts, heard = array(i64, g[STARTS]), array(f64, g[HEARD])
    for i in range(g[COUNT]):
        node, score = array(i64, g[NODE])[i], array(f64, g[SCORE])[i]
        for entry in range(starts[node], starts[node + 1]):
            token, child = array(i64, g[TOKENS])[entry], array(i64, g[CHILDREN])[entry]
            if array(u8, g[TRIED])[token] != u8(0):
                if kind == INNER:
                    at = inside(g, at, score + heard[token], i, child, token)
                if kind == KNOWN:
                    at = ended(g, at, score + heard[token], i, child, token)
                if kind == OTHER:
                    at = unknown(g, at, score + heard[token], i, child, token)
    return at


@function
def held(g, at):
    """Hypotheses with the same token once more, or silence between words."""
    for i in range(g[COUNT]):
        node = array(i64, g[NODE])[i]
        if (array(u8, g[BLANK])[i] == u8(0)) | (node == 0):
            token = g[SIL] if node == 0 else array(i64, g[TOKEN])[i]
            score = array(f64, g[SCORE])[i] + array(f64, g[HEARD])[token]
            at = put(g, at, score, i, node, token, -1)
    return at


@function
def silent(g, at):
    """Hypotheses with a blank more."""
    token = g[BLANK_TOKEN]
    heard = array(f64, g[HEARD])[token]
    for i in range(g[COUNT]):
        at = put(g, at, array(f64, g[SCORE])[i] + heard, i, array(i64, g[NODE])[i], token, -1)
        array(u8, g[TO_BLANK])[at - 1] = u8(1)
    return at


@function
def outside(g):
    """How many hypotheses have a node or a token that there is none of."""
    found = 0
    for i in range(g[COUNT]):
        node, token = array(i64, g[NODE])[i], array(i64, g[TOKEN])[i]
        if (node < 0) | (node >= g[NODES]) | (token < 0) | (token >= g[SIZE]):
            found += 1
    return found


@function
def all_followers(g):
    """All hypotheses that may follow those of a beam, kind by kind."""
    at = spelled(g, 0, INNER)
    g[INNER_END] = at
    at = spelled(g, at, KNOWN)
    g[KNOWN_END] = at
    if g[UNKNOWN] >= 0:
        at = spelled(g, at, OTHER)
    g[OTHER_END] = at
    at = held(g, at)
    g[END] = silent(g, at)


@range_kernel
def followers(args, lo, hi, tid):
    """All hypotheses that may follow; -1 of them where one of the beam's is not within range."""
    g = array(i64, args)
    if outside(g) > 0:
        g[END] = -1
        return
    all_followers(g)


@function
def is_better(score, one, other):
    """Whether a row comes before another: by its score, then by its number."""
    return (score[one] > score[other]) | ((score[one] == score[other]) & (one < other))


@function
def sunk(score, heap, root, count):
    """Let a row of a heap whose first is the last of all go down to where it belongs."""
    row, going = heap[root], 1
    while going > 0:
        child = 2 * root + 1
        if child >= count:
            break
        if child + 1 < count:
            if is_better(score, heap[child], heap[child + 1]):
                child += 1
        going = 0
        if is_better(score, row, heap[child]):
            heap[root] = heap[child]
            root = child
            going = 1
    heap[root] = row


@function
def raised(score, heap, at):
    """Let the last row of such a heap go up to where it belongs."""
    row = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if is_better(score, row, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = row


@function
def merged(g, score, keys, table):
    """A table of the best row of each key; how many of its slots are in use. These are written
    down: in the order of rows the best ones tend to come early, which spares a heap work."""
    mask, threshold, used, count = g[MASK], bitcast(f64, g[THRESHOLD]), array(i64, g[USED]), 0
    for slot in range(mask + 1):
        table[slot] = -1
    for row in range(g[ROWS]):
        if score[row] > threshold:
            key = keys[row]
            slot = (key ^ (key >> 9) ^ (key >> 23)) & mask
            other = table[slot]
            while other >= 0:
                if keys[other] == key:
                    break
                slot = (slot + 1) & mask
                other = table[slot]
            if other < 0:
                table[slot] = row
                used[count] = slot
                count += 1
            else:
                if score[row] > score[other]:
                    table[slot] = row
    return count


@function
def best_of_keys(g):
    """The best rows with different keys, the best first: a heap of them, then sorted; how many."""
    score, keys = array(f64, g[SCORE]), array(i64, g[KEY])
    table, heap, used = array(i64, g[TABLE]), array(i64, g[CHOSEN]), array(i64, g[USED])
    count = 0
    for entry in range(merged(g, score, keys, table)):
        row = table[used[entry]]
        if count < g[MOST]:
            heap[count] = row
            raised(score, heap, count)
            count += 1
        else:
            if is_better(score, row, heap[0]):
                heap[0] = row
                sunk(score, heap, 0, count)
    end = count
    while end > 1:
        end -= 1
        worst = heap[0]
        heap[0] = heap[end]
        heap[end] = worst
        sunk(score, heap, 0, end)
    return count


@range_kernel
def best_rows(args, lo, hi, tid):
    """The best rows with different keys, the best first."""
    g = array(i64, args)
    g[FOUND] = best_of_keys(g)
