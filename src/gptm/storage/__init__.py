"""A fitted model as one file, with its documents beside it where users want them."""

from gptm.storage.model_file import (
    Attached,
    Stored,
    load_attached,
    read_header,
    read_model,
    write_model,
)

__all__ = ["Attached", "Stored", "load_attached", "read_header", "read_model", "write_model"]
