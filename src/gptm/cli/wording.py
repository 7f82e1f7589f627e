"""What the library says in terms of Python, in terms of the command line."""

import re

# Settings that occur in advice; kernels print settings of their own, such as id='key', which must stay as they are.
_PHRASES = (
    (r"\bkinds=\{'([^']+)': '([^']+)'\}", r"--column '\1=\2'"),
    (r"\bkinds\[('[^']*')\]", r"--column for \1"),
    (r"\b(text|encoding|format|vocabulary)='\.\.\.'", r"--\1"),
    (r"\b(text|encoding|format)='([^']*)'", r"--\1 \2"),
    (r"\btext= ", "--text "),
    (r"^(text|id) names the column", r"--\1 names the column"),
    (r"^kinds names the column", "--column names the column"),
    (r"\bid=,", "--id,"),
    (
        r"^ngram_range must be .*; got \((\d+), (\d+)\)\.",
        r"--ngrams expects the fewest and the most words, as in 1-2; got \1-\2.",
    ),
    (r"^stop_words must be", "--stop-words must be"),
    (
        r"^seed_words has (\d+ topics), but n_components is (\d+)\. .*",
        r"--seed-words has \1, but --topics is \2.",
    ),
    (
        r" Convert it, for example with pd\.to_datetime or pd\.to_numeric,",
        " Say what it holds, as in --column 'NAME=date:%d/%m/%Y',",
    ),
    (r"\bvocabulary=,", "--vocabulary,"),
    (r"\bstop_words=None\b", "--stop-words none"),
    (r"\bstrict=True\b", "--strict"),
    (r"\bmissing_columns='prior'", "--missing-columns prior"),
    (
        r" Pass metadata=, or inside scikit-learn's .*routing=True\)\.",
        " Bring a file with these columns.",
    ),
    (r"\b(min|max)_df\b", r"--\1-df"),
    (r"(?<=[Ii]ncrease )max_iter\b", "--max-iter"),
    (r"(?<=, or )tol\b", "--tol"),
    (r"(?<= of | in )max_iter=(\d+)", r"\1"),
    (r"(?<=rises by more than )tol=([\d.e-]+)", r"\1"),
    (r" in max_iter iterations, see `converged`\.", "."),
    (r"\bkernel='auto' means kernel=None\b", "--kernel auto means none"),
    (r"\bkernel='auto' means kernel=", "--kernel auto means "),
    (r"\binference='(\w+)'", r"--inference \1"),
    (r"^(at|versus)= must have (.*) Where one is not known, give None\.", r"--\1 must have \2"),
    (r" Fit again with warm_start=True to go on from it\.", ""),
    (r" \(diagnostics_ has all\)", ""),
)


def in_options(text: str) -> str:
    """A message on one line, with options in place of arguments.

    Examples
    --------
    >>> in_options("Name the encoding, for example encoding='latin-1'.")
    'Name the encoding, for example --encoding latin-1.'
    >>> in_options("Graph('links', id='key') has nothing to learn from")
    "Graph('links', id='key') has nothing to learn from"
    """
    line = " ".join(text.split())
    for pattern, phrase in _PHRASES:
        line = re.sub(pattern, phrase, line)
    return line
