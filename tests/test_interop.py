"""Fitted models in other packages' hands; the packages themselves where they are installed."""

import json
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gptm import CTM, GPTM, Corpus, interop, metrics
from gptm import kernels as k

D, V, K = 50, 20, 4
RNG = np.random.default_rng(0)
X = np.array(
    [
        RNG.multinomial(25, p)
        for p in RNG.dirichlet(np.full(K, 0.3), D) @ RNG.dirichlet(np.full(V, 0.3), K)
    ]
)
X[5] = 0
WORDS = [f"word{w:02}" for w in range(V)]
CORPUS = Corpus(X, WORDS)


def fitted(model, X=CORPUS, **data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(random_state=0, max_iter=30).fit(X, **data)


@pytest.fixture(scope="module")
def model():
    return fitted(CTM(K))


@pytest.fixture(scope="module")
def nameless():
    return fitted(CTM(K), X)


def needs(package):
    return pytest.importorskip(
        package, reason=f"{package} is not installed; nothing to be tested against"
    )


# Words as lists


def test_topic_words_are_lists_of_the_most_probable_words(model, nameless):
    for n in (1, 7):
        expected = [[WORDS[w] for w in np.argsort(-row)[:n]] for row in model.components_]
        assert model.topic_words(n, order="probable") == expected
        assert interop.topic_words(model.fitted_, n, order="probable") == expected
    shown, table = model.topic_words(), model.topics()
    probable = model.topic_words(order="probable")
    assert [", ".join(words) for words in shown] == table["words"].tolist()
    assert [", ".join(words) for words in probable] == table["probable"].tolist()
    assert nameless.topic_words(2, order="probable") == [
        [str(w) for w in np.argsort(-row)[:2]] for row in nameless.components_
    ]
    with pytest.raises(
        ValueError, match="order must be one of 'prominent', 'probable'; got 'frex'"
    ):
        model.topic_words(order="frex")
    assert nameless.topic_words(3, feature_names=WORDS) == model.topic_words(3)
    with pytest.raises(ValueError, match=r"feature_names.*expected 20, got 2"):
        model.topic_words(feature_names=["one", "two"])
    with pytest.raises(ValueError, match="n_words"):
        model.topic_words(0)


def test_gensim_scores_the_topics(model):
    needs("gensim")
    from gensim.corpora import Dictionary
    from gensim.models.coherencemodel import CoherenceModel

    texts = [[WORDS[w] for w in range(V) for _ in range(row[w])] for row in X]
    scores = {}
    for coherence in ("u_mass", "c_v"):
        gensim_model = CoherenceModel(
            topics=model.topic_words(5),
            texts=texts,
            dictionary=Dictionary(texts),
            coherence=coherence,
            topn=5,
            processes=1,
        )
        scores[coherence] = gensim_model.get_coherence_per_topic()
    for values in scores.values():
        assert len(values) == K
        assert np.isfinite(values).all()


# Tables


def test_a_long_table_of_documents_and_topics(model):
    table = model.to_frame()
    assert table.columns.tolist() == ["document", "topic", "share"]
    assert len(table) == D * K
    wide = table.pivot(index="document", columns="topic", values="share")
    assert_array_equal(wide, model.doc_topics_)
    assert_array_equal(wide.index, range(D))
    assert_array_equal(wide.columns, range(K))
    pd.testing.assert_frame_equal(interop.to_frame(model.fitted_, "documents"), table)


def test_a_long_table_of_topics_and_words(model, nameless):
    table = model.to_frame("words")
    assert table.columns.tolist() == ["topic", "word", "probability"]
    wide = table.pivot(index="topic", columns="word", values="probability")
    assert_array_equal(wide[WORDS], model.components_)
    assert nameless.to_frame(of="words")["word"].tolist() == list(range(V)) * K
    named = nameless.to_frame("words", feature_names=WORDS)
    assert named["word"].tolist() == WORDS * K


def test_tables_do_not_share_memory_with_the_model(model):
    for of, array in (("documents", model.doc_topics_), ("words", model.components_)):
        before = array.copy()
        table = model.to_frame(of)
        table.iloc[:, 2] = -1.0
        assert_array_equal(array, before)


def test_tables_say_what_is_wrong(model):
    with pytest.raises(ValueError, match="of must be one of 'documents', 'words'; got 'topics'"):
        model.to_frame("topics")


# OCTIS


def octis_topic_diversity(output, topk):
    """As OCTIS computes it from a model's output."""
    unique = set()
    for topic in output["topics"]:
        unique = unique.union(set(topic[:topk]))
    return len(unique) / (topk * len(output["topics"]))


def test_output_for_octis(model):
    output = model.to_octis(6)
    assert output["topics"] == model.topic_words(6, order="probable")
    assert_array_equal(output["topic-word-matrix"], model.components_)
    assert output["topic-document-matrix"].shape == (K, D)
    assert_array_equal(output["topic-document-matrix"].T, model.doc_topics_)
    assert octis_topic_diversity(output, 6) == metrics.topic_diversity(model.components_, 6)
    output["topic-word-matrix"][:] = 0
    assert model.components_.all()
    topics = interop.to_octis(model.fitted_)["topics"]
    assert topics == model.topic_words(10, order="probable")


# pyLDAvis


def test_pyldavis_shows_the_topics(model, tmp_path):
    pyldavis = needs("pyLDAvis")
    prepared = model.to_pyldavis(CORPUS, R=10)
    assert isinstance(prepared, pyldavis.PreparedData)
    assert prepared.topic_order == [1, 2, 3, 4]
    lengths = X.sum(axis=1)
    share = lengths @ model.doc_topics_ / lengths.sum()  # its own way: by words, not by documents
    assert_allclose(prepared.topic_coordinates["Freq"], 100 * share, rtol=1e-10)
    for lambda_ in (0.0, 0.6, 1.0):
        relevance = metrics.relevance(model.components_, share @ model.components_, lambda_)
        for topic in range(K):
            shown = prepared.sorted_terms(topic + 1, lambda_)
            columns = [WORDS.index(word) for word in shown["Term"]]
            assert_allclose(shown["relevance"], relevance[topic, columns], atol=2e-4)
            best = [WORDS[w] for w in np.argsort(-relevance[topic])[:3]]
            assert shown["Term"].tolist()[:3] == best
    pyldavis.save_html(prepared, str(tmp_path / "topics.html"))
    page = (tmp_path / "topics.html").read_text()
    assert "word00" in page
    content = json.loads(prepared.to_json(), parse_constant=pytest.fail)  # no NaN, no Infinity
    assert content["R"] == 10


def test_pyldavis_takes_counts_of_any_kind_and_options(model, nameless):
    needs("pyLDAvis")
    expected = model.to_pyldavis(CORPUS).topic_info
    for counts in (X, csr_matrix(X), X.tolist(), Corpus(X)):
        found = nameless.to_pyldavis(counts, feature_names=WORDS).topic_info
        pd.testing.assert_frame_equal(found, expected)
    numbered = nameless.to_pyldavis(X)
    assert set(numbered.topic_info["Term"]) <= {str(w) for w in range(V)}
    by_size = model.to_pyldavis(CORPUS, sort_topics=True).topic_order
    assert by_size == (np.argsort(-model.topics()["share"].to_numpy()) + 1).tolist()


def test_pyldavis_places_topics_by_their_divergence(model):
    """As its own function does where that works; from numpy 2.5 on its places are complex numbers."""
    needs("pyLDAvis")
    from pyLDAvis._prepare import js_PCoA

    places = model.to_pyldavis(CORPUS).topic_coordinates[["x", "y"]].to_numpy()
    theirs = np.asarray(js_PCoA(model.components_))
    assert_allclose(theirs.imag, 0.0, atol=1e-12)
    assert_allclose(np.abs(places), np.abs(theirs.real), atol=1e-9)
    assert np.isfinite(interop._plane(np.repeat(model.components_[:1], 3, axis=0))).all()


def test_pyldavis_with_words_that_topics_cannot_have():
    needs("pyLDAvis")
    with_unused = Corpus(np.column_stack([X, np.zeros(D, dtype=int)]), [*WORDS, "unused"])
    model = fitted(CTM(2, inference="variational", smoothing=0.0), with_unused)
    topics = model.components_.copy()
    topics[0, 3] = topics[1, 4] = 0.0
    model.fitted_ = replace(model.fitted_, components=topics / topics.sum(1, keepdims=True))
    assert not model.components_[:, -1].any()
    prepared = model.to_pyldavis(with_unused)
    assert "unused" not in set(prepared.topic_info["Term"])
    json.loads(prepared.to_json(), parse_constant=pytest.fail)


def test_pyldavis_says_what_is_wrong(model):
    needs("pyLDAvis")
    with pytest.raises(ValueError, match=r"(?s)training documents, 50 .* got 49 .*fitted to"):
        model.to_pyldavis(CORPUS[1:])
    with pytest.raises(ValueError, match=r"(?s)training documents.*same order.*fitted to"):
        model.to_pyldavis(CORPUS[::-1])
    with pytest.raises(ValueError, match="20 features"):
        model.to_pyldavis(Corpus(X[:, 1:]))
    with pytest.raises(ValueError, match=r"at least two.*n_components"):
        fitted(CTM(1)).to_pyldavis(CORPUS)
    nothing = np.zeros((4, 3), dtype=int)
    with pytest.raises(ValueError, match="all documents are empty"):
        fitted(CTM(2), nothing).to_pyldavis(nothing)


# Graphs


def test_a_graph_joins_topics_that_correlate(model):
    networkx = needs("networkx")
    correlation = model.topic_correlations().to_numpy()
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    for threshold in (-1.0, -0.3, 0.0, 0.1, 1.0):
        graph = model.topic_graph(threshold)
        assert isinstance(graph, networkx.Graph)
        assert sorted(graph.nodes) == list(range(K))
        expected = [pair for pair in pairs if correlation[pair] >= threshold]
        assert sorted(tuple(sorted(edge)) for edge in graph.edges) == expected
        for i, j, weight in graph.edges(data="weight"):
            assert weight == correlation[i, j]
    assert model.topic_graph(-1.0).number_of_edges() == 6
    graph = model.topic_graph(n_words=2)
    labels = [", ".join(words) for words in model.topic_words(2)]
    assert [graph.nodes[i]["label"] for i in range(K)] == labels
    assert_allclose([graph.nodes[i]["share"] for i in range(K)], model.topics()["share"])


def test_a_graph_of_all_variation():
    needs("networkx")
    times = {"t": np.linspace(0.0, 10.0, D)}
    kernel = k.RBF("t", length_scale=2.0)
    model = fitted(GPTM(K, kernel=kernel, learn_kernel=False), metadata=times)
    correlation = model.topic_correlations("prior").to_numpy()
    graph = model.topic_graph(-1.0, of="prior")
    assert all(graph.edges[edge]["weight"] == correlation[edge] for edge in graph.edges)
    assert not np.allclose(correlation, model.topic_correlations())


def test_a_graph_can_be_written_as_graphml(model, tmp_path):
    networkx = needs("networkx")
    graph = model.topic_graph(-0.5)
    networkx.write_graphml(graph, tmp_path / "topics.graphml")
    again = networkx.read_graphml(tmp_path / "topics.graphml", node_type=int)
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert again.number_of_edges() == graph.number_of_edges() > 0
    for i, j, weight in graph.edges(data="weight"):
        assert again.edges[i, j]["weight"] == pytest.approx(weight, rel=1e-12)


def test_a_graph_says_what_is_wrong(model):
    needs("networkx")
    for wrong in (-2, "high", None):
        with pytest.raises(ValueError, match="threshold must be a number of at least -1"):
            model.topic_graph(wrong)
    with pytest.raises(ValueError, match="of must be one of"):
        model.topic_graph(of="kernel")


# Without the packages


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("networkx", lambda model: model.topic_graph()),
        ("pyLDAvis", lambda model: model.to_pyldavis(CORPUS)),
    ],
)
def test_a_missing_package_is_named(model, monkeypatch, package, use):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs the package {package}.*pip install {package}"):
        use(model)


