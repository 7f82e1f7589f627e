"""The experiments of the paper: their frame, their tables, and the command, on small sampled documents."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from experiments import catalogue, data, paper, running, scoring, table2, table6, topics
from experiments.__main__ import main
from experiments.fingerprints import fingerprint, fingerprints
from experiments.jobs import Claim, Job, Section, Settings
from experiments.judging import Difference, claim_lower, verdict
from experiments.page import results_page
from experiments.perplexities import Column, Comparison
from experiments.tables import markdown, write_table
from job_store import Store
from job_store.code import collect_sources

TABLES = ("table2", "table6", "topics")


def write_set(folder, name, labels, per_label=14, n_words=25, seed=0):
    """Documents about one of the labels each, with words of their own and words in common."""
    rng = np.random.default_rng(seed)
    common = [f"common{chr(97 + i)}" for i in range(12)]
    with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as lines:
        for label in labels:
            own = [f"{label}word{chr(97 + i)}" for i in range(12)]
            for i in range(per_label):
                words = [*rng.choice(own, n_words // 2), *rng.choice(common, n_words // 2)]
                row = {"id": f"{label}{i}", "text": " ".join(words), "label": label}
                lines.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One set of the tables and one of the figures; the others are missing."""
    folder = tmp_path_factory.mktemp("documents")
    for name in ("news100", "asrs3"):
        write_set(folder, name, ("red", "green", "blue"))
    return folder


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    """A quick run of the tables."""
    out = tmp_path_factory.mktemp("run") / "out"
    arguments = ["--data", str(folder), "--out", str(out), "--quick", "--jobs", "1", "--quiet"]
    assert main([*arguments, "--only", ",".join(TABLES)]) == 0
    return out


def settings_of(folder, **changes):
    return Settings(str(folder), quick=True)._replace(**changes)


# Documents.


def test_documents_are_counted_alike(folder):
    documents = data.load_set("news100", settings_of(folder, quick=False))
    assert documents.counts.shape == (42, len(documents.vocabulary))
    assert sorted(set(documents.labels)) == ["blue", "green", "red"]
    frequency = np.bincount(documents.counts.indices, minlength=documents.counts.shape[1])
    assert frequency.min() >= 5
    assert frequency.max() <= 0.5 * 42


