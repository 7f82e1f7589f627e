"""Cells with several values, and the kernel that takes the mean of their effects."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gptm import GPTM, load
from gptm import kernels as k
from gptm.corpus.several_values import mark_between, mark_of_tags, values_in
from gptm.effects.column_values import unseen_levels
from gptm.kernels import Documents
from gptm.kernels.formula import parse_kernel
from gptm.kernels.weighted_terms import Terms

KERNEL = k.Categorical("authors", multiple=True)
CELLS = [["ann", "bob"], ["ann"], ["bob", "eve", "dan"], None, ["eve"], ["dan", "ann"]]
TEXTS = [None if cell is None else "; ".join(cell) for cell in CELLS]


def frame(cells, name="authors"):
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return pd.DataFrame({name: column})


def bind(cells, kernel=KERNEL):
    return kernel.bind(Documents(len(cells), frame(cells)))


def naive_gram(cells):
    """f_d = mean of its authors' effects, written as a matrix; without authors the mean variance, alone."""
    levels = sorted({name for cell in cells for name in cell or ()})
    Phi = np.array(
        [[(level in (cell or ())) / max(len(cell or ()), 1) for level in levels] for cell in cells]
    )
    G = Phi @ Phi.T
    there = np.array([bool(cell) for cell in cells])
    return G + np.diag(np.where(there, 0.0, np.diagonal(G)[there].mean()))


@pytest.mark.parametrize("cells", [CELLS, TEXTS], ids=["lists", "text"])
def test_a_document_has_the_mean_of_the_effects_of_its_levels(cells):
    bound = bind(cells)
    assert bound.levels == ["ann", "bob", "dan", "eve"]
    assert_allclose(bound.gram(), naive_gram(CELLS), atol=1e-15)
    assert_allclose(bound.operator.to_dense(), naive_gram(CELLS), atol=1e-12)


def test_every_form_of_a_cell_reads_the_same():
    forms = [
        CELLS,
        TEXTS,
        [None if c is None else "|".join(c) for c in CELLS],
        [None if c is None else ", ".join(c) + "," for c in CELLS],
        [None if c is None else str(c) for c in CELLS],
        [[] if c is None else np.array([*c, *c]) for c in CELLS],
        [" " if c is None else (*c, None, "") for c in CELLS],
        [set() if c is None else set(c) for c in CELLS],
    ]
    for cells in forms:
        assert_array_equal(bind(cells).gram(), bind(CELLS).gram())


def test_one_value_in_every_cell_is_a_plain_category():
    cells = ["ann", "bob", "ann", None, "eve", "bob"]
    plain = k.Categorical("authors").bind(Documents(6, frame(cells)))
    assert_array_equal(bind(cells).gram(), plain.gram())
    new = Documents(3, frame(["bob", "zoe", None]))
    assert_array_equal(
        bind(cells).cross_gram(bind(cells).read(new)), plain.cross_gram(plain.read(new))
    )
    assert_array_equal(bind(cells).own_gram(bind(cells).read(new), joint=False), np.ones(3))


def test_the_mean_variance_of_the_term_is_one_when_the_kernel_is_learnt():
    """The strength of every term is defined in the same way, however many values its cells hold."""
    for cells in (CELLS, [c and [*c, "x", "y"] for c in CELLS], CELLS[:3]):
        assert Terms.of(bind(cells)).bound.mean_diagonal() == pytest.approx(1.0)
    # A document without levels has the mean variance of the others, so that it does not count.
    with_missing = bind([*CELLS, None, None])
    assert with_missing.mean_diagonal() == pytest.approx(bind(CELLS).mean_diagonal())


