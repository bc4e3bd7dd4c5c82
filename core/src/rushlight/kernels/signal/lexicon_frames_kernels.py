"""A compiled frame of a beam search over a lexicon, and the table of what its language model said.

The words of arguments are those of `followers`, which a frame sets itself, and more. Import at
first need.
"""

from __future__ import annotations

from rushlight.kernels.signal.lexicon_search_kernels import CHOSEN as CHOSEN_ROWS
from rushlight.kernels.signal.lexicon_search_kernels import (
    COUNT,
    END,
    HEARD,
    INNER_END,
    KEY,
    KNOWN_END,
    MASK,
    NODE,
    NODES,
    OTHER_END,
    ROWS,
    SCORE,
    SIZE,
    THRESHOLD,
    TO_BEFORE,
    TO_BLANK,
    TO_NODE,
    TO_PARENT,
    TO_SCORE,
    TO_STATE,
    TO_TOKEN,
    TO_WORD,
    TRIED,
    WEIGHT,
    all_followers,
    best_of_keys,
)
from rushlight.machine.language.functions import (
    array,
    bitcast,
    f64,
    function,
    i64,
    range_kernel,
    u8,
)

# The frame, how many there are, what is next in it, why the kernel came back.
FRAME, FRAMES, STAGE, CODE = range(32, 36)
# Scores of all frames, tokens that are tried; records of the beams, their lengths, the most of one.
ALL_HEARD, ALL_TRIED, RECORDS, LENGTHS, BEAM = range(36, 41)
# Rows that may follow each node, how many rows there is room for, how many there must be.
MOST_OF, ROOM, NEEDED = range(41, 44)
# What each word adds, an unknown one, and how far a score may be below the best (all f64).
WORD_SCORE, UNKNOWN_SCORE, BEAM_THRESHOLD = range(44, 47)
# What the language model said: a table of keys, next states and scores, its number of slots less
# one, how many are in use; numbers of words; the next state where there is no model, else -1.
MEMO_KEYS, MEMO_AFTER, MEMO_SCORE, MEMO_MASK, MEMO_USED, WORDS, NEXT_STATE = range(47, 54)
# What is to be asked: its keys, how many; slots of this frame's words; the words of the choice.
MISSING, MISSED, SLOTS, CHOICE = range(54, 58)
SIZE_OF_BLOCK = 58

DONE, ASK, GROW, REMEMBER, NOTHING = range(5)  # why the kernel came back
FOLLOW, SPEAK = range(2)  # what is next in a frame
COLUMNS = 7  # of a record: score, state, node, token, blank, parent, word
PARENT, WORD = 5, 6
NO_KEY = -1
LEAST = float("-inf")


@function
def column(g, frame, which):
    """The address of a column of a beam."""
    return g[RECORDS] + 8 * ((frame * COLUMNS + which) * g[BEAM])


@function
def placed(g):
    """Let the words of `followers` say this frame; how many rows may follow at most."""
    frame = g[FRAME]
    for which in range(5):
        g[SCORE + which] = column(g, frame, which)
    g[COUNT] = array(i64, g[LENGTHS])[frame]
    g[HEARD] = g[ALL_HEARD] + 8 * g[SIZE] * frame
    g[TRIED] = g[ALL_TRIED] + g[SIZE] * frame
    most, node, total = array(i64, g[MOST_OF]), array(i64, g[NODE]), 2 * g[COUNT]
    for i in range(g[COUNT]):
        total += most[node[i]]
    return total


@function
def slot_of(g, key):
    """Where a key stands in the table of what the model said, or where it belongs."""
    keys, mask = array(i64, g[MEMO_KEYS]), g[MEMO_MASK]
    slot = (key ^ (key >> 9) ^ (key >> 23)) & mask
    while keys[slot] != NO_KEY:
        if keys[slot] == key:
            break
        slot = (slot + 1) & mask
    return slot


@function
def noted(g, slot, key, after, score):
    """Write down what the model said."""
    array(i64, g[MEMO_KEYS])[slot] = key
    array(i64, g[MEMO_AFTER])[slot] = after
    array(f64, g[MEMO_SCORE])[slot] = score
    g[MEMO_USED] += 1


@function
def looked_up(g):
    """Find what the model says of all words that ended; how many it must be asked for."""
    missed, slots, missing = 0, array(i64, g[SLOTS]), array(i64, g[MISSING])
    for row in range(g[INNER_END], g[OTHER_END]):
        key = array(i64, g[TO_STATE])[row] * g[WORDS] + array(i64, g[TO_WORD])[row]
        slot = slot_of(g, key)
        slots[row] = slot
        if array(i64, g[MEMO_KEYS])[slot] == NO_KEY:
            if g[NEXT_STATE] >= 0:
                noted(g, slot, key, g[NEXT_STATE], f64(0))
                g[NEXT_STATE] += 1
            else:
                missing[missed] = key
                missed += 1
    return missed


