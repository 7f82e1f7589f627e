"""All that is random follows from a seed: the same one gives the same result, and no global state has a part in it."""

import inspect

import numpy as np
import pandas as pd
import pytest
import typer
from matplotlib import pyplot as plt
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import gptm
from gptm import CTM, GPTM, Corpus, metrics, plots, report
from gptm import kernels as k
from gptm.cli.app import app

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
RNG = np.random.default_rng(0)
N, WORDS = 40, [f"w{chr(97 + i)}" for i in range(24)]
TABLE = pd.DataFrame(
    {
        "party": np.tile(["left", "right"], N // 2),
        "year": np.arange(2000.0, 2000 + N),
        "text": [
            " ".join(RNG.choice(WORDS[12 * (i % 2) :][:14], 40 - i % 7)) + " all" for i in range(N)
        ],
    }
)
QUICK = {"max_iter": 6, "init": "random"}


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(
        TABLE["text"], metadata=TABLE[["party", "year"]], stop_words=None, min_df=1, max_df=1.0
    )


@pytest.fixture(scope="module")
def model(corpus):
    return GPTM(3, kernel=k.Categorical("party"), random_state=0, **QUICK).fit(corpus)


def seeded(seed, K=3, kind=CTM, **keywords):
    return kind(K, random_state=seed, **QUICK, **keywords)


# What takes `random_state`: a function of the seed, a model that is fitted, and the corpus.
# Models of these calls have a seed of their own wherever another one must decide.
RANDOM = {
    "CTM": lambda seed, model, corpus: seeded(seed).fit(corpus).components_,
    "GPTM": lambda seed, model, corpus: (
        seeded(seed, kind=GPTM, kernel=k.Categorical("party")).fit(corpus).components_
    ),
    "GPTM.sample": lambda seed, model, corpus: model.sample(
        5, metadata=TABLE[:5], random_state=seed
    ).counts.toarray(),
    "check_residuals": lambda seed, model, corpus: (
        gptm.check_residuals(model, corpus, simulations=2, random_state=seed).simulated
    ),
    "compare": lambda seed, model, corpus: (
        gptm.compare({"a": seeded(0)}, corpus, cv=2, random_state=seed, observed=0.5).table
    ),
    "cross_validate": lambda seed, model, corpus: (
        gptm.cross_validate(seeded(0), corpus, cv=2, random_state=seed, observed=0.5).table
    ),
    "document_intrusion": lambda seed, model, corpus: (
        gptm.document_intrusion(model, corpus, random_state=seed).sheet
    ),
    "permutation_test": lambda seed, model, corpus: (
        gptm.permutation_test(model, corpus, n=20, random_state=seed).shuffled
    ),
    "search_components": lambda seed, model, corpus: (
        gptm.search_components(seeded(0), corpus, [2, 3], cv=2, random_state=seed).table
    ),
    "split_sample_effects": lambda seed, model, corpus: (
        gptm.split_sample_effects(seeded(0), corpus, "~ party", random_state=seed).table
    ),
    "stability": lambda seed, model, corpus: (
        gptm.stability(model, corpus, seeds=0, resamples=2, random_state=seed).effects
    ),
    "word_intrusion": lambda seed, model, corpus: (
        gptm.word_intrusion(model, random_state=seed).sheet
    ),
    "metrics.split_tokens": lambda seed, model, corpus: metrics.split_tokens(
        corpus.counts, random_state=seed
    )[0].toarray(),
}


def drawn(ax):
    """The picture, and the end of its figure."""
    figure = ax.figure
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba()).copy()
    plt.close(figure)
    return pixels