def test_unseen_levels_fall_back_to_the_prior_and_seen_ones_count():
    bound = bind(CELLS)
    new = bound.read(Documents(4, frame([["ann", "new"], ["new", "newer"], None, "bob;eve"])))
    gram = naive_gram([*CELLS, ["ann", "new"]])
    assert_allclose(bound.cross_gram(new)[0], gram[-1, :-1])
    assert not bound.cross_gram(new)[1:3].any()
    mean_variance = np.mean([1 / len(cell) for cell in CELLS if cell])
    assert_allclose(bound.own_gram(new, joint=False), [0.5, 0.5, mean_variance, 0.5])
    # The joint Gaussian of training and new documents, written out.
    both = naive_gram([*CELLS[:3], *CELLS[4:], ["ann", "new"]])
    solved = np.linalg.solve(2 * both[:5, :5] + np.eye(5), both[:5, -1])
    expected = 2 * both[-1, -1] - 4 * both[:5, -1] @ solved
    small = bind([*CELLS[:3], *CELLS[4:]])
    variance = small.cross(small.read(Documents(1, frame([["ann", "new"]])))).variance(
        np.array([2.0])
    )
    assert_allclose(variance, [[expected]])
    (unseen,) = unseen_levels(bound, frame([["ann", "new"], ["new", "newer"], None, "bob;eve"]))
    assert (unseen.names, unseen.rows) == (["new", "newer"], 2)


def test_the_mark_is_that_of_the_training_documents():
    cells = ["Smith, Ann; Jones, Bob", "Jones, Bob", "Smith, Ann", "Jones, Bob; Woo, Eve"]
    bound = bind(cells)
    assert bound.levels == ["Jones, Bob", "Smith, Ann", "Woo, Eve"]
    new = bound.read(Documents(2, frame(["Smith, Ann", "Woo, Eve; Smith, Ann"])))
    assert_array_equal(new.weights.toarray(), [[0, 1, 0], [0, 0.5, 0.5]])
    # After lists there is none: a text that is a level is that level, others are split as they look.
    lists = bind([["Jones, Bob", "a"], ["a", "b"], ["b"]])
    new = lists.read(Documents(2, frame(["Jones, Bob", "a | b"])))
    assert_array_equal(new.weights.toarray(), [[1, 0, 0], [0, 0.5, 0.5]])
    again = lists.kernel.rebind(lists.arrays())
    assert (again.mark, again.levels) == (lists.mark, lists.levels)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([["a", "b"]] * 4, "every document has the same levels in 'authors'"),
        ([["a"], ["b", "c"], ["d"]], "no two documents share any of the levels"),
    ],
)
def test_a_term_that_says_nothing_is_told(cells, says):
    with pytest.warns(UserWarning, match=says):
        bind(cells)


def test_bad_input():
    with pytest.raises(
        ValueError, match="nothing to learn from: every value of 'authors' is missing"
    ):
        bind([None, [], " "])
    with pytest.raises(ValueError, match="multiple must be True or False"):
        k.Categorical("authors", multiple="yes")
    with pytest.raises(ValueError, match="needs the metadata column 'authors'"):
        KERNEL.bind(Documents(2, pd.DataFrame({"x": [1, 2]})))


def test_it_is_written_in_formulas_and_printed():
    assert parse_kernel("categorical(authors, multiple=true)") == KERNEL
    assert repr(KERNEL) == "Categorical('authors', multiple=True)"
    assert KERNEL.describe() == "documents that share some of their authors are alike"


# In a model.

RNG = np.random.default_rng(1)
PEOPLE = ["ann", "bob", "eve", "dan"]
PAIRS = [list(pair) for pair in itertools.combinations(PEOPLE, 2)] + [[name] for name in PEOPLE]
D = 80
CAST = [PAIRS[i % len(PAIRS)] for i in range(D)]
LIKES_TEA = {"ann": 0.9, "bob": 0.7, "eve": 0.3, "dan": 0.1}
SHARE = np.array([np.mean([LIKES_TEA[name] for name in cast]) for cast in CAST])
X = np.array(
    [
        np.concatenate(
            [
                RNG.multinomial(n := RNG.binomial(60, s), [1 / 5] * 5),
                RNG.multinomial(60 - n, [1 / 5] * 5),
            ]
        )
        for s in SHARE
    ]
)


@pytest.fixture(scope="module")
def model():
    cells = ["; ".join(cast) for cast in CAST]
    cells[7] = None
    return GPTM(2, kernel=KERNEL, random_state=0, max_iter=200).fit(X, metadata={"authors": cells})


