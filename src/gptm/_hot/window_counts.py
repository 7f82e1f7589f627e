"""Words that occur together in windows that slide over texts."""

from gptm._hot.compile_options import inlined, loop


@inlined()
def _leave(word, now, since, inside, n_inside, together):
    """Count the windows from `since` to `now` of a word and of its pairs, and take it out; how many stay inside."""
    kept = 0
    for i in range(n_inside):
        other = inside[i]
        if other == word:
            continue
        inside[kept] = other
        kept += 1
        together[word, other] += now - max(since[word], since[other])
    together[word, word] += now - since[word]
    since[word] = -1
    return kept


@loop()
def count_windows(tokens, ends, window, since, inside, together):
    """Add the windows of texts to `together` (n, n): a pair on one of its two sides, a word on the diagonal.

    `tokens` are words from 0 to n - 1, or -1 for others; text d ends before `ends[d]`. A text has one window for each
    start that leaves it `window` tokens, and at least one. A word is inside from the window in which it comes in to
    the one in which an occurrence of it goes out. `since` (n,), -1 throughout, and `inside` (n,) are work space.

    Instead of all pairs of every window, the number of windows that two words share is added once, when the first of
    them goes out.
    """
    begin = 0
    for d in range(ends.shape[0]):
        length = ends[d] - begin
        n_windows = max(length - window + 1, 1)
        n_inside = 0
        for now in range(n_windows):
            if now > 0:
                gone = tokens[begin + now - 1]
                if gone >= 0 and since[gone] >= 0:
                    n_inside = _leave(gone, now, since, inside, n_inside, together)
            first = 0 if now == 0 else now + window - 1
            for place in range(first, min(now + window, length)):
                word = tokens[begin + place]
                if word >= 0 and since[word] < 0:
                    since[word] = now
                    inside[n_inside] = word
                    n_inside += 1
        while n_inside > 0:
            n_inside = _leave(inside[n_inside - 1], n_windows, since, inside, n_inside, together)
        begin = ends[d]