# What draws random numbers from a seed of the model's, or from a fixed one.
FIXED = {
    "GPTM.effects": lambda model, corpus: model.effects("party"),
    "GPTM.estimate_effects": lambda model, corpus: (
        model.estimate_effects("~ party", new=corpus[:9]).table
    ),
    "GPTM.fit_transform": lambda model, corpus: seeded(0).fit_transform(corpus),
    "GPTM.label_topics": lambda model, corpus: model.label_topics(corpus=corpus).topic_names_,
    "GPTM.merge_topics": lambda model, corpus: model.merge_topics([0, 1]).doc_logits_,
    "GPTM.partial_fit": lambda model, corpus: (
        seeded(0).partial_fit(corpus).partial_fit(corpus).components_
    ),
    "GPTM.perplexity": lambda model, corpus: model.perplexity(corpus),
    "GPTM.reduce_to": lambda model, corpus: model.reduce_to(2).doc_logits_,
    "GPTM.score": lambda model, corpus: model.score(corpus),
    "GPTM.split_topic": lambda model, corpus: model.split_topic(0, corpus=corpus).components_,
    "GPTM.transform": lambda model, corpus: model.transform(corpus, return_std=True),
    "GPTM.variance_explained": lambda model, corpus: model.variance_explained(),
    "topics_over_time": lambda model, corpus: gptm.topics_over_time(model, TABLE["year"]),
    "plots.plot_documents": lambda model, corpus: drawn(plots.plot_documents(model)),
    "plots.plot_effects": lambda model, corpus: drawn(plots.plot_effects(model, "party")),
    "plots.plot_topic_correlations": lambda model, corpus: drawn(
        plots.plot_topic_correlations(model)
    ),
    "plots.plot_topics_over_time": lambda model, corpus: drawn(
        plots.plot_topics_over_time(model, dates=TABLE["year"])
    ),
    "plots.plot_variance_explained": lambda model, corpus: drawn(
        plots.plot_variance_explained(model)
    ),
    "report.report_data": lambda model, corpus: report.report_data(model, corpus=corpus),
}
# What only reads, counts or writes.
NEVER = {
    *("align", "load", "load_corpus", "open_corpus", "score_intrusion", "Corpus"),
    *("GPTM.drop_topics", "GPTM.fit", "GPTM.get_feature_names_out", "GPTM.get_metadata_routing"),
    *("GPTM.get_params", "GPTM.name_topics", "GPTM.reorder_topics", "GPTM.restore_topics"),
    *("GPTM.representative_documents", "GPTM.save", "GPTM.set_output", "GPTM.set_params"),
    *("GPTM.set_fit_request", "GPTM.set_partial_fit_request", "GPTM.set_score_request"),
    *("GPTM.set_transform_request", "GPTM.summary", "GPTM.to_arviz", "GPTM.to_frame"),
    *("GPTM.to_octis", "GPTM.to_pyldavis", "GPTM.topic_correlations", "GPTM.topic_graph"),
    *("GPTM.topic_hierarchy", "GPTM.topic_words", "GPTM.topics"),
    *("plots.plot_bound", "plots.plot_components", "plots.plot_estimates"),
    *("plots.plot_hierarchy", "plots.plot_stability"),
    *(f"metrics.{name}" for name in metrics.__all__ if name != "split_tokens"),
    *("report.model_report", "report.write_report"),  # files of report_data
}


def public():
    """All public functions, classes and methods of the estimators, by name."""
    found = {name: getattr(gptm, name) for name in gptm.__all__}
    found = {name: thing for name, thing in found.items() if callable(thing)}
    for name, method in inspect.getmembers(GPTM, callable):
        if not name.startswith("_"):
            found[f"GPTM.{name}"] = method
    for room in (metrics, plots, report):
        short = room.__name__.removeprefix("gptm.")
        things = {name: getattr(room, name) for name in room.__all__}
        found |= {f"{short}.{name}": thing for name, thing in things.items() if callable(thing)}
    return found


def test_everything_public_is_known_to_be_random_or_not():
    things = public()
    assert set(things) == set(RANDOM) | set(FIXED) | NEVER
    takes_seed = {n for n, thing in things.items() if "random_state" in _parameters(thing)}
    assert takes_seed == set(RANDOM)


def _parameters(thing):
    return inspect.signature(thing).parameters


def same(a, b):
    """Whether two results are equal, to the last bit, but for the time that they took."""
    if isinstance(a, pd.DataFrame):
        a, b = (table.drop(columns="seconds", errors="ignore") for table in (a, b))
        return a.equals(b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a if key != "seconds")
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    return a == b