def test_empty_documents_stay_and_are_counted(tmp_path):
    write_set(tmp_path, "dif100", ("red", "blue"))
    with open(tmp_path / "dif100.jsonl", "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"text": "of the and", "label": "red"}) + "\n")
    documents = data.load_set("dif100", Settings(str(tmp_path)))
    assert documents.counts.shape[0] == 29
    assert documents.n_empty == 1


def test_quick_takes_some_documents_of_each_label(tmp_path):
    write_set(tmp_path, "dif100", ("red", "green", "blue"), per_label=70)
    documents = data.load_set("dif100", settings_of(tmp_path))
    assert np.unique(documents.labels, return_counts=True)[1].tolist() == [50, 50, 50]


def test_missing_sets_are_told(folder):
    missing = data.available(settings_of(folder))
    assert [name for name, why in missing.items() if not why] == ["news100", "asrs3"]
    assert "sim100.jsonl.gz" in missing["sim100"]
    with pytest.raises(ValueError, match="the set sim100 is missing"):
        data.load_set("sim100", settings_of(folder))


def test_rows_without_a_label_are_named(tmp_path):
    (tmp_path / "dif100.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(ValueError, match=r"line 1: expected an object with 'text' and 'label'"):
        data.load_set("dif100", Settings(str(tmp_path)))


def test_newsgroups_are_drawn_with_their_subject(monkeypatch):
    posts = {group: [f"{group} {i}" for i in range(120)] for group in data.NEWSGROUPS["dif100"]}
    monkeypatch.setattr(data, "_newsgroups", lambda: posts)
    drawn = list(data._drawn(data.NEWSGROUPS["dif100"]))
    assert len({row["text"] for row in drawn}) == 300
    assert drawn == list(data._drawn(data.NEWSGROUPS["dif100"]))


def test_without_a_network_it_says_so(monkeypatch):
    def refuse(**keywords):
        raise OSError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", refuse)
    missing = data.available(Settings())
    assert "no route" in missing["dif100"]
    assert "--data" in missing["asrs"]
    data._missing.cache_clear()


def test_posts_keep_the_subject_and_lose_other_headers(monkeypatch):
    class Fetched:
        target_names = ("a",)
        data = ("From: x\nSubject: Re: tea\nLines: 3\n\nbody\n\nmore",)
        target = (0,)

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", lambda **keywords: Fetched)
    assert data._newsgroups.__wrapped__() == {"a": ["Re: tea\n\nbody\n\nmore"]}


# Jobs, and what makes them run again.


def double(settings, number):
    return {"twice": 2 * number}


def total(settings, needed):
    return {"total": sum(result["twice"] for result in needed.values())}


def broken(settings):
    raise ValueError("no luck")


def interrupted(settings):
    with contextlib.suppress(KeyboardInterrupt):  # as a fit does, which keeps what it has
        signal.raise_signal(signal.SIGINT)
    return {"twice": 0}


def label_counts(settings, corpus):
    return {"n": len(data.load_set(corpus, settings).labels)}


def small_jobs():
    pieces = [Job(f"double/{i}", double, {"number": i}, cost=i) for i in (1, 2, 3)]
    return [*pieces, Job("total", total, {}, tuple(job.key for job in pieces))]


def store_of(folder, jobs, settings):
    return Store(folder / "results.jsonl", fingerprints(jobs, settings))


@pytest.mark.parametrize(
    ("changed", "other"),
    [
        (Job("double/1", double, {"number": 4}), Settings()),
        (Job("double/1", broken, {"number": 1}), Settings()),
        (Job("double/1", double, {"number": 1}), Settings(seed=1)),
        (Job("double/1", double, {"number": 1}), Settings(quick=True)),
    ],
)
def test_what_changes_a_result_makes_it_run_again(tmp_path, changed, other):
    job = Job("double/1", double, {"number": 1})
    store_of(tmp_path, [job], Settings()).put(job.key, {"twice": 2})
    assert store_of(tmp_path, [job], Settings(n_jobs=7)).get(job.key) == {"twice": 2}
    assert store_of(tmp_path, [changed], other).get(job.key) is None


def test_other_documents_make_a_job_run_again(tmp_path):
    write_set(tmp_path, "dif100", ("red", "blue"))
    job = Job("labels", label_counts, {"corpus": "dif100"})
    before = fingerprint(job, Settings(str(tmp_path)), [])
    write_set(tmp_path, "dif100", ("red", "blue"), seed=1)
    data._digest.cache_clear()
    assert fingerprint(job, Settings(str(tmp_path)), []) != before


def test_a_needed_job_that_changes_makes_others_run_again():
    jobs = small_jobs()
    changed = [jobs[0]._replace(arguments={"number": 9}), *jobs[1:]]
    before, after = (fingerprints(listed, Settings()) for listed in (jobs, changed))
    assert [key for key in before if before[key] == after[key]] == ["double/2", "double/3"]


def test_code_that_a_job_uses_counts_and_how_it_is_shown_does_not():
    sources: dict[str, str] = {}
    collect_sources(scoring.score_fold, "experiments", sources)
    names = {name.rpartition(".")[2] for name in sources}
    assert {"score_fold", "fitted", "make_kernel", "Variant", "load_set", "N_NEIGHBOURS"} <= names
    assert not {"present", "fold_jobs", "grid"} & names


# Running.


def silent(text):
    pass


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs_run_after_those_they_need(tmp_path, workers):
    jobs, settings = small_jobs(), Settings(n_jobs=workers)
    kept = store_of(tmp_path, jobs, settings)
    running.run_jobs(jobs, kept, settings, silent)
    assert kept.get("total") == {"total": 12}


def test_what_is_done_is_not_done_again(tmp_path):
    jobs, settings = small_jobs(), Settings()
    kept = store_of(tmp_path, jobs, settings)
    kept.put("double/1", {"twice": 100})  # which no run would give
    running.run_jobs(jobs, kept, settings, silent)
    assert kept.get("total") == {"total": 110}


def test_jobs_to_run_alone_come_last_and_one_by_one():
    jobs = [Job(f"{i}", double, {"number": i}, alone=i < 2) for i in range(4)]
    waves = list(running._waves(jobs, Settings(n_jobs=2)))
    assert [([job.key for job in wave], workers) for wave, workers in waves] == [
        (["2", "3"], 2),
        (["0"], 1),
        (["1"], 1),
    ]


def test_an_error_names_its_job(tmp_path):
    job = Job("broken", broken, {})
    kept = store_of(tmp_path, [job], Settings())
    with pytest.raises(ValueError, match="no luck") as caught:
        running.run_jobs([job], kept, Settings(), silent)
    assert caught.value.__notes__ == ["(in the job broken)"]


def test_a_job_that_ctrl_c_cut_short_is_not_kept(tmp_path):
    jobs = [Job("double/1", double, {"number": 1}, cost=2.0), Job("cut", interrupted, {})]
    kept = store_of(tmp_path, jobs, Settings())
    with pytest.raises(KeyboardInterrupt):
        running.run_jobs(jobs, kept, Settings(), silent)
    assert kept.get("double/1") == {"twice": 2}
    assert kept.get("cut") is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Models and scores.


def test_labels_of_test_documents_are_never_seen(folder):
    settings = settings_of(folder)
    documents = data.load_set("news100", settings)
    train, test = next(scoring.outer_folds(documents, settings))
    other = documents.labels.copy()
    other[test] = "other"
    variants = (scoring.Variant("ml"), scoring.paper_variant("ml"))
    for variant in variants:
        found = [
            scoring.scores(scoring.fitted(variant, one, train, 0), one, test, (0.5,))
            for one in (documents, documents._replace(labels=other))
        ]
        assert found[0] == found[1]


def test_scores_are_those_of_the_model(folder):
    settings = settings_of(folder)
    documents = data.load_set("news100", settings)
    train, test = next(scoring.outer_folds(documents, settings))
    model = scoring.fitted(scoring.paper_variant("nn"), documents, train, 0)
    found = scoring.scores(model, documents, test, (0.5, 0.2))
    X = documents.counts[test]
    for kind in ("conditional", "joint"):
        assert found[kind] == pytest.approx(model.perplexity(X, kind=kind), rel=1e-12)
    assert found["completion_20"] == pytest.approx(model.perplexity(X, observed=0.2), rel=1e-12)


def test_the_papers_model_is_as_documented():
    model = scoring.make_model(scoring.paper_variant("nn", "identity"), 3, {"gamma": 0.5}, 3)
    assert (model.inference, model.coregionalization, model.fit_mean) == ("map", "identity", False)
    assert (model.topic_covariance, model.kernel.gamma, model.kernel.form) == (
        "identity",
        0.5,
        "direct",
    )
    assert model.kernel.n_neighbors == 10


def test_tuning_sees_no_test_document_of_the_first_fold(folder, monkeypatch):
    settings = settings_of(folder)
    test = set(next(scoring.outer_folds(data.load_set("news100", settings), settings))[1])
    seen = set()
    fitted, scores = scoring.fitted, scoring.scores
    monkeypatch.setattr(
        scoring, "fitted", lambda v, d, rows, *rest: seen.update(rows) or fitted(v, d, rows, *rest)
    )
    monkeypatch.setattr(
        scoring, "scores", lambda m, d, rows, *rest: seen.update(rows) or scores(m, d, rows, *rest)
    )
    scoring.tune(
        settings, "news100", {"gamma": 1.0, "ratio": 2.0}, **scoring.paper_variant("ml")._asdict()
    )
    assert len(seen) == 21
    assert not seen & test


def test_the_best_parameters_are_those_of_the_lowest_score():
    tuning = {
        "a": {"parameters": {"gamma": 1.0}, "log_perplexity": {"joint": 2.0, "conditional": 1.0}},
        "b": {"parameters": {"gamma": 3.0}, "log_perplexity": {"joint": 1.0, "conditional": 2.0}},
    }
    assert scoring.best(tuning, "joint") == {"gamma": 3.0}
    assert scoring.best(tuning, "conditional") == {"gamma": 1.0}


def test_a_score_without_a_finite_value_is_left_out(folder, monkeypatch):
    settings = settings_of(folder)
    documents = data.load_set("news100", settings)
    train, test = next(scoring.outer_folds(documents, settings))
    model = scoring.fitted(scoring.CTM_VARIANT, documents, train, 0)
    monkeypatch.setattr(scoring, "held_out_bounds", lambda *rest: (-100.0, np.inf))
    assert set(scoring.scores(model, documents, test, ())) == {"conditional"}


# Judging.


def test_differences_are_paired_and_have_students_interval():
    first, second = [10.0, 12.0, 17.0], [11.0, 14.0, 18.0]
    found = Difference.of(first, second)
    values = np.subtract(first, second)
    assert found.mean == pytest.approx(-4 / 3)
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(3))
    low, high = t.interval(0.95, 2, loc=found.mean, scale=found.error)
    assert found.noise == pytest.approx((high - low) / 2)


def test_one_fold_and_no_value_say_nothing():
    assert Difference.of([1.0], [5.0]).sign == 0
    missing = Difference.of([np.nan, 1.0], [2.0, 2.0])
    assert (missing.sign, str(missing)) == (0, "none")


def test_claims_count_the_sets():
    claim = claim_lower(
        "a < b", {"x": Difference(-9.0, 1.0, 2.0), "y": Difference(1.0, 1.0, 2.0)}, "here"
    )
    assert claim == Claim("a < b", "partly", "x -9.0 ± 1.0 *; y +1.0 ± 1.0", "here", "1 of 2")
    assert verdict([Difference(9.0, 1.0, 2.0)]) == "no"


def test_the_papers_numbers_are_complete():
    for table, names in ((paper.TABLE2, 3), (paper.TABLE6, 6)):
        assert set(table) == set(scoring.CORPORA)
        assert all(len(row) == names for row in table.values())
    assert paper.TABLE2["dif100"]["nn"] == (1183, 36)
    assert paper.TABLE6["news100"]["nn"] == (2769, 86)
    assert paper.TABLE6["asrs"]["ml"].mean < paper.TABLE6["asrs"]["nn"].mean


def test_a_comparison_writes_means_and_the_papers_numbers(tmp_path):
    columns = (Column("CTM", scoring.CTM_VARIANT, "ctm"), Column("ML", scoring.Variant("ml"), "ml"))
    results = {
        scoring.fold_key("dif100", column.variant, fold): {"conditional": 100.0 * (i + 1) + fold}
        for i, column in enumerate(columns)
        for fold in range(2)
    }
    found = Comparison.of(results, columns, "conditional", ["dif100"], 2)
    text = found.write(tmp_path, "table", paper.TABLE2)
    assert "| dif100 | 100 ± 1 | 200 ± 1 | 1231 ± 32 | 1195 ± 49 |" in text
    values = pd.read_csv(tmp_path / "tables" / "table.csv")
    assert values["perplexity"].tolist() == [100.0, 101.0, 200.0, 201.0]
    assert found.change("ML", "CTM") == pytest.approx(100 * (np.sqrt(200 * 201 / (100 * 101)) - 1))
    assert found.claim("x", "y", ("CTM", "ML")).holds == "yes"


# Topics.


def test_topics_are_matched_whatever_their_order():
    rng = np.random.default_rng(0)
    first = rng.dirichlet(np.full(30, 0.1), size=6)
    order = rng.permutation(6)
    assert topics.match_topics(first, first[order]).tolist() == np.argsort(order).tolist()


def test_kept_topics_come_back():
    found = np.random.default_rng(0).dirichlet(np.ones(50), size=3)
    assert topics._restored(topics._shortened(found)) == pytest.approx(found, abs=1e-6)


# The page and the command.


def test_tables_escape_what_markdown_would_take():
    assert markdown(pd.DataFrame({"a|b": ["x\ny"], "n": [np.nan]})).splitlines() == [
        "| a\\|b | n |",
        "|:---|---:|",
        "| x y |  |",
    ]


def test_a_table_is_written_twice(tmp_path):
    text = write_table(tmp_path, "t", pd.DataFrame({"x": [1.5]}), pd.DataFrame({"x": [1.23456789]}))
    assert (tmp_path / "tables" / "t.md").read_text() == text + "\n"
    assert pd.read_csv(tmp_path / "tables" / "t.csv")["x"].tolist() == [1.23456789]


def test_the_page_has_a_column_for_each_way_to_judge(folder):
    documents = {"news100": data.load_set("news100", settings_of(folder))}
    claims = (Claim("c", "yes", "n1", "one", "2 of 2"), Claim("c", "no", "n2", "two", "0 of 2"))
    sections = [
        Section("S", "text", claims, "short"),
        Section("T", "more", (Claim("d", "partly", "n3"),)),
    ]
    page = results_page(sections, documents, {"asrs": "why"}, Settings())
    assert "| claim | one | two |" in page
    assert "| c | yes (2 of 2) | no (0 of 2) |" in page
    assert "| d | partly |" in page
    assert "- **S.** short" in page
    assert "Of 3 claims judged: 1 yes, 1 partly, 1 no." in page
    assert "asrs is skipped: why." in page


def test_a_run_writes_results_tables_and_the_page(finished):
    page = (finished / "RESULTS.md").read_text()
    for title in ("Table 2", "Table 6", "Tables 3 to 5"):
        assert f"## {title}" in page
    assert "`python -m experiments --seed 0 --data FOLDER --quick`" in page
    assert "sim100 is skipped" in page
    assert "2944 ± 83" in page
    written = {path.stem for path in (finished / "tables").glob("*.md")}
    assert written == {path.stem for path in (finished / "tables").glob("*.csv")}
    assert {"table2-map-conditional", "table6-sampling-completion_50", "topics-map"} <= written
    assert sorted(path.name for path in finished.iterdir()) == [
        "RESULTS.md",
        "results.jsonl",
        "tables",
    ]


def test_two_workers_and_a_second_run_give_the_same_page(finished, folder, tmp_path, capsys):
    arguments = ["--data", str(folder), "--out", str(tmp_path), "--quick", "--only", "table2"]
    with joblib.parallel_config(backend="threading"):  # processes would not have short chains
        assert main([*arguments, "--jobs", "2", "--quiet"]) == 0
    assert capsys.readouterr() == (f"{tmp_path / 'RESULTS.md'}\n", "")
    for name in ("table2-map-completion_50.csv", "table2-sampling-conditional-differences.md"):
        assert (tmp_path / "tables" / name).read_bytes() == (
            finished / "tables" / name
        ).read_bytes()
    page, results = tmp_path / "RESULTS.md", tmp_path / "results.jsonl"
    before = page.read_bytes(), results.read_bytes()
    assert main(arguments) == 0
    told = capsys.readouterr().err
    assert "jobs are done already" in told
    assert "table6 is not complete and is left out" in told
    assert (page.read_bytes(), results.read_bytes()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "table7"], "expected names of experiments, table2, table6"),
        (["--data", "no-such-folder"], "there is no folder no-such-folder"),
        (["--out", __file__], "--out expects a folder"),
    ],
)
def test_wrong_options_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_documents_is_refused(tmp_path, capsys):
    assert main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "error: there are no documents" in capsys.readouterr().err


def test_ctrl_c_keeps_what_is_done(folder, tmp_path):
    command = [sys.executable, "-m", "experiments", "--data", str(folder), "--out", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--only", "table2", "--jobs", "2"],
        cwd=Path(__file__).parents[1],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    results = tmp_path / "results.jsonl"
    deadline = time.monotonic() + 60
    while not results.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert b"Finished jobs are kept" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]
    assert Store(results).results()


def test_every_experiment_lists_unique_jobs(folder):
    settings = settings_of(folder, quick=False)
    for name in catalogue.NAMES:
        jobs = catalogue.load(name).jobs(settings)
        keys = [job.key for job in jobs]
        assert len(set(keys)) == len(keys)
        assert all(set(job.needs) <= set(keys[:i]) for i, job in enumerate(jobs))
        json.dumps([job.arguments for job in jobs])


def test_tables_share_what_they_have_in_common(folder):
    settings = settings_of(folder, quick=False)
    keys = [{job.key for job in module.jobs(settings)} for module in (table2, table6)]
    assert any(key.startswith("tuning/") for key in keys[0] & keys[1])
    assert any("sampling-identity/ml-full" in key for key in keys[0] & keys[1])
