"""Damage model files at random, and see that every load gives the same answer or a helpful error.

    python tests/fuzz_files.py --trials 10000

Two kinds of trials. In the first, bytes of a file are flipped, as a bad disk would: the load must give the very same
answer, or a `ValueError`. In the second, values are changed and new checksums are written, as somebody would do it on
purpose: the load must give finite numbers, or a `ValueError`.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes

import gptm
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm.storage import load_attached, read_header
from gptm.storage.checksum import with_checksums

D, V = 20, 8
_RNG = np.random.default_rng(0)
COUNTS = _RNG.poisson(2.0, (D, V))
METADATA = pd.DataFrame(
    {
        "t": _RNG.uniform(0, 10, D).round(1),
        "date": pd.date_range("2020-01-01", periods=D, tz="Europe/Berlin"),
        "who": [f"d{i}" for i in range(D)],
        "team": [f"team {i % 3}" for i in range(D)],
        "links": [[f"d{i * i % 22}"] for i in range(D)],
        "vector": list(_RNG.standard_normal((D, 3))),
    }
)
NEW = COUNTS[:3]
LATER = METADATA[:3]
MODELS = {
    "terms": GPTM(3, kernel=k.RBF("t") + k.Categorical("team") + 0.5 * k.Linear("t")),
    "graph": GPTM(2, kernel=k.Graph("links", id="who"), inference="variational"),
    "neighbours": GPTM(2, kernel=k.NearestNeighbors(3)),
    "vectors": GPTM(2, kernel=k.NearestNeighbors(3, on="vector") + k.Embedding("vector")),
    "must-link": GPTM(2, kernel=k.MustLink("team") * k.Periodic("date", period="1w")),
    "none": CTM(3),
}


def write_models(folder):
    """Small files of models of several kinds, with their documents."""
    words = [f"word{w}" for w in range(V)]
    corpus = Corpus(COUNTS, words, metadata=METADATA, ids=[f"id{i}" for i in range(D)])
    paths = []
    for name, model in MODELS.items():
        path = Path(folder) / f"{name}.gptm"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(random_state=0, max_iter=4, n_jobs=1).fit(corpus)
        texts = [f"text number {i}" for i in range(D)]
        settings = {"stop_words": "english", "token_pattern": r"\w+"}
        reading = {"text": ["body"], "id": "who", "kinds": {"t": "number"}}
        model.save(path, corpus=corpus, texts=texts, words=settings, reading=reading)
        paths.append(path)
    return paths


def answers(path):
    """What users get from a file, as texts and arrays that can be compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        header, attached, model = read_header(path), load_attached(path), gptm.load(path)
        theta = model.transform(NEW, metadata=LATER)
    fitted = model.fitted_
    arrays = [theta, fitted.components, fitted.Sigma, fitted.B, fitted.F, fitted.alpha, fitted.mu]
    arrays += [fitted.lam, fitted.nu2, fitted.doc_topics, fitted.lengths]
    if fitted.draws is not None:
        arrays += [*fitted.draws[:-1]]
        arrays += [
            a for part in fitted.draws.parts for a in (part.weights, part.own) if a is not None
        ]
    corpus = attached.corpus
    texts = [model, fitted.vocabulary, fitted.reason, attached.texts, attached.words]
    texts += [attached.reading, header["libraries"]]
    if corpus is not None:
        arrays.append(corpus.counts.toarray())
        texts += [corpus.ids, None if corpus.metadata is None else corpus.metadata.to_dict("list")]
    return arrays, list(map(repr, texts))


def same(one, other):
    """Whether all bits of two answers are the same."""
    bits = [[array.tobytes() for array in arrays] for arrays, _ in (one, other)]
    return one[1] == other[1] and bits[0] == bits[1]


def flipped(content, rng):
    """A file with some bytes changed; half of the time in its header."""
    damaged = bytearray(content)
    header = 8 + int.from_bytes(content[:8], "little")
    end = header if rng.random() < 0.5 else len(content)
    for place in rng.integers(0, end, rng.choice([1, 1, 1, 2, 8])):
        damaged[place] ^= int(rng.integers(1, 256))
    return bytes(damaged)


VALUES = [None, True, -1, 0, 1e308, 10**15, 2**70, float("nan"), float("inf"), "", "x\x1b[31m"]
VALUES += [[], {}, ["a"], {"tensor": "mu"}, {"list": []}, {"gptm": "RBF", "params": {}}]
NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-308, 1e12]
WHOLE = [-1, -(2**62), 2**62, 2**31, 2**15, 0]


def changed(path, rng):
    """A file with a value of its header or of its arrays changed, and with new checksums."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["gptm"])
    tensors = load_file(path)
    for _ in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.5:
            _change_header(header, rng)
        else:
            _change_array(tensors, rng)
    return to_bytes(tensors, {"gptm": json.dumps(with_checksums(header, tensors))})


def _change_header(header, rng):
    places = [
        (inside, key)
        for inside in _containers({k: v for k, v in header.items() if k != "array_checksums"})
        for key in (inside if isinstance(inside, dict) else range(len(inside)))
    ]
    inside, key = places[rng.integers(len(places))]
    if "schema" in inside:  # the copy of the header itself
        inside = header
    inside[key] = VALUES[rng.integers(len(VALUES))]


def _containers(value):
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _containers(item)


def _change_array(tensors, rng):
    name = sorted(tensors)[rng.integers(len(tensors))]
    array = tensors[name].copy()
    way = rng.integers(5)
    if way == 0:
        del tensors[name]
        return
    if way == 1:
        array = array[..., :-1] if array.ndim else array.reshape(1)
    elif way == 2:
        array = array.astype(rng.choice(["f4", "f8", "i8", "u1", "?"])) if array.size else array
    elif array.size:
        values = NUMBERS if array.dtype.kind == "f" else WHOLE
        with np.errstate(all="ignore"):
            value = np.array(values[rng.integers(len(values))]).astype(array.dtype)
        array.reshape(-1)[rng.integers(array.size)] = value
    tensors[name] = np.ascontiguousarray(array)


def trial(path, expected, rng, folder):
    """How a load of a damaged file ended, in a word; an `AssertionError` if it should not have ended so."""
    by_accident = rng.random() < 0.5
    damaged = Path(folder) / "damaged.gptm"
    with np.errstate(all="ignore"):
        damaged.write_bytes(flipped(path.read_bytes(), rng) if by_accident else changed(path, rng))
    try:
        found = answers(damaged)
    except ValueError:
        return "error"
    if same(found, expected):
        return "same"
    assert not by_accident, "a damaged file gave another answer"
    assert all(np.isfinite(array).all() for array in found[0]), "numbers are not finite"
    return "other values, on purpose"


def run(trials, seed=0, stop=True):
    """How often loads ended in which way; the seeds of trials that should not have ended so."""
    ends, bad = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        paths = write_models(folder)
        expected = [answers(path) for path in paths]
        for number in range(trials):
            rng = np.random.default_rng([seed, number])
            which = rng.integers(len(paths))
            try:
                ends[trial(paths[which], expected[which], rng, folder)] += 1
            except Exception as error:
                if stop:
                    raise AssertionError(f"trial {number} of seed {seed}") from error
                bad.append(number)
                print(f"trial {number}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    return ends, bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    start = time.perf_counter()
    ends, bad = run(given.trials, given.seed, stop=False)
    print(f"{given.trials:,} trials in {time.perf_counter() - start:.0f} s")
    print(*(f"  {end}: {times:,}" for end, times in ends.most_common()), sep="\n")
    print(f"  anything else: {len(bad)}")
    sys.exit(bool(bad))
