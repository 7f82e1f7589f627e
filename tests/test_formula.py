"""Kernels as text: what a formula means, that printed kernels are formulas, and errors that point."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gptm import kernels as k
from gptm.kernels.catalogue import kernel_classes
from gptm.kernels.formula import kernel_help, kernel_names, parse_kernel

MEANINGS = {
    "matern(date)": k.Matern("date"),
    "Matern('date')": k.Matern("date"),
    'MATERN("date", nu=2.5)': k.Matern("date", nu=2.5),
    "rbf(lat, lon, length_scale=[2, 5.5])": k.RBF("lat", "lon", length_scale=[2, 5.5]),
    "rbf(year, length_scale=5)": k.RBF("year", length_scale=5),
    "matern(t, nu=inf)": k.Matern("t", nu=math.inf),
    "periodic(date, period='1y', length_scale=.5)": k.Periodic(
        "date", period="1y", length_scale=0.5
    ),
    "linear(age, income, name=money)": k.Linear("age", "income", name="money"),
    "categorical(source)": k.Categorical("source"),
    "categorical('news source')": k.Categorical("news source"),
    "categorical(meta.source)": k.Categorical("meta.source"),
    "categorical(class)": k.Categorical("class"),  # a word that Python keeps for itself
    "categorical(None)": k.Categorical("None"),
    "categorical(größe)": k.Categorical("größe"),
    r"categorical('it\'s')": k.Categorical("it's"),
    "graph(links, id=id)": k.Graph("links", id="id"),
    "graph(links, id=None, form=direct, nu=2)": k.Graph("links", form="direct", nu=2),
    "embedding(vector, center=False)": k.Embedding("vector", center=False),
    "embedding(vector, n_directions=None)": k.Embedding("vector", n_directions=None),
    "identity()": k.Identity(),
    "must_link(label, gamma=0.5)": k.MustLink("label", gamma=0.5),
    "MustLink()": k.MustLink(),
    "mustlink(pairs=[(0, 1), (5, 2)])": k.MustLink(pairs=[(0, 1), (5, 2)]),
    "nearest_neighbors()": k.NearestNeighbors(),
    "NearestNeighbors(5, on=[lat, lon])": k.NearestNeighbors(5, on=["lat", "lon"]),
    "nearestneighbors(on=vector)": k.NearestNeighbors(on="vector"),
    "matern(a) + rbf(b) + identity()": k.Matern("a") + k.RBF("b") + k.Identity(),
    "2 * matern(a)": 2 * k.Matern("a"),
    "matern(a) * 2": k.Matern("a") * 2,
    "1e-2*matern(a)": 0.01 * k.Matern("a"),
    "2 * 3 * matern(a)": 6.0 * k.Matern("a"),
    "2 * (3 * matern(a))": 6.0 * k.Matern("a"),
    "1 * matern(a)": 1.0 * k.Matern("a"),
    "matern(a) * rbf(b)": k.Matern("a") * k.RBF("b"),
    "matern(a) * rbf(b) * linear(c)": k.Matern("a") * k.RBF("b") * k.Linear("c"),
    "2 * (matern(a) + rbf(b))": 2 * (k.Matern("a") + k.RBF("b")),
    "((matern(a)))": k.Matern("a"),
    "matern(a) + (rbf(b) + identity())": k.Matern("a") + k.RBF("b") + k.Identity(),
    "  matern ( a )\n + \t rbf(b,)  ": k.Matern("a") + k.RBF("b"),
    "matern(date) + 2 * categorical(source) * rbf(year, length_scale=5) + graph(links, id=id)": (
        k.Matern("date")
        + 2 * k.Categorical("source") * k.RBF("year", length_scale=5)
        + k.Graph("links", id="id")
    ),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_what_a_formula_means(text):
    assert parse_kernel(text) == MEANINGS[text]


def test_every_kernel_is_in_a_formula_or_said_not_to_be():
    for name, kind in kernel_classes().items():
        if kind.formula_name() in kernel_names():
            continue
        with pytest.raises(ValueError, match=f"{name} cannot be written|no kernel '{name}'"):
            parse_kernel(f"{name}(t)")
    assert {"must_link", "nearest_neighbors", "rbf"} <= set(kernel_names())
    assert not {"function", "on_columns", "precomputed", "sum"} & set(kernel_names())


def test_help_says_how_every_kernel_is_written():
    usages = [usage for usage, _ in kernel_help()]
    assert tuple(usage.partition("(")[0] for usage in usages) == kernel_names()
    assert "graph(column=None, id=None" in " ".join(usages)  # without its matrix
    assert all(summary.endswith(".") for _, summary in kernel_help())


# Round trips

columns = st.text(min_size=1, max_size=8)
positive = st.floats(1e-6, 1e6) | st.integers(1, 10**6)
names = st.none() | columns


def maybe(**settings):
    """Some of the settings, so that defaults occur too."""
    return st.fixed_dictionaries({}, optional=settings)


def with_columns(kind, **settings):
    many = st.lists(columns, min_size=1, max_size=3)
    return st.builds(lambda c, s: kind(*c, **s), many, maybe(name=names, **settings))


def with_column(kind, **settings):
    return st.builds(lambda c, s: kind(c, **s), columns, maybe(name=names, **settings))


scales = positive | st.lists(positive, min_size=1, max_size=3)
forms = st.sampled_from(["smooth", "direct"])
LEAVES = st.one_of(
    st.builds(k.Identity, name=names),
    with_columns(k.Matern, nu=positive | st.just(math.inf), length_scale=scales),
    with_columns(k.RBF, length_scale=scales),
    with_columns(k.Linear),
    st.builds(
        lambda c, p, s: k.Periodic(c, period=p, **s),
        columns,
        positive | st.sampled_from(["1y", "12h"]),
        maybe(length_scale=positive, name=names),
    ),
    with_column(k.Categorical),
    with_column(k.Embedding, center=st.booleans(), n_directions=st.none() | st.integers(1, 100)),
    with_column(k.Graph, id=names, form=forms, kappa=positive, nu=st.integers(1, 5)),
    with_column(k.MustLink, gamma=positive),
    st.builds(
        lambda pairs: k.MustLink(pairs=pairs),
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
    ),
    st.builds(
        lambda n, s: k.NearestNeighbors(n, **s),
        st.integers(1, 50),
        maybe(on=columns | st.lists(columns, min_size=1, max_size=3), form=forms, name=names),
    ),
)


def compositions(inner):
    """Sums, products and multiples as Python builds them from left to right."""
    sums = st.lists(inner, min_size=2, max_size=3).map(lambda terms: k.Sum.of(*terms))
    factors = LEAVES | sums
    scaled = st.builds(lambda scale, kernel: scale * kernel, positive, factors)
    products = st.builds(
        lambda first, others: math.prod(others, start=first),
        scaled | factors,
        st.lists(factors, min_size=1, max_size=2),
    )
    return sums | scaled | products


KERNELS = st.recursive(LEAVES, compositions, max_leaves=5)


@given(KERNELS)
def test_printed_kernels_are_formulas(kernel):
    assert parse_kernel(repr(kernel)) == kernel


@given(KERNELS)
def test_brackets_around_products_change_nothing(kernel):
    first = parse_kernel(f"identity() * ({kernel!r}) * 2")
    assert parse_kernel(repr(first)) == first


@given(st.text(alphabet="abm( )[]=,+*-'\"\\.1e_", max_size=30) | st.text(max_size=30))
def test_any_text_is_a_kernel_or_a_clear_error(text):
    message = "^"
    try:
        assert isinstance(parse_kernel(text), k.Kernel)
    except ValueError as error:
        message = str(error)
    assert message.endswith("^")


# Errors

ERRORS = {
    "": ("empty", 0),
    "   ": ("empty", 0),
    "mattern(date)": ("did you mean 'matern'", 0),
    "matern(a) + nearest_neighbours(5)": ("did you mean 'nearest_neighbors'", 12),
    "zzz(a)": ("there are categorical, embedding", 0),
    "date": ("matern(date)", 0),
    "'date'": ("a column alone is not a kernel", 0),
    "~ party + s(day)": ("add kernels, as in categorical(party) + matern(day)", 0),
    "matern": ("expected '('", 6),
    "matern(date": ("the formula ends", 11),
    "matern(date))": ("expected '+', '*' or the end; got ')'", 12),
    "(matern(date)": ("to close the bracket", 13),
    "matern(date) rbf(x)": ("got 'rbf'", 13),
    "matern(date) + ": ("expected a kernel", 14),
    "matern(a) + + rbf(b)": ("got '+'", 12),
    "matern(a) - rbf(b)": ("not subtracted", 10),
    "matern(a b)": ("need quotation marks", 9),
    "matern(pub-date)": ("need quotation marks", 10),
    "matern(a = 2 = 3)": ("expected ','", 13),
    "matern(pub:date)": ("quotation marks", 10),
    "matern(2nd)": ("quotation marks", 7),
    "matern('date)": ("has no partner", 7),
    "matern(date, lenght_scale=5)": ("did you mean 'length_scale'", 13),
    "matern(date, foo=5)": ("nu, length_scale, name", 13),
    "matern(date, nu=2.5, nu=1.5)": ("twice", 21),
    "matern(nu=2.5, date)": ("come first", 15),
    "matern(date, nu=)": ("expected a column, a number", 16),
    "matern()": ("one or more column names", 0),
    "matern(5)": ("one or more column names", 0),
    "categorical(a, b)": ("categorical: ", 0),
    "periodic(date)": ("period", 0),
    "graph(id=id)": ("Graph expects", 0),
    "graph(adjacency=x)": ("build it in Python", 6),
    "precomputed(x)": ("build it in Python", 0),
    "on_columns(x)": ("build it in Python", 0),
    "2": ("a number alone", 0),
    "2 * 3": ("a number alone", 0),
    "matern(a) + 2": ("a number alone", 12),
    "0 * matern(a)": ("positive number", 0),
    "-1 * matern(a)": ("positive number", 0),
    "matern(a, name='\\x')": ("escape", 15),
    "matern(a) + rbf(b, length_scale=[1, 2)": ("expected ','", 37),
    "__import__('os')": ("no kernel", 0),
    "(lambda: 1)()": ("no meaning", 7),
    "matern(a).bind(b)": ("no meaning", 9),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_point_at_their_place(text):
    words, place = ERRORS[text]
    with pytest.raises(ValueError, match=r"(?s)\^$") as error:
        parse_kernel(text)
    *message, line, mark = str(error.value).split("\n")
    assert words in "\n".join(message)
    assert line == f"    {text}"
    assert mark.index("^") - 4 == place


def test_errors_in_a_formula_of_several_lines():
    with pytest.raises(ValueError, match="did you mean 'rbf'") as error:
        parse_kernel("matern(a)\n  + rbff(b)\n  + identity()")
    assert str(error.value).split("\n")[1:] == ["      + rbff(b)", "        ^"]


def test_a_formula_may_be_deep_but_not_bottomless():
    assert parse_kernel("(" * 50 + "identity()" + ")" * 50) == k.Identity()
    with pytest.raises(ValueError, match="too many brackets"):
        parse_kernel("(" * 100_000)


def test_a_formula_is_text():
    with pytest.raises(ValueError, match=r"text.*got 5"):
        parse_kernel(5)
