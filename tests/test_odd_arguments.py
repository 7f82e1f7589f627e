"""Every argument of the functions for analysts gets values of the wrong kind: the errors are ours, and speak of it."""

import traceback
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import gptm
from gptm import CTM, GPTM, Corpus, files, metrics, plots
from gptm import kernels as k
from gptm.report import report_data

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
PACKAGE = str(Path(gptm.__file__).parent)
N = 30
QUICK = {"max_iter": 2, "init": "random", "random_state": 0}
TEXTS = ["green tea and milk", "black tea with sugar", "coffee beans with milk"] * (N // 3)
FRAME = pd.DataFrame(
    {
        "party": np.tile(["left", "right", "left"], N // 3),
        "author": [f"a{i // 3}" for i in range(N)],
        "year": 2000.0 + np.arange(N),
    }
)
ODD = [
    None,
    -1,
    2.5,
    float("nan"),
    10**30,
    "",
    "nosuch",
    b"x",
    [],
    {},
    [None],
    {"a": 1},
    1j,
    object(),
    np.array([np.nan, 1.0]),
    np.ones((2, 2)),
    pd.DataFrame(),
]


class Subjects:
    """What functions are asked about, made once."""

    def __init__(self, folder):
        self.corpus = Corpus.from_texts(TEXTS, FRAME, stop_words=None)
        kernel = k.Categorical("party") + k.RBF("year", length_scale=9.0)
        self.model = GPTM(3, kernel=kernel, **QUICK).fit(self.corpus)
        self.model.set_params(max_iter=1)
        self.ctm = CTM(2, **QUICK).fit(self.corpus)
        self.effects = self.model.estimate_effects("~ party + year", self.corpus)
        self.sheet = gptm.word_intrusion(self.model, n_words=2)
        self.filled = self.sheet.sheet.assign(answer=1)
        self.path = folder / "t.csv"
        FRAME.assign(text=TEXTS).to_csv(self.path, index=False)
        self.tokens = [text.split() for text in TEXTS]
        self.beta, self.theta = self.model.components_, self.model.doc_topics_
        self.words = list(self.corpus.vocabulary)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Subjects(tmp_path_factory.mktemp("odd"))


# The function, and arguments that it takes.
ASKED = {
    "name_topics": lambda s: (s.model.name_topics, {"names": {0: "tea"}}),
    "label_topics": lambda s: (
        s.model.label_topics,
        {"function": lambda words, texts: words[0], "corpus": s.corpus, "n_words": 2},
    ),
    "merge_topics": lambda s: (
        s.model.merge_topics,
        {"topics": [0, 1], "name": "tea", "corpus": s.corpus},
    ),
    "drop_topics": lambda s: (s.model.drop_topics, {"topics": [0]}),
    "split_topic": lambda s: (s.model.split_topic, {"topic": 0, "n": 2, "corpus": s.corpus}),
    "reorder_topics": lambda s: (s.model.reorder_topics, {"order": [2, 1, 0]}),
    "reorder_topics, by": lambda s: (s.model.reorder_topics, {"by": "share"}),
    "reduce_to": lambda s: (s.model.reduce_to, {"n": 2, "corpus": s.corpus}),
    "topics": lambda s: (s.model.topics, {"n_words": 2, "feature_names": s.words}),
    "topic_hierarchy": lambda s: (s.model.topic_hierarchy, {"n_words": 2}),
    "representative_documents": lambda s: (
        s.model.representative_documents,
        {"topic": 0, "n": 2, "corpus": s.corpus, "text_length": 9},
    ),
    "effects": lambda s: (
        s.model.effects,
        {"term": "party", "topic": 0, "level": 0.9, "n_points": 3},
    ),
    "estimate_effects": lambda s: (
        s.model.estimate_effects,
        {"formula": "~ year", "metadata": s.corpus, "cluster": "author", "errors": "robust"},
    ),
    "estimate_effects, new": lambda s: (
        s.model.estimate_effects,
        {"formula": "~ year", "new": s.corpus, "topic": 0, "level": 0.9},
    ),
    "predict": lambda s: (
        lambda column, **more: s.effects.predict(column, **more),
        {"column": "year", "at": {"party": "left"}, "versus": {"party": "right"}, "n_points": 2},
    ),
    "marginal_effects": lambda s: (s.effects.marginal_effects, {"at": {"party": "left"}}),
    "split_sample_effects": lambda s: (
        gptm.split_sample_effects,
        {
            "model": s.ctm,
            "corpus": s.corpus,
            "formula": "~ year",
            "test_size": 0.5,
            "random_state": 0,
            "cluster": "author",
            "topic": 0,
            "errors": "robust",
        },
    ),
    "topics_over_time": lambda s: (
        gptm.topics_over_time,
        {"model": s.ctm, "dates": FRAME["year"], "df": 3, "topic": 0, "n_points": 3},
    ),
    "align": lambda s: (gptm.align, {"a": s.model, "b": s.ctm, "threshold": 0.4}),
    "stability": lambda s: (
        gptm.stability,
        {
            "model": s.ctm,
            "corpus": s.corpus,
            "seeds": 1,
            "n_components": [3],
            "resamples": 1,
            "groups": "author",
            "threshold": 0.4,
            "random_state": 0,
            "verbose": False,
        },
    ),
    "permutation_test": lambda s: (
        gptm.permutation_test,
        {
            "model": s.model,
            "corpus": s.corpus,
            "term": "party",
            "n": 2,
            "within": [0, 1, 1] * (N // 3),
            "refit": False,
            "random_state": 0,
            "n_jobs": 1,
            "verbose": False,
        },
    ),
    "check_residuals": lambda s: (
        gptm.check_residuals,
        {"model": s.ctm, "corpus": s.corpus, "tol": 0.01, "n_jobs": 1, "verbose": False},
    ),
    "cross_validate": lambda s: (
        gptm.cross_validate,
        {"model": s.ctm, "X": s.corpus, "cv": 2, "observed": 0.5, "n_jobs": 1, "verbose": False},
    ),
    "compare": lambda s: (
        gptm.compare,
        {"models": [s.ctm], "X": s.corpus, "cv": 2, "groups": "author", "reference": None},
    ),
    "search_components": lambda s: (
        gptm.search_components,
        {"model": s.ctm, "X": s.corpus, "n_components": [2], "cv": 2, "by_time": "year"},
    ),
    "word_intrusion": lambda s: (
        gptm.word_intrusion,
        {"model": s.model, "n_words": 2, "questions": 1, "random_state": 0},
    ),
    "document_intrusion": lambda s: (
        gptm.document_intrusion,
        {"model": s.model, "corpus": s.corpus, "n_documents": 2, "length": 20},
    ),
    "score_intrusion": lambda s: (
        gptm.score_intrusion,
        {"filled": s.filled, "key": s.sheet.key, "level": 0.9},
    ),
    "c_v": lambda s: (
        metrics.c_v,
        {"topics": s.beta, "texts": s.tokens, "vocabulary": s.words, "n_words": 2, "window": 5},
    ),
    "npmi_coherence": lambda s: (
        metrics.npmi_coherence,
        {"topics": s.beta, "counts": s.corpus.counts, "n_words": 2},
    ),
    "inverted_rbo": lambda s: (metrics.inverted_rbo, {"topics": s.beta, "weight": 0.9}),
    "topic_significance": lambda s: (
        metrics.topic_significance,
        {"topics": s.beta, "theta": s.theta, "against": "vacuous"},
    ),
    "purity": lambda s: (metrics.purity, {"theta": s.theta, "labels": list(FRAME["party"])}),
    "frex": lambda s: (metrics.frex, {"topics": s.beta, "weight": 0.5}),
    "relevance": lambda s: (
        metrics.relevance,
        {"topics": s.beta, "word_counts": s.beta.sum(0), "lambda_": 0.5},
    ),
    "prominence": lambda s: (
        metrics.prominence,
        {"topics": s.beta, "word_rates": s.beta.sum(0)},
    ),
    "perplexity": lambda s: (
        metrics.perplexity,
        {
            "theta": s.theta,
            "topics": s.beta,
            "counts": s.corpus.counts,
            "sample_weight": np.ones(N),
        },
    ),
    "split_tokens": lambda s: (
        metrics.split_tokens,
        {"counts": s.corpus.counts, "observed": 0.5, "random_state": 0},
    ),
    "from_texts": lambda s: (
        Corpus.from_texts,
        {
            "texts": TEXTS,
            "metadata": FRAME,
            "ids": list(range(N)),
            "vocabulary": None,
            "stop_words": "english",
            "min_df": 1,
            "max_df": 1.0,
            "max_features": 9,
            "ngram_range": (1, 1),
            "token_pattern": r"\w+",
            "keep": "urls",
            "phrases": False,
            "word_forms": None,
            "segmenter": None,
            "words": None,
            "kinds": {"year": "number"},
            "verbose": False,
        },
    ),
    "from_tokens": lambda s: (
        Corpus.from_tokens,
        {"tokens": s.tokens, "ids": list(range(N)), "vocabulary": s.words, "min_df": 1},
    ),
    "read": lambda s: (
        files.read,
        {
            "path": s.path,
            "format": "csv",
            "text": "text",
            "id": None,
            "kinds": {"year": "number"},
            "vocabulary": s.words,
            "encoding": "utf-8",
            "words": None,
            "strict": False,
            "keep_texts": False,
            "progress": None,
            "verbose": False,
        },
    ),
    "auto_table": lambda s: (k.auto_table, {"metadata": FRAME}),
    "report_data": lambda s: (
        report_data,
        {"model": s.ctm, "corpus": s.corpus, "texts": None, "title": "tea", "max_documents": 5},
    ),
    "plot_documents": lambda s: (
        plots.plot_documents,
        {"model": s.ctm, "color": "party", "metadata": FRAME, "of": "logits"},
    ),
    "plot_effects": lambda s: (
        plots.plot_effects,
        {"model": s.model, "term": "party", "topics": [0], "kind": "share"},
    ),
    "plot_estimates": lambda s: (
        lambda effects, **more: plots.plot_estimates(effects, "year", **more),
        {"effects": s.effects, "topics": [0], "at": None, "n_points": 3},
    ),
    "plot_hierarchy": lambda s: (plots.plot_hierarchy, {"model": s.model, "n_words": 2}),
}
# A path of another type is refused by Python itself, and one of no file by the system.
NOT_OURS = {("read", "path")}


def is_ours(error):
    """Whether we raised an error, and not something that we called; the system speaks of files that are not there."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = last.filename.startswith(PACKAGE) and isinstance(error, ValueError)
    return ours or isinstance(error, FileNotFoundError)


@pytest.mark.parametrize("name", ASKED)
def test_odd_arguments_are_refused_with_words_of_ours(name, made):
    function, arguments = ASKED[name](made)
    function(**arguments)
    others = []
    for argument in arguments:
        if (name, argument) in NOT_OURS:
            continue
        for value in ODD:
            try:
                function(**arguments | {argument: value})
            except Exception as error:
                if not is_ours(error):
                    others.append(
                        f"{argument}={value!r:.40}: {type(error).__name__}: {error!s:.80}"
                    )
            plt.close("all")
    assert not others


def odd_words(text):
    return [1, 2]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: s.model.topics(feature_names="tea"), "one name for each column"),
        (lambda s: s.effects.predict("year", at=["left"]), "at must be a dict from columns"),
        (lambda s: s.model.estimate_effects("~ year", new={}), "must be a gptm.Corpus, a list of"),
        (lambda s: s.model.label_topics(corpus=s.corpus[:5]), "30 training documents.*corpus of 5"),
        (
            lambda s: metrics.exclusivity([[0.5, np.nan]]),
            "topics must be numbers without NaN; got 1",
        ),
        (lambda s: metrics.nmi([[0.5, np.nan]], ["a"]), "theta must be numbers without NaN"),
        (lambda s: metrics.split_tokens([[-1]]), "counts must be finite numbers of zero or more"),
        (lambda s: gptm.search_components(s.ctm, s.corpus, b"x"), "numbers of topics to try"),
        (lambda s: gptm.stability(s.ctm, s.corpus, seeds=b"x"), "seeds must be an integer"),
        (lambda s: gptm.cross_validate(s.ctm, s.corpus, cv=[None]), "list of pairs of positions"),
        (lambda s: gptm.cross_validate(s.ctm, s.corpus, cv=2, n_jobs=0), "n_jobs must be None"),
        (lambda s: CTM(2, verbose="yes").fit(s.corpus), "verbose must be an integer"),
        (lambda s: Corpus.from_texts(TEXTS, kinds=["year"]), "kinds must be a dict from columns"),
        (lambda s: Corpus.from_texts(TEXTS, stop_words=5), "stop_words must be a language.*got 5"),
        (
            lambda s: Corpus.from_texts(TEXTS, vocabulary="tea"),
            "vocabulary must be a list of words",
        ),
        (lambda s: Corpus.from_texts(TEXTS, segmenter=odd_words), r"returns \[1, 2\]"),
        (lambda s: Corpus.from_tokens([["tea"]], vocabulary=["tea", "tea"]), "each word once"),
        (lambda s: files.read(s.path, text=3), "text must be the name of a column"),
        (lambda s: files.read(s.path, keep_texts=-1), "keep_texts must be True, False or a number"),
        (lambda s: gptm.score_intrusion(__file__, s.sheet.key), "filled"),
    ],
)
def test_the_error_names_what_was_expected(ask, words, made):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        ask(made)
