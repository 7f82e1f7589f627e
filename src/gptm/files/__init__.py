"""Files in and out: from a table, a folder or counts to a corpus, and tables back."""

from gptm.files.columns import KINDS, Column, Columns
from gptm.files.formats import FORMATS
from gptm.files.problems import Problem
from gptm.files.reading import Reading, read, read_documents, sniff
from gptm.files.writing import write_table

__all__ = [
    "FORMATS",
    "KINDS",
    "Column",
    "Columns",
    "Problem",
    "Reading",
    "read",
    "read_documents",
    "sniff",
    "write_table",
]
