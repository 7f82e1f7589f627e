"""Figures 2 to 4 and section 5.1: what numbers are made of, what test labels may not do, files that stay the same."""

import gzip
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_matrix
from scipy.spatial.distance import pdist

pytest.importorskip("matplotlib")

from checks import check_stationary
from experiments import classification, embeddings, figures, timing
from experiments.data import Documents
from experiments.jobs import Settings
from experiments.perplexities import INFERENCES
from experiments.running import _call

CLASSES = ("apples", "boats", "clocks")
PER_CLASS = 20
SHARED = [f"common{letter}" for letter in "abcdefghij"]


def words_of(name, rng):
    """Half of the words are the class's own."""
    own = [f"{name}{letter}" for letter in "abcdefghij"]
    return [*rng.choice(own, 20), *rng.choice(SHARED, 20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small set in the form of the paper's."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("data")
    rows = [
        {"id": str(i), "text": " ".join(words_of(name, rng)), "label": name}
        for i, name in enumerate(np.repeat(CLASSES, PER_CLASS))
    ]
    with gzip.open(path / "dif100.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture(scope="module")
def settings(folder):
    return Settings(data=str(folder), quick=True)


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(1)
    beta = rng.dirichlet(np.full(40, 0.2), 3)
    labels = np.repeat(CLASSES, PER_CLASS)
    shares = 0.6 * np.repeat(np.eye(3), PER_CLASS, axis=0) + 0.4 / 3
    counts = csr_matrix([rng.multinomial(50, p) for p in shares @ beta], dtype=float)
    return Documents(counts, labels, np.array([f"w{i}" for i in range(40)]))


def done(experiment, settings):
    return dict(_call(job, {}, settings) for job in experiment.jobs(settings))


# Labels.


@pytest.mark.parametrize("model", ["map", "sampling", "alike", "both", "ctm"])
def test_labels_of_test_documents_change_nothing(documents, model):
    """Bit for bit: places of all documents, and what the SVM says of the unlabelled ones."""
    labelled = embeddings.draw_labelled(documents.labels, 12, seed=0)
    others = documents.labels.copy()
    others[~labelled] = np.roll(others[~labelled], 11)
    assert (others != documents.labels).sum() > 20
    found = []
    for labels in (documents.labels, others):
        hidden = embeddings.hide_labels(documents._replace(labels=labels), labelled)
        places = classification.embed(model, hidden, seed=0)
        found.append((places, classification.predict(model, hidden, seed=0)))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("model", ["map", "sampling"])
def test_labels_of_training_documents_do_change_places(documents, model):
    """Else the test above would say nothing."""
    labelled = embeddings.draw_labelled(documents.labels, 12, seed=0)
    others = documents.labels.copy()
    others[labelled] = np.roll(others[labelled], 1)
    places = [
        classification.embed(
            model, embeddings.hide_labels(documents._replace(labels=labels), labelled), 0
        )
        for labels in (documents.labels, others)
    ]
    assert np.abs(places[0] - places[1]).max() > 1e-3


def test_an_error_is_counted_on_unlabelled_documents_only(documents):
    labelled = embeddings.draw_labelled(documents.labels, 12, seed=0)
    far = 10.0 * (documents.labels[:, None] == np.array(CLASSES))
    assert classification.error_of("ctm", documents, labelled, 0, far) == 0.0
    wrong = documents.labels.copy()
    wrong[np.flatnonzero(~labelled)[:6]] = "none of them"
    error = classification.error_of("ctm", documents._replace(labels=wrong), labelled, 0, far)
    assert_allclose(error, 6 / (~labelled).sum())


def test_few_labels_are_among_more_and_cover_all_classes(documents):
    few, more = (embeddings.draw_labelled(documents.labels, n, seed=3) for n in (8, 30))
    assert (few.sum(), more.sum()) == (8, 30)
    assert (few <= more).all()
    assert min(np.unique(documents.labels[few], return_counts=True)[1]) >= embeddings.LEAST
    assert embeddings.draw_labelled(documents.labels, None, seed=3).all()


def test_svm_separates_what_a_line_cannot():
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    places = np.concatenate([0.2 * circle, circle])
    truth = np.repeat(["inner", "outer"], 40).astype(object)
    labels = truth.copy()
    labels[1::2] = None
    assert_array_equal(classification.classify(places, labels, seed=0), truth[1::2])


# Embeddings.


def test_only_what_all_topics_share_is_projected_out():
    logits = np.random.default_rng(0).standard_normal((12, 4))
    places = embeddings.without_common(logits)
    assert places.shape == (12, 3)
    assert_allclose(places, embeddings.without_common(logits + np.arange(12)[:, None]), atol=1e-12)
    assert_allclose(pdist(places), pdist(logits - logits.mean(1, keepdims=True)))


def test_turning_keeps_distances_and_undoes_a_turn():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((15, 2))
    mirrored = reference @ np.array([[0.0, 1.0], [1.0, 0.0]]) + 3.0
    turned = figures.turned(mirrored, reference)
    assert_allclose(turned, reference - reference.mean(0), atol=1e-12)
    other = rng.standard_normal((15, 2))
    assert_allclose(pdist(figures.turned(other, reference)), pdist(other))


def test_neighbour_is_another_document():
    places = np.array([[0.0], [1.0], [1.1], [5.0]])
    labels = np.array(["a", "a", "b", "b"])
    assert embeddings.separation(places, labels)["neighbour"] == 0.5  # 0 -> 1 and 3 -> 2
    assert embeddings.separation(places[:1], labels[:1]) == {}


@pytest.mark.parametrize("experiment", [embeddings, classification])
def test_experiment_from_jobs_to_page(experiment, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(classification, "GRID", {"C": [1.0, 10.0], "gamma": [1.0]})
    jobs = experiment.jobs(settings)
    assert len({job.key for job in jobs}) == len(jobs)
    results = done(experiment, settings)
    assert json.loads(json.dumps(results)) == results
    section = experiment.present(results, tmp_path, settings)
    assert section.claims
    for name in ("figure3", "figure4") if experiment is embeddings else ("figure2",):
        assert f"(figures/{name}.png)" in section.text
        assert (tmp_path / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        ET.parse(tmp_path / "figures" / f"{name}.svg")
        table = (tmp_path / "tables" / f"{name}.md").read_text(encoding="utf-8")
        assert table.strip() in section.text
        assert (tmp_path / "tables" / f"{name}.csv").exists()
    first = jobs[0]
    assert _call(first, {}, settings) == (first.key, results[first.key])


def test_without_documents_there_is_a_word(tmp_path):
    nothing = Settings(data=str(tmp_path))
    for experiment in (embeddings, classification):
        assert experiment.jobs(nothing) == []
        section = experiment.present({}, tmp_path, nothing)
        assert "Neither" in section.text
        assert section.claims == ()


def test_verdicts_follow_the_numbers(settings):
    """More labels, better separated or worse: the claim turns."""

    def results(*levels):
        row = {"places": [[0.0, 0.0]] * 3, "labelled": []}
        return {
            f"figure4/dif100/{inference}/{amount}/{start}": row
            | dict.fromkeys(embeddings.COLUMNS, level + 0.01 * start)
            for inference in INFERENCES
            for amount, level in zip(("10", "100", "all"), levels, strict=True)
            for start in range(2)
        }

    for levels, verdict in (((0.1, 0.2, 0.3), "yes"), ((0.3, 0.2, 0.1), "no")):
        cases = embeddings._cases_of_figure4(results(*levels), settings)
        claims = list(embeddings._claims_of_figure4(cases, settings))
        assert [claim.holds for claim in claims] == [verdict] * 4


# Figures.


def a_panel():
    rng = np.random.default_rng(0)
    labels = np.repeat(CLASSES, 4)
    return figures.Panel("CTM", "note", rng.standard_normal((12, 2)), labels, labels == "boats")


def some_figures():
    line = figures.Line("CTM", np.array([10, 20]), np.array([0.3, 0.2]), np.array([0.05, 0.02]))
    plain = line._replace(spread=None)
    return {
        "embeddings": lambda: figures.draw_embeddings({"Dif100": [a_panel(), a_panel()]}),
        "errors": lambda: figures.draw_errors({"Dif100": [line, line]}, "labels", "error"),
        "growth": lambda: figures.draw_growth({"F": [plain], "fit": [plain]}, "documents", "s"),
    }


@pytest.mark.parametrize("name", list(some_figures()))
def test_files_are_the_same_each_time(name, tmp_path):
    for folder in ("one", "two"):
        text = figures.save(some_figures()[name](), tmp_path / folder, "figure")
        assert text == "![figure](figures/figure.png)"
    for ending in ("png", "svg"):
        one, two = (
            (tmp_path / f / "figures" / f"figure.{ending}").read_bytes() for f in ("one", "two")
        )
        assert one == two


def test_every_document_is_drawn_where_it_is():
    panel = a_panel()
    figure = figures.draw_embeddings({"Dif100": [panel]})
    dots = np.concatenate([dots.get_offsets() for dots in figure.axes[0].collections])
    assert_allclose(np.sort(dots, axis=0), np.sort(panel.places, axis=0))
    legend = figure.subfigs[0].legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [*CLASSES, "label given"]


def test_drawing_leaves_no_state_behind():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    for draw in some_figures().values():
        draw()
    assert plt.get_fignums() == before


# Time.


@pytest.mark.parametrize("n", [5, 60])
def test_our_step_solves_the_sylvester_equation(n):
    rng = np.random.default_rng(n)
    lam, A = rng.standard_normal((n, 3)), rng.standard_normal((3, 6))
    Sigma = A @ A.T
    bound, operator = timing._operator(timing._places(n, rng))
    F, Kxx = timing.solve_F(operator, lam, Sigma), bound.gram()
    assert_allclose(F, solve_sylvester(Kxx, Sigma, Kxx @ lam), atol=1e-10)


def test_our_step_is_the_maximum_of_eq_13():
    rng = np.random.default_rng(0)
    lam, A = rng.standard_normal((8, 2)), rng.standard_normal((2, 5))
    Sigma = A @ A.T
    bound, operator = timing._operator(timing._places(8, rng))
    K_inv, P = np.linalg.inv(bound.gram()), np.linalg.inv(Sigma)

    def loss(F):
        return 0.5 * (np.sum((lam - F) @ P * (lam - F)) + np.sum(F * (K_inv @ F)))

    check_stationary(loss, timing.solve_F(operator, lam, Sigma))


def test_words_are_sampled_for_each_document():
    counts = timing._words(30, np.random.default_rng(0))
    assert counts.shape == (30, timing.N_WORDS)
    assert_array_equal(np.asarray(counts.sum(1)).ravel(), timing.LENGTH)


def test_timing_from_jobs_to_page(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "sizes", lambda settings: (60, 120))
    for name, small in {"SCIPY_MOST": 100, "REPEATS": 1, "N_ITERATIONS": 2, "N_WORDS": 50}.items():
        monkeypatch.setattr(timing, name, small)
    jobs = timing.jobs(settings)
    assert all(job.alone for job in jobs)
    results = done(timing, settings)
    assert results["timing/step/60"]["disagreement"] < timing.AGREE
    assert "scipy" not in results["timing/step/120"]
    section = timing.present(results, tmp_path, settings)
    assert (tmp_path / "figures" / "timing.svg").exists()
    assert "60 documents" in section.claims[0].numbers


def test_a_wrong_solution_is_no_success():
    step = {"ours": 1.0, "scipy": 9.0, "once": 0.0, "disagreement": 1e-12}
    assert timing._claim({100: step}).holds == "yes"
    assert timing._claim({100: step | {"disagreement": 0.1}}).holds == "no"
    assert timing._claim({100: step, 200: step | {"scipy": 0.5}}).holds == "partly"
