"""Documents: counts of words, their vocabulary, metadata and ids, whichever way they came in.

`Corpus` has them in memory, `BlockCorpus` on disk. `words` says how texts become counts. `kinds` decides what columns
of metadata hold, `typed_columns` gives them these types, and `metadata` reads them into numbers for kernels. A
`ProblemLog` keeps what was wrong. Begin with `corpus`, then `words` and `kinds`.
"""

from typing import TYPE_CHECKING

from gptm._basics.lazy import lazy_names

if TYPE_CHECKING:
    from gptm.corpus.block_corpus import BlockCorpus, open_corpus
    from gptm.corpus.corpus import Corpus
    from gptm.corpus.stop_words import LANGUAGES
    from gptm.corpus.words import Words
    from gptm.corpus.words_report import WordsReport

__all__ = ["LANGUAGES", "BlockCorpus", "Corpus", "Words", "WordsReport", "open_corpus"]

_HOMES = {
    "BlockCorpus": "gptm.corpus.block_corpus",
    "Corpus": "gptm.corpus.corpus",
    "LANGUAGES": "gptm.corpus.stop_words",
    "Words": "gptm.corpus.words",
    "WordsReport": "gptm.corpus.words_report",
    "open_corpus": "gptm.corpus.block_corpus",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