@function(fused=False)
def spoken(g):
    """Add what the model says to hypotheses in which a word ended."""
    score, state = array(f64, g[TO_SCORE]), array(i64, g[TO_STATE])
    weight = bitcast(f64, g[WEIGHT])
    for row in range(g[INNER_END], g[OTHER_END]):
        slot = array(i64, g[SLOTS])[row]
        extra = bitcast(f64, g[WORD_SCORE] if row < g[KNOWN_END] else g[UNKNOWN_SCORE])
        said = array(f64, g[MEMO_SCORE])[slot] - array(f64, g[TO_BEFORE])[row]
        score[row] = score[row] + weight * said + extra
        state[row] = array(i64, g[MEMO_AFTER])[slot]


@function
def keyed(g):
    """A number for each hypothesis: equal ones merge. The greatest score, NaN if there is one."""
    keys, top = array(i64, g[SLOTS]), f64(LEAST)
    score, blank = array(f64, g[TO_SCORE]), array(u8, g[TO_BLANK])
    for row in range(g[END]):
        key = array(i64, g[TO_STATE])[row] * g[NODES] + array(i64, g[TO_NODE])[row]
        key = key * g[SIZE] + array(i64, g[TO_TOKEN])[row]
        keys[row] = 2 * key + i64(blank[row])
        if (score[row] > top) | (score[row] != score[row]):
            top = score[row]
        if top != top:
            break
    return top


@function
def chosen(g):
    """Choose the best hypotheses; how many."""
    choice, mask = array(i64, g[CHOICE]), 1
    choice[THRESHOLD] = bitcast(i64, keyed(g) - bitcast(f64, g[BEAM_THRESHOLD]))
    while mask <= 2 * g[END]:  # at most half of the table is full
        mask = 2 * mask
    choice[SCORE] = g[TO_SCORE]
    choice[KEY] = g[SLOTS]
    choice[ROWS] = g[END]
    choice[MASK] = mask - 1
    return best_of_keys(choice)


@function
def copied(g, source, target, rows, count):
    """Take chosen rows of a column."""
    for i in range(count):
        array(i64, target)[i] = array(i64, source)[array(i64, rows)[i]]


@function
def kept(g, count):
    """Write down the chosen hypotheses as the next beam."""
    rows, frame = array(i64, g[CHOICE])[CHOSEN_ROWS], g[FRAME] + 1
    copied(g, g[TO_SCORE], column(g, frame, 0), rows, count)
    copied(g, g[TO_STATE], column(g, frame, 1), rows, count)
    copied(g, g[TO_NODE], column(g, frame, 2), rows, count)
    copied(g, g[TO_TOKEN], column(g, frame, 3), rows, count)
    copied(g, g[TO_PARENT], column(g, frame, PARENT), rows, count)
    copied(g, g[TO_WORD], column(g, frame, WORD), rows, count)
    blank = array(u8, column(g, frame, 4))
    for i in range(count):
        blank[i] = array(u8, g[TO_BLANK])[array(i64, rows)[i]]
    array(i64, g[LENGTHS])[frame] = count


@function
def lexicon_step(g):
    """A frame, or what is left of it; why it did not end."""
    if g[STAGE] == FOLLOW:
        g[NEEDED] = placed(g)
        if g[NEEDED] > g[ROOM]:
            return GROW
        all_followers(g)
        g[STAGE] = SPEAK
    if 2 * (g[MEMO_USED] + g[OTHER_END] - g[INNER_END]) > g[MEMO_MASK]:
        return REMEMBER
    g[MISSED] = looked_up(g)
    if g[MISSED] > 0:
        return ASK
    spoken(g)
    count = chosen(g)
    if count == 0:
        return NOTHING
    kept(g, count)
    g[STAGE] = FOLLOW
    return DONE


# Of `remember`: keys, next states, scores, how many; then the words of the memo.
GIVEN_KEYS, GIVEN_AFTER, GIVEN_SCORE, GIVEN = range(4)


@range_kernel
def remember(args, lo, hi, tid):
    """Put what the model said into the table."""
    g = array(i64, args)
    given = array(i64, g[MISSING])
    for row in range(g[MISSED]):
        key = array(i64, given[GIVEN_KEYS])[row]
        if key != NO_KEY:
            slot = slot_of(g, key)
            if array(i64, g[MEMO_KEYS])[slot] == NO_KEY:
                after = array(i64, given[GIVEN_AFTER])[row]
                noted(g, slot, key, after, array(f64, given[GIVEN_SCORE])[row])
