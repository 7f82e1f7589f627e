"""A fitted model as one file, with its documents beside it where users want them.

The file is in the safetensors format: a header in JSON and arrays, no code. `model_file` says what goes into it. What
comes out is checked before it is used, since files come from anywhere (`checked_file`, `header_checks`,
`training_checks`). `CheckpointFile` keeps the progress of a fit. Begin with `model_file`.
"""

from gptm.storage.model_file import (
    Attached,
    Stored,
    load_attached,
    read_header,
    read_model,
    write_model,
)

__all__ = ["Attached", "Stored", "load_attached", "read_header", "read_model", "write_model"]
