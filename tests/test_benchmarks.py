"""The harness that compares gptm with its peers: what it splits, times, scores, keeps and tells."""

import doctest
import importlib.util
import itertools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest
from scipy.sparse import csr_matrix

from benchmarks import inferences, profile_fit, scale, scale_out, side_information, simulated
from benchmarks.peers import (
    cases,
    corpora,
    inside,
    measuring,
    report,
    results,
    roofline,
    running,
    scoring,
    summary,
    tables,
)
from benchmarks.peers.__main__ import BENCHMARKS, DATA, expected_minutes, in_turn, main
from benchmarks.peers.cases import CASES, LIBRARIES, Case, chosen
from benchmarks.peers.results import PeerResults
from benchmarks.peers.running import describe, measure, task_of
from gptm.inference.sampling import sweeps
from job_store import Store

TINY = Case("tiny", 3, 1, {"gptm": {}, "scikit-learn": {"max_iter": 3}}, 0.1)
WRITTEN_ELSEWHERE = DATA.parent / "bench"


TRUTH = np.random.default_rng(0).dirichlet(np.full(60, 0.1), 3)


def sampled_counts(n, rng):
    theta = rng.dirichlet(np.full(3, 0.3), n)
    counts = np.stack([rng.multinomial(40, row) for row in theta @ TRUTH])
    return csr_matrix(counts.astype(np.int32))


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    return corpora.Split(
        sampled_counts(120, rng), *corpora.halves(sampled_counts(30, rng), np.random.default_rng(1))
    )


@pytest.fixture(scope="module")
def split_path(split, tmp_path_factory):
    path = tmp_path_factory.mktemp("splits") / "tiny.npz"
    split.save(path)
    return path


@pytest.fixture(scope="module")
def runs(split_path):
    """One run of each of two libraries, both in this environment."""
    tasks = in_turn(TINY, ["gptm", "scikit-learn"], 1)
    return [measure(task, split_path, Path(sys.executable)) for task in tasks]


@pytest.fixture
def store(runs, tmp_path):
    store = PeerResults(tmp_path / "results" / "peers.jsonl")
    store.set_machine(measuring.machine())
    for run in runs:
        store.add(run)
    return store


