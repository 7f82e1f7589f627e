"""Folds that keep groups together, and folds from past to future."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, StratifiedGroupKFold

import gptm
from gptm import CTM, Corpus
from gptm.selection.data import read_data, read_groups
from gptm.selection.folds import make_folds, make_split, time_folds, time_split

N = 30


def documents():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (N, 8)) + 1
    author = rng.choice(["Ann", "Bob", "Cem", "Dee", "Eve"], N)
    days = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.permutation(N) * 40, unit="D")
    frame = pd.DataFrame({"author": author, "date": days, "text date": days.strftime("%d.%m.%Y")})
    return X, frame


def groups_of(folds, author):
    return [(set(author[train]), set(author[test])) for train, test in folds]


@pytest.mark.parametrize("form", ["column", "series", "list", "corpus"])
def test_groups_are_held_out_as_a_whole(form):
    X, frame = documents()
    given = {"series": frame["author"], "list": frame["author"].tolist()}.get(form, "author")
    data = (
        read_data(Corpus(X, metadata=frame), None, None)
        if form == "corpus"
        else read_data(X, frame, None)
    )
    folds = make_folds(3, data, 0, groups=given)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(N))
    for train, test in groups_of(folds, frame["author"].to_numpy()):
        assert train.isdisjoint(test)
    sizes = [len(test) for _, test in folds]
    assert max(sizes) <= 1.5 * N / 3  # balanced by documents


def test_documents_without_a_group_are_groups_of_their_own():
    X, frame = documents()
    frame.loc[:3, "author"] = None
    numbers = read_groups("groups", "author", read_data(X, frame, None))
    assert len(set(numbers[:4])) == 4
    named = frame["author"].iloc[4:].to_numpy()
    for i, one in enumerate(named):
        assert_array_equal(numbers[4:] == numbers[4 + i], named == one)


def test_splitters_get_the_groups():
    X, frame = documents()
    y = frame["date"].dt.year > 2002
    data = read_data(X, frame, y)
    author = frame["author"].to_numpy()
    codes = read_groups("groups", "author", data)
    for splitter in (GroupKFold(2), LeaveOneGroupOut(), StratifiedGroupKFold(2)):
        folds = make_folds(splitter, data, 0, groups="author")
        for fold, expected in zip(folds, splitter.split(X, y, codes), strict=True):
            assert_array_equal(fold[1], expected[1])
    assert len(make_folds(LeaveOneGroupOut(), data, 0, groups="author")) == len(set(author))


@pytest.mark.parametrize("name", ["date", "text date"])
def test_time_folds_train_on_the_past_and_score_what_follows(name):
    X, frame = documents()
    folds = make_folds(4, read_data(X, frame, None), 0, by_time=name)
    dates = frame["date"]
    assert len(folds) == 4
    order = np.argsort(dates.to_numpy())
    for number, (train, test) in enumerate(folds, 1):
        assert_array_equal(np.sort(order[: 6 * number]), train)
        assert_array_equal(np.sort(order[6 * number : 6 * (number + 1)]), test)


@given(
    values=st.lists(st.integers(0, 12), min_size=4, max_size=60),
    cv=st.integers(2, 5),
)
def test_time_folds_of_any_times(values, cv):
    times = np.array(values, dtype=float)
    if len(set(values)) <= cv:
        with pytest.raises(ValueError, match=rf"at least {cv + 1} different values"):
            time_folds(cv, times)
        return
    folds = time_folds(cv, times)
    assert len(folds) == cv
    seen = folds[0][0]
    for train, test in folds:
        assert_array_equal(np.sort(train), np.sort(seen))  # all that came before
        assert times[train].max() < times[test].min()
        assert len(test) > 0
        seen = np.concatenate([seen, test])
    assert_array_equal(np.sort(seen), np.arange(len(times)))


def test_documents_without_a_time_are_left_out_with_a_warning():
    X, frame = documents()
    frame.loc[[2, 5], "date"] = pd.NaT
    with pytest.warns(UserWarning, match="2 of 30 documents have no value in 'date'"):
        folds = make_folds(3, read_data(X, frame, None), 0, by_time="date")
    used = np.unique(np.concatenate([np.concatenate(fold) for fold in folds]))
    assert set(range(N)) - set(used.tolist()) == {2, 5}


def test_one_split_in_time_and_by_groups():
    times = np.array([5.0, 1.0, 3.0, 3.0, 2.0])
    for share in (0.2, 1):
        train, test = time_split(share, times)
        assert (train.tolist(), test.tolist()) == ([1, 2, 3, 4], [0])
    train, test = time_split(2, times)  # the other document of the same time comes along
    assert (train.tolist(), test.tolist()) == ([1, 4], [0, 2, 3])
    X, frame = documents()
    ((train, test),) = make_split(0.4, read_data(X, frame, None), 0, groups="author")
    ((train_authors, test_authors),) = groups_of([(train, test)], frame["author"].to_numpy())
    assert train_authors.isdisjoint(test_authors)
    assert len(test_authors) == 2
    with pytest.raises(ValueError, match="test must leave documents to fit to"):
        time_split(5, times)
    with pytest.raises(ValueError, match="a value before those of the held-out"):
        time_split(1, np.array([3.0, 3.0]))


def test_scores_of_groups_and_of_the_future():
    X, frame = documents()
    model = CTM(2, max_iter=3, init="random", random_state=0)
    found = gptm.cross_validate(model, X, metadata=frame, cv=2, by_time="date", observed=0.5)
    assert repr(found).startswith("2-fold cross-validation from past to future by date of CTM(")
    train, test = found.split[1]
    by_hand = CTM(2, max_iter=3, init="random", random_state=0).fit(X[train])
    assert found.table.loc[1, "perplexity_50"] == by_hand.perplexity(X[test])
    both = gptm.compare([model], X, metadata=frame, by_time="date", test=0.3, observed=0.5)
    assert repr(both).startswith("1 models on 9 held-out documents from past to future by date")
    both = gptm.compare([model], X, metadata=frame, groups="author", cv=2, observed=0.5)
    assert "2 folds by author" in repr(both)
    search = gptm.search_components(model, X, [1, 2], cv=2, groups=frame["author"])
    assert "2-fold cross-validation by groups" in repr(search)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"groups": "autor"}, "groups names the column 'autor'.*Did you mean 'author'"),
        ({"groups": [1, 2]}, "one value for each of the 30 documents; got 2 values"),
        ({"groups": 7}, "must name a column of the metadata.*got 7"),
        ({"groups": "author", "by_time": "date"}, "groups= or by_time=, not both"),
        ({"groups": "author", "cv": 9}, "at most the number of groups, 5; got 9"),
        ({"groups": "author", "cv": [([0], [1])]}, "a number of folds or a scikit-learn splitter"),
        ({"by_time": "author"}, "must hold numbers or dates"),
        ({"by_time": [None] * N}, "no document has a value"),
        (
            {"by_time": [1] * N, "cv": 3},
            r"at least 4 different values for 3 folds; got 1. Use another column",
        ),
        ({"by_time": "date", "cv": GroupKFold(3)}, "a number of folds where time decides"),
    ],
)
def test_what_cannot_be_split(options, said):
    X, frame = documents()
    cv = options.pop("cv", 3)
    with pytest.raises(ValueError, match=said):
        make_folds(cv, read_data(X, frame, None), 0, **options)


def test_a_column_without_metadata():
    X, _ = documents()
    with pytest.raises(ValueError, match=r"groups='author' needs the metadata column"):
        gptm.cross_validate(CTM(2), X, groups="author")
    with pytest.raises(ValueError, match="held out already"):
        gptm.compare([CTM(2)], X, test=X, by_time=np.arange(N))
