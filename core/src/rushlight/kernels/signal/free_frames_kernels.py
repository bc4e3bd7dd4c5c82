"""A compiled frame of a beam search over tokens that follow each other freely.

As `lexicon_frames_kernels.py`, but the language model tells the scores of all tokens behind a state
beforehand, in rows; it is asked for the next states of those hypotheses alone that are kept. Import
at first need.
"""

from __future__ import annotations

from rushlight.kernels.signal.lexicon_frames_kernels import (
    ASK,
    DONE,
    FOLLOW,
    FRAME,
    GROW,
    LENGTHS,
    MEMO_AFTER,
    MEMO_KEYS,
    MEMO_MASK,
    MEMO_USED,
    MISSED,
    MISSING,
    NEEDED,
    NEXT_STATE,
    NO_KEY,
    NOTHING,
    REMEMBER,
    ROOM,
    SPEAK,
    STAGE,
    chosen,
    column,
    kept,
    noted,
    placed,
    slot_of,
)
from rushlight.kernels.signal.lexicon_search_kernels import (
    BLANK,
    BLANK_TOKEN,
    COUNT,
    END,
    HEARD,
    SCORE,
    SIZE,
    STATE,
    TO_BLANK,
    TO_NODE,
    TO_PARENT,
    TO_SCORE,
    TO_STATE,
    TO_TOKEN,
    TO_WORD,
    TOKEN,
    TRIED,
    WEIGHT,
)
from rushlight.machine.language.functions import (
    array,
    bitcast,
    f64,
    function,
    i64,
    u8,
)

ROWS_OF = 58  # addresses of the rows of states
SIZE_OF_BLOCK = 59
NEW = -2  # states below stand for keys: what follows a state by a token, not asked for so far


@function(fused=False)
def scored(g, state, token):
    """What the model says of a token behind a state, weighted."""
    said = f64(0)
    if g[NEXT_STATE] < 0:
        row = array(f64, array(i64, g[ROWS_OF])[state])
        said = bitcast(f64, g[WEIGHT]) * row[token]
    return said


@function
def behind(g, state, token):
    """The state behind a token, or one that stands for its key."""
    key = state * g[SIZE] + token
    slot = slot_of(g, key)
    known = array(i64, g[MEMO_KEYS])[slot] != NO_KEY
    return array(i64, g[MEMO_AFTER])[slot] if known else NEW - key


@function
def put_free(g, at, i, token):
    """Write down hypothesis `i` with a token: a blank, the last one held, or a new one."""
    score = array(f64, g[SCORE])[i] + array(f64, g[HEARD])[token]
    state, blank = array(i64, g[STATE])[i], token == g[BLANK_TOKEN]
    held = (token == array(i64, g[TOKEN])[i]) & (array(u8, g[BLANK])[i] == u8(0))
    if not (blank | held):
        score = score + scored(g, state, token)
        state = behind(g, state, token)
    array(f64, g[TO_SCORE])[at] = score
    array(i64, g[TO_STATE])[at] = state
    array(i64, g[TO_NODE])[at] = 0
    array(i64, g[TO_TOKEN])[at] = token
    array(i64, g[TO_PARENT])[at] = i
    array(i64, g[TO_WORD])[at] = -1
    array(u8, g[TO_BLANK])[at] = u8(1) if blank else u8(0)


@function
def free_followers(g):
    """All hypotheses with each of the tokens that are tried."""
    at, tried = 0, array(u8, g[TRIED])
    for i in range(g[COUNT]):
        for token in range(g[SIZE]):
            if tried[token] != u8(0):
                put_free(g, at, i, token)
                at += 1
    g[END] = at


@function
def settled(g):
    """Give states to the hypotheses that were kept; how many are to be asked for."""
    frame, missed = g[FRAME] + 1, 0
    states, missing = array(i64, column(g, frame, 1)), array(i64, g[MISSING])
    for i in range(array(i64, g[LENGTHS])[frame]):
        if states[i] <= NEW:
            key = NEW - states[i]
            slot = slot_of(g, key)
            if array(i64, g[MEMO_KEYS])[slot] == NO_KEY:
                if g[NEXT_STATE] >= 0:
                    noted(g, slot, key, g[NEXT_STATE], f64(0))
                    g[NEXT_STATE] += 1
            if array(i64, g[MEMO_KEYS])[slot] == NO_KEY:
                missing[missed] = key
                missed += 1
            else:
                states[i] = array(i64, g[MEMO_AFTER])[slot]
    return missed


@function
def free_step(g):
    """A frame, or what is left of it; why it did not end."""
    if g[STAGE] == FOLLOW:
        g[NEEDED] = placed(g)
        if g[NEEDED] > g[ROOM]:
            return GROW
        free_followers(g)
        count = chosen(g)
        if count == 0:
            return NOTHING
        kept(g, count)
        g[STAGE] = SPEAK
    if 2 * (g[MEMO_USED] + array(i64, g[LENGTHS])[g[FRAME] + 1]) > g[MEMO_MASK]:
        return REMEMBER
    g[MISSED] = settled(g)
    if g[MISSED] > 0:
        return ASK
    g[STAGE] = FOLLOW
    return DONE