@pytest.fixture
def published(monkeypatch):
    """How to get a module that lies beside the data, as plain Python; nothing is written there."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    plain = SimpleNamespace(njit=lambda **_: lambda function: function, prange=range)
    monkeypatch.setitem(sys.modules, "numba", plain)
    return load_published


def load_published(name):
    path = WRITTEN_ELSEWHERE / f"{name}.py"
    if not path.exists():
        pytest.skip(f"the published {name}.py is not there")
    spec = importlib.util.spec_from_file_location(f"published_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestSplits:
    def test_halves_hold_every_token_once(self):
        counts = sampled_counts(20, np.random.default_rng(2))[:, :50]
        first, second = corpora.halves(counts, np.random.default_rng(0))
        assert abs(first + second - counts).nnz == 0
        surplus = np.asarray(first.sum(1) - second.sum(1)).ravel()
        assert set(surplus) <= {0, 1}

    def test_a_split_survives_its_file(self, split, split_path):
        for before, after in zip(split, corpora.load(split_path), strict=True):
            assert before.shape == after.shape
            assert abs(before - after).nnz == 0

    def test_short_documents_and_unused_words_are_left_out(self):
        texts = ["apple pear", "plum fig", "grape", "kiwi lime", "pear plum plum fig grape", "fig"]
        test = np.arange(6) >= 4
        split = corpora.split_texts(texts, test, min_df=1, max_words=100)
        assert split.train.shape == (
            3,
            6,
        )  # no "grape", which is but in a document that is too short
        assert split.seen.shape == (1, 6)
        assert split.seen.sum() == split.hidden.sum() == 2

    def test_splits_are_the_published_ones(self, published, tmp_path):
        rng = np.random.default_rng(3)
        words = np.array(["".join(letters) for letters in itertools.product("bcdfg", repeat=3)])
        texts = [" ".join(rng.choice(words, rng.integers(1, 30))) for _ in range(60)]
        test = rng.random(60) < 0.3
        module = published("corpora")
        module.build(tmp_path, "made_up", texts, np.zeros(60), test, 5, 80)
        theirs = module.load(tmp_path / "made_up.npz")
        ours = corpora.split_texts(texts, test, min_df=5, max_words=80)
        for matrix, name in zip(ours, "XAB", strict=True):
            assert abs(matrix - theirs[name]).nnz == 0

    def test_a_missing_corpus_is_named(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"nips\.jsonl\.gz is not in .*--data"):
            corpora.build(["nips"], tmp_path, tmp_path)


class TestScores:
    topics = np.random.default_rng(4).dirichlet(np.full(60, 0.1), 3)

    def test_theta_is_the_fixed_point_of_em(self, split):
        beta_T = scoring.smoothed(self.topics, split.train)
        theta = np.full((30, 3), 1 / 3)
        seen = split.seen.toarray()
        for _ in range(1000):
            ratio = seen / (theta @ beta_T.T)
            theta = theta * (ratio @ beta_T) + 2.0 / 3
            theta /= theta.sum(1, keepdims=True)
        assert np.abs(scoring.common_theta(split.seen, beta_T, 2.0) - theta).max() < 1e-3

    def test_perplexity_by_hand(self):
        hidden = csr_matrix(np.array([[2, 0], [1, 1]]))
        beta_T = np.array([[0.5, 0.1], [0.5, 0.9]])
        theta = np.array([[1.0, 0.0], [0.5, 0.5]])
        logs = 2 * np.log(0.5) + np.log(0.3) + np.log(0.7)
        assert scoring.perplexity(hidden, beta_T, theta) == pytest.approx(np.exp(-logs / 4))

    def test_coherence_of_pairs(self):
        together = csr_matrix(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
        pairs = np.array([1.0, -1.0, -1.0, -1.0, -1.0, -1.0])  # 0 with 1 always, others never
        assert scoring.coherence(np.ones((1, 4)), together) == pytest.approx(pairs.mean())

    def test_true_topics_score_better_than_others(self, split):
        assert scoring.completion(split, TRUTH)[0] < 0.5 * scoring.completion(split, self.topics)[0]

    def test_scores_are_the_published_ones(self, published, split):
        theirs = published("score").score(
            {"X": split.train, "A": split.seen, "B": split.hidden}, self.topics, np.ones((30, 3))
        )
        value, pseudo_count = scoring.completion(split, self.topics)
        assert value == pytest.approx(theirs["ppl"], rel=1e-9)
        assert pseudo_count == theirs["pseudo_count"]
        own = scoring.own_completion(split, self.topics, np.ones((30, 3)))
        assert own == pytest.approx(theirs["own"], rel=1e-9)
        assert scoring.coherence(self.topics, split.train) == pytest.approx(theirs["npmi"])


class TestRecorder:
    def test_the_clock_stands_still_while_topics_are_saved(self, tmp_path, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(measuring.time, "perf_counter", lambda: now[0])

        def slow_topics():
            now[0] += 100.0
            return np.eye(2)

        recorder = measuring.Recorder(tmp_path)
        recorder.start()
        for _ in range(10):
            now[0] += 1.0
            recorder.note(slow_topics)
        now[0] += 1.0
        recorder.finish(slow_topics)
        assert recorder.ticks == list(range(1, 11))
        assert [point["seconds"] for point in recorder.points] == [1, 2, 3, 4, 5, 7, 9, 11]
        assert len(list(tmp_path.glob("topics-*.npy"))) == 8

    def test_the_end_takes_the_place_of_a_snapshot_just_before(self, tmp_path, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(measuring.time, "perf_counter", lambda: now[0])
        recorder = measuring.Recorder(tmp_path)
        recorder.start()
        now[0] = 1.0
        recorder.note(lambda: np.zeros((2, 2)))
        now[0] = 1.001
        recorder.finish(lambda: np.ones((2, 2)))
        assert [point["seconds"] for point in recorder.points] == [1.001]
        assert np.load(tmp_path / "topics-000.npy").sum() == 4

    def test_processor_time_and_memory_grow(self):
        before = measuring.cpu_seconds()
        held = np.ones(3_000_000).cumsum()
        assert measuring.cpu_seconds() > before
        assert measuring.peak_memory() > held.nbytes / measuring.MB


class TestRuns:
    def test_a_run_has_a_curve_and_every_score(self, runs, split):
        for run in runs:
            assert run["ppl"] == run["curve"][-1]["ppl"] < 0.9 * split.train.shape[1]
            seconds = [point["seconds"] for point in run["curve"]]
            assert seconds == sorted(seconds)
            assert run["own"] == pytest.approx(run["ppl"], rel=0.2)
            assert -1 <= run["npmi"] <= 1
            assert run["cpu"] > 0
            assert 50 < run["memory_mb"]["after import"] < run["memory_mb"]["peak"] < 5000
            assert run["inference"][-1]["documents_per_second"] > 0
            assert run["library"] in run["versions"]
            assert run["library"] in describe(run)

    def test_the_same_seed_gives_the_same_quality(self, runs, split_path):
        again = measure(task_of(TINY, "gptm", 0, threads=1), split_path, Path(sys.executable))
        assert again["ppl"] == runs[0]["ppl"]

    def test_a_fit_that_fails_is_kept_with_its_last_words(self, split_path, tmp_path):
        case = TINY._replace(options={"gptm": {"nonsense": 1}})
        run = measure(task_of(case, "gptm", 0), split_path, Path(sys.executable))
        assert "nonsense" in run["error"]
        assert "nonsense" in describe(run)
        assert summary.good_runs([run], "tiny-3") == []

    def test_a_fit_that_hangs_is_ended(self, split_path, monkeypatch):
        monkeypatch.setattr(running, "LIMIT", 0.3)
        before = psutil.Process().children()
        run = measure(task_of(TINY, "gptm", 0), split_path, Path(sys.executable))
        assert run["error"] == "took longer than 0 s"
        assert psutil.Process().children() == before

    def test_points_far_from_the_end_are_not_scored(self, split, tmp_path):
        mixed = [TRUTH + weight * TestScores.topics for weight in (100, 20, 0.1, 0)]
        for number, topics in enumerate(mixed):
            np.save(tmp_path / f"topics-{number:03d}.npy", topics)
        np.save(tmp_path / "theta-000.npy", np.ones((30, 3)))
        result = {
            "points": [{"seconds": s, "cpu": s} for s in range(4)],
            "inference": [{"setting": {}, "seconds": 3.0, "cpu": 3.0}],
        }
        found = running.score(tmp_path, result, split)
        assert [point["seconds"] for point in found["curve"]] == [1, 2, 3]
        assert found["inference"][0]["documents_per_second"] == 10

    def test_earlier_runs_tell_how_long_it_takes(self, runs):
        assert expected_minutes(runs, TINY, "gptm") == runs[0]["minutes_in_all"]
        assert expected_minutes([], TINY, "gptm") == 0.05

    def test_libraries_take_turns_in_being_first(self):
        case = CASES["quarter-20"]
        tasks = in_turn(case, ["gptm", "tomotopy", "gensim"], 3)
        assert [task["library"] for task in tasks[::3]] == ["gptm", "tomotopy", "gensim"]
        assert {(task["library"], task["seed"]) for task in tasks} == set(
            itertools.product(["gptm", "tomotopy", "gensim"], range(3))
        )


class TestResults:
    def test_what_was_run_is_known_after_a_restart(self, store, runs):
        again = PeerResults(store.path)
        assert again.runs == runs
        assert again.machine == store.machine
        assert again.has(task_of(TINY, "gptm", 0))
        assert not again.has(task_of(TINY, "gptm", 0), load=-1.0)
        assert not again.has(task_of(TINY, "gptm", 1))
        changed = TINY._replace(options={"gptm": {"tol": 0.1}})
        assert not again.has(task_of(changed, "gptm", 0))

    def test_a_repeated_run_takes_the_place_of_the_first(self, store):
        store.add(store.runs[0] | {"ppl": 1.0})
        assert PeerResults(store.path).runs[0]["ppl"] == 1.0
        assert len(store.runs) == 2


def made_up(library, seed, curve, inference=((10.0, 100.0),), case="x"):
    points = [{"seconds": s, "cpu": s, "ppl": p} for s, p in curve]
    return {
        "case": case,
        "library": library,
        "seed": seed,
        "K": 10,
        "documents": 1000,
        "words": 500,
        "curve": points,
        "seconds": points[-1]["seconds"],
        "cpu": points[-1]["cpu"],
        "ppl": points[-1]["ppl"],
        "own": 1.0,
        "npmi": 0.1,
        "inference": [
            {"setting": {"n": n}, "documents_per_second": speed, "ppl": ppl}
            for n, (speed, ppl) in enumerate(inference)
        ],
        "memory_mb": {"after import": 100.0, "counts": 3.0, "peak": 200.0},
    }


class TestSummary:
    def test_ratios_are_to_the_best_and_to_the_first_peer(self):
        runs = [
            made_up("gptm", 0, [(1, 120), (2, 100), (3, 90)]),
            made_up("tomotopy", 0, [(4, 110), (8, 100)]),
            made_up("gensim", 0, [(6, 95), (20, 105)]),
        ]
        stand = summary.standing(runs, "x")
        assert (stand.best_peer, stand.level) == ("tomotopy", 100)
        assert stand.quality == 0.9
        assert stand.speed == 6 / 2  # gensim was there first, though it did not stay
        assert [row.library for row in stand.rows] == ["gptm", "tomotopy", "gensim"]

    def test_a_level_that_most_seeds_miss_is_not_reached(self):
        peer = [made_up("tomotopy", 0, [(1, 100)])]
        for finals, reached in (([99, 101, 101], False), ([99, 99, 101], True)):
            ours = [made_up("gptm", seed, [(5, ppl)]) for seed, ppl in enumerate(finals)]
            assert (summary.standing(peer + ours, "x").speed == 1 / 5) is reached

    def test_inference_is_compared_at_equal_perplexity(self):
        runs = [
            made_up("gptm", 0, [(1, 90)], [(9000, 180), (8000, 139), (5000, 100)]),
            made_up("tomotopy", 0, [(1, 90)], [(4000, 130), (1000, 100.2), (500, 99)]),
            made_up("gensim", 0, [(1, 90)], [(900, 150), (100, 140.1), (50, 140)]),
        ]
        found = {entry.library: entry for entry in summary.inference(runs, "x")}
        assert set(found) == {"tomotopy", "gensim"}
        # tomotopy could be better than gptm, gensim never is: both sides are as good as the worse one's best.
        speeds = {name: (e.theirs.documents_per_second, e.ratio) for name, e in found.items()}
        assert speeds == {"tomotopy": (1000, 5), "gensim": (100, 80)}
        assert found["gensim"].ours.ppl == 139

    def test_memory_budget(self):
        run = made_up("gptm", 0, [(1, 90)])
        arrays = (4 * 1000 * 10 + 2 * 10 * 500) * 8 / 2**20
        assert summary.memory_budget(run) == pytest.approx(100 + 3 + arrays + 200)


class TestReport:
    readme = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"

    def test_tables_and_picture_come_from_the_results(self, store, tmp_path, runs):
        path = tmp_path / "README.md"
        path.write_text(self.readme)
        assert main(["--report", "--results", str(store.path), "--readme", str(path)]) == 0
        text = path.read_text()
        assert text.startswith("before\n")
        assert text.endswith("after\n")
        assert "old" not in text
        for run in runs:
            assert f"| {tables.number(run['ppl'])} |" in text
        picture = store.path.with_suffix(".png").read_bytes()
        assert picture.startswith(b"\x89PNG")

    def test_failures_are_told(self, store):
        store.add(store.runs[0] | {"error": "ended with 1: oh"})
        assert "ended with 1: oh" in report.section(store, "peers.png")

    def test_marks_must_be_there_once(self):
        with pytest.raises(ValueError, match="found it 0 times"):
            report.between_marks("nothing", "new")

    def test_targets_say_what_is_missed(self):
        runs = [
            made_up("gptm", 0, [(1, 98)], [(450, 98)]),
            made_up("tomotopy", 0, [(4, 100)], [(100, 98)]),
        ]
        growth = {"growth": {"by topics": {"20": 1.0, "100": 5.0}}}
        text = tables.targets_table(runs, growth)
        answers = [line.split("|")[2:5:2] for line in text.splitlines()[2:]]
        assert [[cell.strip() for cell in pair] for pair in answers] == [
            ["0.980", "no"],  # quality
            ["4.000", "yes"],  # time to quality
            ["4.500", "no"],  # transform
            [tables.number(200 / summary.memory_budget(runs[0]), 3), "yes"],
            ["5.000", "yes"],  # growth
        ]

    def test_the_readme_tells_the_results(self):
        store = PeerResults(BENCHMARKS / "results" / "peers.jsonl")
        if not store.runs:
            pytest.skip("nothing was measured yet")
        text = (BENCHMARKS / "README.md").read_text()
        assert report.between_marks(text, report.section(store, "peers.png")) == text


class TestCommandLine:
    def test_names_that_are_not_there_are_refused(self, capsys):
        assert main(["--cases", "quarter-21"]) == 2
        assert (
            "there is no case 'quarter-21'; expected some of dif100-3," in capsys.readouterr().err
        )
        with pytest.raises(ValueError, match="there is no library 'lda'"):
            chosen("lda", LIBRARIES, "library")

    def test_missing_data_end_it_with_the_reason(self, tmp_path, capsys):
        places = ["--data", tmp_path, "--splits", tmp_path, "--results", tmp_path / "peers.jsonl"]
        wanted = ["--cases", "quarter-20", "--only", "gptm"]
        assert main([str(part) for part in wanted + places]) == 1
        assert "Pass the folder that holds it with --data" in capsys.readouterr().err


class TestInside:
    def test_inner_iterations_are_counted_by_document(self, split):
        step = inside.caught_step(split.train, 3)
        inner = inside.inner_iterations(step)
        assert len(inner) == split.train.shape[0]
        assert inner.min() >= 1
        first, second = step(n_jobs=1), step(n_jobs=2)
        assert np.array_equal(first[0].lam, second[0].lam)

    def test_the_least_work_is_what_it_says(self, split):
        X, inner = split.train[:5], np.array([1, 2, 3, 1, 0])
        rng = np.random.default_rng(0)
        beta_T, P, lam = rng.random((60, 3)), rng.random((3, 3)), rng.random((5, 3))
        ratio = X.toarray() / (lam @ beta_T.T)
        wanted = inner[:, None] * (ratio @ beta_T + lam @ P)
        np.testing.assert_allclose(roofline.least_work(X, 3, inner)(), wanted)
        np.testing.assert_allclose(roofline.least_work(X, 3, inner)(2), wanted)

    def test_growth_is_measured_by_topics_and_by_tokens(self, split, monkeypatch):
        monkeypatch.setattr(inside, "TOPICS", (2, 3))
        monkeypatch.setattr(inside, "ITERATIONS", 6)
        found = inside.growth(split.train)
        assert list(found["by topics"]) == ["2", "3"]
        assert list(found["by tokens, 20 topics"]) == [str(40 * n) for n in (30, 60, 120)]
        assert json.dumps(found)


@pytest.mark.parametrize("module", [cases, report, results, summary, tables])
def test_examples_in_docstrings(module):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_parts_of_a_fit_that_are_timed_exist():
    for owner, name in profile_fit.PARTS.values():
        assert callable(getattr(owner, name))
    assert list(profile_fit.STEPS) == [step.__name__ for step in sweeps.STEPS]


class TestResuming:
    """Benchmarks measure what their results do not have, and no more."""

    def test_side_information_fits_the_models_that_are_left(self, tmp_path, monkeypatch):
        options = SimpleNamespace(seeds=2, inference="sampling", again=False)
        fitted = []
        frame = pd.DataFrame({"label": [None] * 10})
        monkeypatch.setattr(side_information, "read", lambda *_: (["tea", "pot"] * 5, frame))
        monkeypatch.setattr(side_information, "describe", str)
        monkeypatch.setattr(
            side_information,
            "scored",
            lambda model, *_: fitted.append(type(model).__name__) or {"perplexity": [1.0]},
        )
        kept = Store(tmp_path / "results.jsonl")
        kept.put("sotu/CTM/seed 0", {"perplexity": [2.0]})
        keys = side_information.run(kept, "no folder", "sotu", options)
        assert fitted == ["GPTM", "CTM", "GPTM"]
        assert len(keys) == 4
        assert kept.get("sotu/CTM/seed 0") == {"perplexity": [2.0]}
        monkeypatch.setattr(side_information, "read", None)  # nothing to read for
        assert side_information.run(kept, "no folder", "sotu", options) == keys

    def test_every_kept_result_is_of_a_case(self):
        for inference in ("sampling", "variational"):
            path = BENCHMARKS / "results" / f"side_information_{inference}.jsonl"
            for key, row in Store(path).results().items():
                assert key == f"{row['case']}/{row['model']}/seed {row['seed']}"
                assert row["model"] in side_information.CASES[row["case"]].models()

    def test_inferences_are_compared_once(self, tmp_path, monkeypatch, capsys):
        measured = []
        monkeypatch.setattr(inferences, "RESULTS", tmp_path / "results.jsonl")
        monkeypatch.setattr(inferences, "read", lambda folder, corpus: corpus)

        def measure(split, K, inference, seed):
            measured.append((split, K, inference, seed))
            own = 800.0 if inference == "sampling" else 1000.0
            return {"own": own, "ppl": 900.0, "npmi": 0.25, "cpu_seconds": own / 100.0}

        monkeypatch.setattr(inferences, "measure", measure)
        monkeypatch.setattr(sys, "argv", ["inferences", "--data", "no folder", "nips-20"])
        inferences.main()
        inferences.main()
        assert measured == [("nips", 20, "variational", 0), ("nips", 20, "sampling", 0)]
        row = capsys.readouterr().out.splitlines()[-1]
        assert row == (
            "| nips-20 | 0 | 1000, 900, 0.250 | 10.0 | 800, 900, 0.250 | 8.0 | 0.800 | 0.8 |"
        )

    def test_simulated_corpora_are_judged_once(self, tmp_path, monkeypatch, capsys):
        judged = []
        monkeypatch.setattr(simulated, "RESULTS", tmp_path / "results.jsonl")
        monkeypatch.setattr(
            simulated,
            "judge",
            lambda seed, words, options: judged.append(seed) or {"seed": seed, "words": words},
        )
        for n_corpora in ("1", "2"):
            monkeypatch.setattr(sys, "argv", ["simulated", "--corpora", n_corpora, "--words", "40"])
            simulated.main()
        assert judged == [0, 1]
        assert "40" in capsys.readouterr().out

    def test_cases_of_growth_run_once_unless_asked_again(self, tmp_path, monkeypatch, capsys):
        run = []
        monkeypatch.setattr(scale, "RESULTS", tmp_path / "results.jsonl")
        monkeypatch.setattr(
            scale, "run_alone", lambda name, options: run.append(name) or {"case": name}
        )
        for more in ([], [], ["--again"]):
            monkeypatch.setattr(sys, "argv", ["scale", "smooth-3000", *more])
            scale.main()
        assert run == ["smooth-3000"] * 2
        assert capsys.readouterr().out.count("smooth-3000") == 3

    def test_a_fit_of_one_iteration_has_no_time_per_iteration(self):
        assert scale.rounded(np.nan, 1) is None
        assert scale.rounded(1.26, 1) == 1.3


class TestScaleOut:
    """Fits on one machine and on several, and what clusters would take."""

    def measured(self):
        here = {"documents": 100_000, "workers": 0, "CPU microseconds per document": 10.0}
        dask = {
            "documents": 100_000,
            "workers": 2,
            "words": 1000,
            "topics": 20,
            "of these, client": 0.2,
            "scheduler CPU seconds per sweep": 0.032,
            "tasks per sweep": 16,
        }
        scheduler = {"CPU microseconds per task": 2000.0}
        return {
            "a": here | {"topics": 20},
            "b": here | {"topics": 100},
            "c": dask,
            "scheduler": scheduler,
        }

    def test_documents_are_the_same_each_time(self):
        vocabulary = np.array([f"w{i}" for i in range(scale_out.WORDS)], dtype=object)
        one, two = (scale_out.documents(0, 40, vocabulary) for _ in range(2))
        assert (one.counts != two.counts).nnz == 0
        assert (one.counts.sum(axis=1) == scale_out.TOKENS).all()

    def test_tasks_of_a_sweep(self):
        assert scale_out.tasks(7) == 2 * 7 + 1 + 1
        assert scale_out.tasks(65) == 2 * 65 + 1 + 9 + 2 + 1

    def test_the_forecast_follows_from_what_was_measured(self):
        table = scale_out.forecast(self.measured()).set_index(["documents", "topics", "machines"])
        small, large = table.loc[(10**8, 20, 16)], table.loc[(10**9, 20, 64)]
        assert np.isclose(small["documents' time"], 10**8 * 1e-5 / (16 * 16))
        assert np.isclose(large["documents' time"], 2.5 * small["documents' time"])
        tasks = scale_out.tasks(-(-(10**8) // 16_384))
        assert np.isclose(small["scheduler"], 0.002 * tasks)
        assert np.isclose(small["client"], 0.168 / 20_000 * 50_000 * 20)
        assert table.loc[(10**9, 20, 256)]["largest part"] == "scheduler"
        parts = ["documents' time", "network", "scheduler", "client"]
        assert np.isclose(small[parts].sum(), small["seconds per sweep"])

    @pytest.mark.filterwarnings("ignore")
    def test_a_small_case_runs(self, tmp_path):
        result = scale_out.run(scale_out.Case(500, 3, 0), tmp_path)
        assert result["documents"] == 500
        assert result["CPU microseconds per document"] > 0