@pytest.fixture
def untouched_global_state():
    """Fails if a test draws from NumPy's global random numbers."""
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1:3]  # noqa: NPY002
    yield
    after = np.random.get_state()[1:3]  # noqa: NPY002
    assert_array_equal(before[0], after[0])
    assert before[1] == after[1]


@pytest.mark.usefixtures("untouched_global_state")
@pytest.mark.parametrize("name", RANDOM)
def test_the_same_seed_gives_the_same_result_and_another_one_another(name, model, corpus):
    first, again, other = (RANDOM[name](seed, model, corpus) for seed in (3, 3, 4))
    assert same(first, again)
    assert not same(first, other)


@pytest.mark.usefixtures("untouched_global_state")
@pytest.mark.parametrize("name", FIXED)
def test_without_a_seed_of_its_own_the_same_call_gives_the_same_result(name, model, corpus):
    assert same(FIXED[name](model, corpus), FIXED[name](model, corpus))


@pytest.mark.parametrize("name", [n for n in RANDOM if n not in ("CTM", "GPTM")])
@pytest.mark.parametrize("seed", [-1, "x", 1.5])
def test_a_seed_that_is_none_is_refused(name, seed, model, corpus):
    with pytest.raises(ValueError, match="random_state must be"):
        RANDOM[name](seed, model, corpus)


# The command line

FIT = ["--topics", "2", "--max-iter", "6", "--kernel", "categorical(party)"]
SOME_WORDS = ["--min-df", "1", "--max-df", "1.0", "--stop-words", "none", "--text", "text"]
DRAWING = {  # what follows the name of a command; {new} is a file that it writes
    "fit": ["{csv}", *FIT, *SOME_WORDS, "-o", "{new}"],
    "evaluate": ["{csv}", *FIT, *SOME_WORDS, "--folds", "2"],
    "search": ["{csv}", "--topics", "2", "--topics", "3", *FIT[2:], *SOME_WORDS, "--folds", "2"],
    "split-sample": ["{csv}", "--formula", "~ party", *FIT, *SOME_WORDS],
    "stability": ["{model}", "--seeds", "0", "--resamples", "2"],
    "permutation-test": ["{model}", "--kernel", "rbf(year)", "--shuffles", "20"],
    "residuals": ["{model}", "--simulations", "2"],
    "intrusion": ["{model}", "--output", "{new}"],
    "split": ["{model}", "0", "--output", "{new}"],
}
SEEDLESS = {  # which draw nothing, or from the seed that the model keeps
    *("corpus", "topics", "documents", "tree", "update", "transform", "effects", "estimate"),
    *("align", "score-intrusion", "report", "info", "words", "name", "merge", "drop", "reorder"),
    *("reduce", "restore", "over-time"),
}


def test_every_command_is_known_to_draw_or_not():
    commands = typer.main.get_command(app).commands
    assert set(commands) == set(DRAWING) | SEEDLESS | {"demo"}  # which test_demo.py runs


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    csv, model = folder / "documents.csv", folder / "model.gptm"
    TABLE.to_csv(csv, index=False)
    said("fit", [csv, *FIT, *SOME_WORDS, "-o", model])
    return {"csv": csv, "model": model}


def said(command, arguments, *more):
    result = CliRunner().invoke(app, [command, *map(str, arguments), "-q", "--json", *more])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("command", DRAWING)
def test_the_same_seed_prints_and_writes_the_same(command, files, tmp_path):
    found = []
    for run, seed in enumerate("334"):
        new = tmp_path / f"new{run}{'.csv' if command == 'intrusion' else '.gptm'}"
        arguments = [text.format(new=new, **files) for text in DRAWING[command]]
        text = said(command, arguments, "--seed", seed).replace(f"new{run}", "new")
        text = "\n".join(line for line in text.splitlines() if '"seconds"' not in line)
        found.append((text, _content(new)))
    assert found[0] == found[1]
    assert found[0] != found[2]


def _content(path):
    if not path.exists():
        return None
    return gptm.load(path).components_.tobytes() if path.suffix == ".gptm" else path.read_bytes()
