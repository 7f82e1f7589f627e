"""Files in and out: from a table, a folder or counts to a corpus, and tables back."""

from gptm.files.formats import FORMATS
from gptm.files.problems import Problem
from gptm.files.reader import Reading, read, read_documents, sniff
from gptm.files.table_columns import KINDS, Column, Columns
from gptm.files.writer import write_table

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
