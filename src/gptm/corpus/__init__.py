"""Documents: counts of words, their vocabulary, metadata and ids, whichever way they came in."""

from gptm.corpus.corpus import Corpus
from gptm.corpus.stop_words import LANGUAGES
from gptm.corpus.words import Words

__all__ = ["LANGUAGES", "Corpus", "Words"]
