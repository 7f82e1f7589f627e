"""Files in and out: from a table, a folder or counts to a corpus, and tables back.

`reader` leads through it: `formats` opens a file and gives its rows, a `Plan` says what becomes of each column,
`counted` counts the texts, and a `CellTable` keeps the other cells. `block_reading` does the same for a corpus on disk,
and `writer` writes tables. Begin with `reader`.
"""

from gptm.corpus.kinds import KINDS, ColumnKind
from gptm.corpus.problems import DataProblem
from gptm.files.block_reading import BlockReadResult, read_to_blocks
from gptm.files.formats import FORMATS
from gptm.files.reader import ReadResult, read, read_documents, sniff
from gptm.files.table_columns import Columns
from gptm.files.writer import write_table

__all__ = [
    "FORMATS",
    "KINDS",
    "BlockReadResult",
    "ColumnKind",
    "Columns",
    "DataProblem",
    "ReadResult",
    "read",
    "read_documents",
    "read_to_blocks",
    "sniff",
    "write_table",
]