def test_effects_are_those_of_single_levels_and_of_sets(model):
    table = model.effects("authors")
    assert table["authors"].tolist()[:4] == sorted(PEOPLE)
    tea = int(model.components_[:, :5].sum(1).argmax())
    share = table[table["topic"] == tea].set_index("authors")["share"]
    assert share.sort_values(ascending=False).index.tolist() == PEOPLE
    both = model.effects("authors", topic=tea, at=[["ann", "dan"], ["ann"], ["dan"]])
    assert_allclose(both["contrast"][0], both["contrast"][1:].mean(), rtol=1e-9)
    with pytest.warns(UserWarning, match="authors 'zoe' was not seen in training"):
        model.effects("authors", at=["zoe"])


def test_new_documents_follow_their_authors(model):
    tea = int(model.components_[:, :5].sum(1).argmax())
    cells = frame(["ann", "ann; bob", "dan", None, "somebody; else"])
    theta = model.transform(np.zeros((5, 10)), metadata=cells)[:, tea]
    assert theta[0] > theta[1] > 0.5 > theta[2]
    assert_allclose(theta[3], theta[4], atol=0.05)


def test_a_saved_model_gives_the_same_bits(model, tmp_path):
    model.save(tmp_path / "m.gptm")
    again = load(tmp_path / "m.gptm")
    cells = frame(["ann", "ann; bob", "dan; new", None, ["eve", "bob"]])
    counts = np.zeros((5, 10))
    assert again.kernel_ == model.kernel_
    assert_array_equal(
        again.transform(counts, metadata=cells), model.transform(counts, metadata=cells)
    )
    pd.testing.assert_frame_equal(again.effects("authors"), model.effects("authors"))


def test_the_report_has_a_bar_for_every_level(model, tmp_path):
    from gptm.report.page_effects import effect_terms

    (term,) = effect_terms(model, [str(i) for i in range(D)], [])
    assert (term["kind"], term["levels"]) == ("categories", sorted(PEOPLE))


# What separates the values.


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["a", "b"], None),
        (["a,b", "c"], ","),
        (["a|b", "c,d|e"], "|"),
        ([None, 3.5, "a; b, c"], ";"),
        (["x, y"] * 99 + ["p; q"], ","),
        ([["a;b"], "c"], None),
    ],
)
def test_the_mark_between_values(cells, mark):
    assert mark_between(cells) == mark


def test_values_in_a_cell():
    assert values_in(3.0) == ["3"]
    assert values_in([1, 1.0, 2]) == ["1", "2"]
    assert values_in("", ";") == values_in(None) == values_in("[]") == []
    assert values_in(" a ;; NA; b", ";") == ["a", "b"]


GENRES = [
    "Drama|Comedy",
    "Drama",
    "Comedy",
    "War|Drama",
    "Comedy|Drama|War",
    "War",
    "War|Comedy",
    "Drama",
]
TAG_TEXTS = {
    "bars": (GENRES, "|"),
    "semicolons": ([g.replace("|", "; ") for g in GENRES], ";"),
    "commas": ([g.replace("|", ", ") for g in GENRES], ","),
    "places": (["Paris, France", "Lyon, France", "Rome, Italy", "Nice, France"] * 3, None),
    "places and a land": (["Paris, France", "Lyon, France", "Rome", "Nice, France"] * 3, None),
    "names": (["Smith, Ann", "Jones, Bob", "Smith, Bob", "Jones, Ann"] * 5, None),
    "sentences": (
        ["He came; he saw it all with his very own two eyes; and then he won the day once more."]
        * 4,
        None,
    ),
    "one value each": (list("abcabcabc"), None),
    "nothing repeats": ([f"a{i}; b{i}" for i in range(20)], None),
}


@pytest.mark.parametrize("name", TAG_TEXTS)
def test_lists_of_tags_in_text_are_recognised(name):
    texts, mark = TAG_TEXTS[name]
    assert mark_of_tags(texts) == mark