def test_fitting_loads_no_package_that_is_optional():
    code = (
        "import sys, numpy as np, gptm\n"
        "model = gptm.CTM(2, max_iter=2, tol=1.0).fit(np.eye(4, dtype=int))\n"
        "model.topics(), model.to_frame(), model.to_octis()\n"
        "print(*[name for name in ('networkx', 'pyLDAvis', 'gensim') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_arviz_has_the_draws_and_agrees_about_them():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    counts, groups = rng.poisson(1.0, (40, 12)), {"g": list("ab") * 20}
    model = GPTM(3, kernel=k.Categorical("g"), n_chains=2, max_iter=60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(counts, metadata=groups).to_arviz()
    table = model.diagnostics_.set_index("quantity")
    assert found.posterior["share"].dims == ("chain", "draw", "topic")
    assert found.posterior["share"].shape == (2, 30, 3)
    np.testing.assert_allclose(found.posterior["share"].sum("topic"), 1.0)
    for name in ("share", "effect"):
        ess = arviz.ess(found.posterior)[name].to_numpy()
        np.testing.assert_allclose(np.median(ess), table.loc[name, "ess"], rtol=1e-6)
        np.testing.assert_allclose(ess.min(), table.loc[name, "ess_worst"], rtol=1e-6)
        rhat = arviz.rhat(found.posterior)[name].to_numpy()
        np.testing.assert_allclose(rhat.max(), table.loc[name, "rhat_worst"], rtol=1e-6)
    lp = arviz.ess(found.sample_stats)["lp"].to_numpy()
    np.testing.assert_allclose(lp, table.loc["log_density", "ess"], rtol=1e-6)


def test_a_model_without_draws_has_none_for_arviz():
    model = CTM(2, inference="variational", random_state=0).fit([[3, 2, 0], [0, 1, 4]] * 5)
    with pytest.raises(ValueError, match="has no draws"):
        model.to_arviz()
