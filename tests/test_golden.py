"""Results of fits recorded once, which no change of the code's shape may alter.

`python tests/test_golden.py` records them anew, for a change that is meant to alter them.
"""

import warnings
from pathlib import Path

import llvmlite.binding
import numpy as np
import pandas as pd
import pytest

from gptm import CTM, GPTM, Corpus, load
from gptm import kernels as k
from gptm.storage import load_attached

FOLDER = Path(__file__).parent / "golden"
RECORD = FOLDER / "fits.npz"
MODEL, ANSWERS = FOLDER / "model.gptm", FOLDER / "model.npz"
LOOSE = {"rtol": 1e-4, "atol": 1e-6}  # where another processor rounds differently
# How many draws the draws of an effect are worth depends on their ranks, so that rounding moves ends of bands a little.
BANDS = {"sum.effects0": {"rtol": 0.0, "atol": 0.03}}


def documents():
    """Thirty documents of three topics, with a year, a source and links."""
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(20, 0.2), size=3)
    shares = rng.dirichlet(np.full(3, 0.4), size=30)
    counts = np.array([rng.multinomial(40, share @ topics) for share in shares])
    links = [[f"d{(n + 3) % 30}", f"d{(n * 7) % 30}"] for n in range(30)]
    metadata = pd.DataFrame(
        {
            "year": 1990.0 + np.arange(30) % 11,
            "source": np.array(["a", "b", "c"])[shares.argmax(1)],
            "links": links,
        },
        index=[f"d{n}" for n in range(30)],
    )
    return counts, metadata


FITS = {
    "ctm": lambda: CTM(3, max_iter=30, random_state=0),
    "ctm_variational": lambda: CTM(3, inference="variational", max_iter=15, random_state=0),
    "sampling": lambda: GPTM(3, kernel=k.Categorical("source"), max_iter=30, random_state=0),
    "variational": lambda: GPTM(
        3, kernel=k.Categorical("source"), inference="variational", max_iter=15, random_state=0
    ),
    "map": lambda: GPTM(
        3,
        kernel=k.RBF("year", length_scale=3.0),
        inference="map",
        coregionalization="identity",
        fit_mean=False,
        max_iter=15,
        random_state=0,
    ),
    "graph": lambda: GPTM(3, kernel=k.Graph("links"), max_iter=30, random_state=0),
    "sum": lambda: GPTM(
        3,
        kernel=k.Matern("year") + k.Categorical("source") + k.Graph("links"),
        max_iter=30,
        random_state=0,
    ),
    "chains": lambda: GPTM(3, kernel=k.Matern("year"), n_chains=2, max_iter=30, random_state=0),
}


def results(name):
    """What a fit answers, as named arrays."""
    counts, metadata = documents()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FITS[name]().fit(counts[:24], metadata=metadata[:24])
        theta, std = model.transform(counts[24:], metadata=metadata[24:], return_std=True)
        arrays = {
            "components": model.components_,
            "documents": model.doc_topics_,
            "transform": theta,
            "std": std,
        }
        if isinstance(model, GPTM) and getattr(model, "kernel_", None) is not None:
            for number in range(len(model.terms_)):
                effects = model.effects(number, n_points=5)
                columns = [c for c in effects if c.startswith(("contrast", "share"))]
                arrays[f"effects{number}"] = effects[columns].to_numpy(dtype=float)
            shares = model.variance_explained()
            arrays["variance"] = shares[["share", "low", "high"]].to_numpy(dtype=float)
    return arrays


@pytest.mark.full_chains
@pytest.mark.parametrize("name", FITS)
def test_a_fit_gives_what_it_gave(name):
    with np.load(RECORD) as record:
        same_processor = str(record["processor"]) == processor()
        expected = {
            key.removeprefix(f"{name}."): record[key]
            for key in record
            if key.startswith(f"{name}.")
        }
    arrays = results(name)
    assert arrays.keys() == expected.keys()
    for key, array in arrays.items():
        if same_processor:
            np.testing.assert_array_equal(array, expected[key], err_msg=key)
        else:
            tolerance = BANDS.get(f"{name}.{key}", LOOSE)
            np.testing.assert_allclose(array, expected[key], err_msg=key, **tolerance)


def test_a_model_file_of_the_past_loads():
    """Written once and never again: whatever changes, people's models still load."""
    counts, metadata = documents()
    model = load(MODEL)
    with np.load(ANSWERS) as answers:
        np.testing.assert_allclose(model.components_, answers["components"], rtol=1e-12)
        np.testing.assert_allclose(model.doc_topics_, answers["documents"], rtol=1e-12)
        theta = model.transform(counts[24:], metadata=metadata[24:])
        np.testing.assert_allclose(theta, answers["transform"], rtol=1e-6)
        effects = model.effects("source")[["contrast", "share"]].to_numpy()
        np.testing.assert_allclose(effects, answers["effects"], rtol=1e-4, atol=1e-6)
    assert model.topic_names_ == ["first", None, None]
    assert load_attached(MODEL).corpus.shape == (24, 20)


def write_model():
    """The file of the test above, with all that a file can hold."""
    counts, metadata = documents()
    words = [f"word{i}" for i in range(counts.shape[1])]
    corpus = Corpus(
        counts, words, metadata=metadata.reset_index(drop=True), ids=list(metadata.index)
    )
    kernel = k.Matern("year") + k.Categorical("source") + k.Graph("links")
    seeds = {"first": ["word0"]}
    model = GPTM(3, kernel=kernel, seed_words=seeds, max_iter=30, random_state=0).fit(corpus[:24])
    model.save(MODEL, corpus=corpus[:24])
    np.savez_compressed(
        ANSWERS,
        components=model.components_,
        documents=model.doc_topics_,
        transform=model.transform(corpus[24:]),
        effects=model.effects("source")[["contrast", "share"]].to_numpy(),
    )


def processor():
    """What decides about the last bits: the kind of processor, and the libraries' versions."""
    import numba
    import scipy

    name = llvmlite.binding.get_host_cpu_name()
    return f"{name} numpy {np.__version__} scipy {scipy.__version__} numba {numba.__version__}"


def record():
    arrays = {f"{name}.{key}": array for name in FITS for key, array in results(name).items()}
    RECORD.parent.mkdir(exist_ok=True)
    np.savez_compressed(RECORD, processor=np.array(processor()), **arrays)


if __name__ == "__main__":
    record()
