"""A fit to blocks draws from the posterior of all documents, with the same bits however it is done."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import gptm
import naive
from conftest import SHORT
from gptm import CTM, GPTM, Corpus
from gptm import kernels as k
from gptm._basics.memory import memory_bytes
from gptm.cli.app import app
from gptm.inference.blocks import block_fit, memory_plan, run_blocks
from gptm.inference.blocks.draw_weights import Regression
from gptm.inference.blocks.sample_documents import Sample
from gptm.inference.blocks.sums import FAN, BlockSums, FeatureSums, tree_sum
from gptm.inference.mean_solve import diagonalise
from gptm.kernels import Documents
from gptm.operators import FeatureCross
from gptm.report import report_data
from gptm.storage import checkpoint_file
from gptm.storage.checkpoint_file import CheckpointFile

pytest.importorskip("pyarrow")

LEVELS = list("abcd")


def simulated(D=600, V=80, K=3, length=40, seed=0):
    """Documents whose first topic follows the year, and the second the author."""
    rng = np.random.default_rng(seed)
    beta = rng.dirichlet(np.full(V, 0.08), K)
    year = rng.integers(1990, 2020, D).astype(float)
    who = rng.integers(0, 4, D)
    eta = 0.6 * rng.standard_normal((D, K))
    eta[:, 0] += 1.5 * np.sin((year - 1990) / 6)
    eta[:, 1] += np.array([0.0, 1.5, -1.5, 0.7])[who]
    theta = np.exp(eta) / np.exp(eta).sum(1, keepdims=True)
    counts = np.stack([rng.multinomial(length, p / p.sum()) for p in theta @ beta])
    columns = {"year": year.tolist(), "who": [LEVELS[i] for i in who]}
    columns["year"][5] = None
    return Corpus(counts, [f"w{i}" for i in range(V)], metadata=columns)


KERNEL = k.RBF("year", length_scale=6.0) + k.Categorical("who")


@pytest.fixture(scope="module")
def corpus():
    return simulated()


@pytest.fixture(scope="module")
def blocks(corpus, tmp_path_factory):
    return gptm.open_corpus(
        corpus.to_blocks(tmp_path_factory.mktemp("blocks"), block_documents=100)
    )


def short(kernel=None, max_iter=16, **settings):
    return GPTM(3, kernel=kernel, max_iter=max_iter, random_state=0, **settings)


@pytest.fixture(scope="module")
def model(blocks):
    return short(KERNEL, 60).fit(blocks)


# Parts


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 63, 64, 65, 200])
def test_parts_are_added_in_the_order_of_the_tree(n):
    parts = [str(i) for i in range(n)]

    def add(a, b):
        return f"({a}+{b})"

    assert tree_sum(iter(parts), add) == naive.tree_sum(parts, add, FAN)


def random_sums(rng, n=40, r=3, p=2):
    Phi, Y = rng.standard_normal((n, r)), rng.standard_normal((n, p))
    features = FeatureSums(float(n), 0.0, Phi.sum(0), Phi.T @ Phi)
    nothing = np.zeros((p, p))
    sums = BlockSums(float(n), nothing, nothing, 0.0, Y.sum(0), Y.T @ Y, Phi.T @ Y, nothing, 0.0)
    return Phi, Y, features, sums


def test_weights_are_drawn_from_the_dense_conditional():
    rng = np.random.default_rng(0)
    Phi, Y, features, sums = random_sums(rng)
    S, B = np.array([[1.0, 0.4], [0.4, 0.8]]), np.array([[0.5, -0.2], [-0.2, 0.3]])
    regression, basis = Regression(features), diagonalise(S, B)
    draws = np.array(
        [np.vstack(regression.draw(sums, basis, True, rng)).ravel() for _ in range(20000)]
    )
    X = np.hstack([np.ones((len(Phi), 1)), Phi])
    precision = np.kron(X.T @ X, np.linalg.inv(S))
    precision[2:, 2:] += np.kron(np.eye(3), np.linalg.inv(B))
    covariance = np.linalg.inv(precision)
    mean = covariance @ (X.T @ Y @ np.linalg.inv(S)).ravel()
    error = np.sqrt(np.diagonal(covariance) / len(draws))
    assert np.abs((draws.mean(0) - mean) / error).max() < 4
    assert np.abs(np.cov(draws.T) - covariance).max() < 0.05 * covariance.max()


def test_squares_of_residuals_come_from_sums():
    rng = np.random.default_rng(1)
    Phi, Y, features, sums = random_sums(rng)
    mu, W = rng.standard_normal(2), rng.standard_normal((3, 2))
    E = Y - mu - Phi @ W
    np.testing.assert_allclose(Regression(features).squares(sums, mu, W), E.T @ E, rtol=1e-10)


def test_predictions_from_features_are_those_of_the_operator():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"year": rng.integers(0, 9, 50).astype(float), "who": rng.choice(LEVELS, 50)}
    )
    bound = KERNEL.bind(Documents(50, frame))
    new = bound.read(
        Documents(3, pd.DataFrame({"year": [1.0, 20.0, None], "who": ["a", "x", "b"]}))
    )
    b, alpha = np.array([0.5, 3.0]), rng.standard_normal((50, 2))
    features = bound.structure.features
    here = FeatureCross(bound.place(new), features.t_dot(alpha), features.gram())
    there = bound.cross(new)
    F = bound.operator.matmul(alpha)
    np.testing.assert_allclose(here.mean(alpha, F), there.mean(alpha, F), atol=1e-8)
    np.testing.assert_allclose(here.variance(b), there.variance(b), atol=1e-8)


# Fits


def same_bits(one, other):
    for name in (
        "components_",
        "topic_covariance_",
        "mean_",
        "bound_",
        "doc_logits_",
        "doc_means_",
    ):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_the_same_bits_for_any_number_of_threads(blocks, kernel):
    one = short(kernel, n_jobs=1).fit(blocks)
    same_bits(one, short(kernel, n_jobs=2).fit(blocks))
    assert not np.array_equal(
        one.components_, short(kernel).set_params(random_state=1).fit(blocks).components_
    )


def test_it_finds_what_a_fit_in_memory_finds(corpus, blocks, model):
    in_memory = short(KERNEL, 100).fit(corpus)
    # Both score the same documents, which both were fitted to.
    ours, theirs = model.perplexity(corpus), in_memory.perplexity(corpus)
    assert abs(np.log(ours / theirs)) < 0.02
    explained = [
        m.variance_explained().query("topic == 'all'")["share"] for m in (model, in_memory)
    ]
    assert np.abs(explained[0].to_numpy() - explained[1].to_numpy()).max() < 0.12
    similar = np.corrcoef(model.components_, in_memory.components_)[:3, 3:]
    assert similar.max(1).min() > 0.95


def test_all_documents_count_and_not_the_sample_alone(blocks, model):
    assert len(model.sample_) == 300
    assert model.fitted_.n_documents == 600
    assert model.fitted_.n_tokens == 600 * 40
    assert model.fitted_.whole.gram[-4:, -4:].trace() > 1.9 * np.trace(
        model.fitted_.bound.structure.features.gram()[-4:, -4:]
    )
    assert "600 documents" in report_data(model, corpus=blocks)["title"]


def test_transform_and_scores_of_blocks_are_those_of_documents(corpus, blocks, model):
    theta, std, quantiles = model.transform(corpus, return_std=True, quantiles=(0.1, 0.9))
    ours = model.transform(blocks, return_std=True, quantiles=(0.1, 0.9))
    for one, other in zip((theta, std, quantiles), ours, strict=True):
        assert np.array_equal(one, other)
    assert model.fit_transform is not None
    assert abs(np.log(model.perplexity(blocks) / model.perplexity(corpus))) < 0.02
    assert np.isclose(model.score(blocks), -np.log(model.perplexity(blocks)))


def test_a_saved_model_predicts_the_same(corpus, model, tmp_path):
    model.save(tmp_path / "m.gptm", corpus=model.sample_)
    loaded = gptm.load(tmp_path / "m.gptm")
    assert np.array_equal(loaded.transform(corpus), model.transform(corpus))
    assert loaded.fitted_.n_documents == 600
    pd.testing.assert_frame_equal(loaded.effects("who"), model.effects("who"))


def test_models_are_compared_on_blocks(blocks):
    models = {"with": short(KERNEL, 8), "without": CTM(3, max_iter=8, random_state=0)}
    table = gptm.compare(models, blocks, cv=2, random_state=0).table
    assert table["perplexity_50"].between(10, 80).all()


def test_every_level_is_known_however_rare(tmp_path):
    corpus = simulated(D=400)
    names = corpus.metadata["who"].astype(str).tolist()
    names[390] = "rare"
    rare = Corpus(corpus.counts, corpus.vocabulary, metadata={"who": names})
    blocks = gptm.open_corpus(rare.to_blocks(tmp_path / "b", block_documents=50))
    model = short(k.Categorical("who")).fit(blocks)
    assert "rare" in set(model.effects("who")["who"])


def test_words_that_the_sample_misses_are_learnt(tmp_path, monkeypatch):
    counts = np.hstack([simulated(D=400).counts.toarray(), np.zeros((400, 1), dtype=int)])
    counts[300:303, -1] = 5
    blocks = gptm.open_corpus(Corpus(counts).to_blocks(tmp_path / "a", block_documents=50))
    first = Sample(np.arange(100), blocks[:100].load())
    monkeypatch.setattr(block_fit, "draw_sample", lambda *arguments: first)
    model = short(max_iter=8).fit(blocks)
    assert np.isfinite(model.bound_).all()
    share = 15 / counts.sum()
    assert 0.3 * share < model.components_[:, -1].mean() < 3 * share


def test_documents_without_a_value_have_a_part_of_their_own(tmp_path):
    corpus = simulated(D=300)
    names = [None if i % 3 == 0 else name for i, name in enumerate(corpus.metadata["who"])]
    blocks = gptm.open_corpus(
        Corpus(corpus.counts, metadata={"who": names}).to_blocks(tmp_path / "b", block_documents=64)
    )
    model = short(k.Categorical("who")).fit(blocks)
    assert np.isfinite(model.transform(blocks)).all()
    same_bits(model, short(k.Categorical("who"), n_jobs=2).fit(blocks))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_documents_are_enough(tmp_path, n):
    counts = np.array([[2, 1, 0], [0, 1, 3], [1, 1, 1]])[:n]
    blocks = gptm.open_corpus(Corpus(counts).to_blocks(tmp_path / "b", block_documents=1))
    model = CTM(2, max_iter=3, random_state=0).fit(blocks)
    assert model.transform(blocks).shape == (n, 2)
    one = CTM(1, max_iter=3, random_state=0).fit(blocks).transform(blocks)
    assert np.allclose(one, np.ones((n, 1)))


# What is refused


def test_automatic_kernels_leave_links_out(tmp_path, caplog):
    """A graph would be refused, after the user has waited for the counts."""
    n = 30
    texts = [
        f"{'green' if i % 2 else 'black'} tea {['cup', 'leaf', 'pot'][i % 3]}" for i in range(n)
    ]
    columns = {
        "id": [f"d{i}" for i in range(n)],
        "cites": [f"d{i // 2};d{i // 3}" for i in range(n)],
        "who": ["ann", "bob", "eve"] * (n // 3),
    }
    corpus = Corpus.from_texts(texts, metadata=columns, max_df=1.0)
    assert isinstance(k.auto_kernel(corpus.metadata), k.Sum)  # of the links and the names
    blocks = gptm.open_corpus(corpus.to_blocks(tmp_path / "blocks", block_documents=10))
    caplog.clear()
    assert short("auto", 4).fit(blocks).terms_ == ["who"]
    assert "'cites' (links, which need all documents in memory)" in caplog.text
    compared = gptm.compare([short("auto", 4)], blocks, cv=2)
    assert "Graph" not in repr(compared)


def test_what_needs_all_documents_is_refused_with_the_way_out(blocks):
    for model, said in [
        (short(inference="variational"), "fitted by sampling"),
        (short(n_chains=2), "n_chains=1"),
        (short(k.NearestNeighbors(5)), "block by block"),
    ]:
        with pytest.raises(ValueError, match=said) as error:
            model.fit(blocks)
        assert "load()" in str(error.value)
    with pytest.raises(ValueError, match="metadata"):
        short().fit(blocks, metadata={"year": [1.0] * 600})


def test_too_little_memory_is_an_error_before_the_work(blocks, monkeypatch):
    with pytest.raises(ValueError, match=r"memory=.*fewer topics"):
        GPTM(500, memory="300MB").fit(blocks)
    for wrong in ("much", -1, True, "0GB"):
        with pytest.raises(ValueError, match="memory"):
            short(memory=wrong).fit(blocks)
    monkeypatch.setattr(memory_plan, "_BASE", 0)
    monkeypatch.setattr(memory_plan, "SAMPLE", 50)
    assert len(short(memory="1GB", max_iter=2).fit(blocks).sample_) == 50
    assert memory_bytes("1.5 GiB") == 3 * 2**29


def test_scores_of_the_paper_are_refused(blocks, model):
    with pytest.raises(ValueError, match="completion"):
        model.perplexity(simulated(), kind="joint")


# Interrupts and checkpoints


class Stop(Exception):
    pass


@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_a_fit_goes_on_from_its_checkpoint_with_the_same_bits(blocks, tmp_path, kernel):
    whole = short(kernel).fit(blocks)
    path = tmp_path / "c.checkpoint"

    def crash(number, state):
        if number == 11:
            raise Stop

    with pytest.raises(Stop):
        short(kernel, callback=crash).fit(blocks, checkpoint=path, every=0)
    assert path.exists()
    assert len(list((tmp_path / "c.checkpoint.blocks").iterdir())) == 1
    numbers = []
    again = short(kernel, callback=lambda number, state: numbers.append(number))
    same_bits(whole, again.fit(blocks, checkpoint=path, every=0))
    assert numbers[0] == 11
    assert not path.exists()
    assert not (tmp_path / "c.checkpoint.blocks").exists()


def test_a_checkpoint_of_another_corpus_is_refused(blocks, tmp_path):
    path = tmp_path / "c.checkpoint"

    def crash(number, state):
        raise Stop

    with pytest.raises(Stop):
        short(callback=crash).fit(blocks, checkpoint=path, every=0)
    other = gptm.open_corpus(simulated(seed=3).to_blocks(tmp_path / "b", block_documents=100))
    with pytest.raises(ValueError, match="other documents"):
        short().fit(other, checkpoint=path)


def test_ctrl_c_in_the_middle_of_a_sweep_leaves_a_model_and_a_checkpoint(
    blocks, tmp_path, monkeypatch
):
    from gptm.inference.blocks import local_blocks

    whole, calls, right = short().fit(blocks), [], local_blocks.sweep_over

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 27:
            raise KeyboardInterrupt
        return right(*arguments)

    monkeypatch.setattr(local_blocks, "sweep_over", interrupted)
    path = tmp_path / "c.checkpoint"
    with pytest.warns(UserWarning, match="interrupted"):
        model = short().fit(blocks, checkpoint=path, every=1e6)
    assert model.stop_reason_ == "interrupt"
    assert model.transform(blocks).shape == (600, 3)
    monkeypatch.undo()
    same_bits(whole, short().fit(blocks, checkpoint=path))


def test_ctrl_c_after_the_blocks_and_before_the_end_of_a_sweep(blocks, tmp_path, monkeypatch):
    from gptm.inference.blocks import blocked_sweep

    whole, right = short().fit(blocks), blocked_sweep.draw_prior

    def interrupted(problem, state, rng):
        if state.sweep == 9:
            raise KeyboardInterrupt
        return right(problem, state, rng)

    monkeypatch.setattr(blocked_sweep, "draw_prior", interrupted)
    path = tmp_path / "c.checkpoint"
    with pytest.warns(UserWarning, match="interrupted"):
        short().fit(blocks, checkpoint=path, every=1e6)
    monkeypatch.undo()
    numbers = []
    again = short(callback=lambda number, state: numbers.append(number))
    same_bits(whole, again.fit(blocks, checkpoint=path))
    assert numbers[0] == 9


def crash_in(monkeypatch, phase, number):
    """Die right after the given time of writing in a phase."""
    write, times = CheckpointFile.write, []

    def dying(self, now, tree):
        write(self, now, tree)
        times.append(now)
        if times.count(phase) == number:
            raise Stop

    monkeypatch.setattr(CheckpointFile, "write", dying)


@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_a_fit_goes_on_from_the_chain_that_leads(blocks, tmp_path, monkeypatch, kernel):
    whole, path = short(kernel).fit(blocks), tmp_path / "c.checkpoint"
    with monkeypatch.context() as patch:
        crash_in(patch, "lead", 11)
        with pytest.raises(Stop):
            short(kernel).fit(blocks, checkpoint=path, every=0)
    with monkeypatch.context() as patch:  # which would be wasted work
        patch.setattr("gptm.starts.start._Contest", None)
        same_bits(whole, short(kernel).fit(blocks, checkpoint=path, every=0))
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_dies_after_its_last_sweep_goes_on(blocks, tmp_path, monkeypatch):
    """What belongs to a checkpoint stays as long as the checkpoint does."""
    whole, path = short().fit(blocks), tmp_path / "c.checkpoint"

    def crash(*arguments, **settings):
        raise Stop

    for place in ("inference.blocks.run_blocks.summarised", "model.fitting.conclude"):
        with monkeypatch.context() as patch:
            patch.setattr(f"gptm.{place}", crash)
            with pytest.raises(Stop):
                short().fit(blocks, checkpoint=path, every=0)
        assert path.exists()
    same_bits(whole, short().fit(blocks, checkpoint=path, every=0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["checkpoint", "states"])
def test_a_full_disk_leaves_the_last_checkpoint_whole(blocks, tmp_path, monkeypatch, what):
    """The fit goes on, says so once, and dies: the same call goes on from the last time of writing."""
    whole, path, tries = short().fit(blocks), tmp_path / "c.checkpoint", []

    def full(*arguments, **settings):
        tries.append(arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    def crash(number, state):
        if number == 6:
            place = "storage.checkpoint_file.replace_file"
            if what == "states":
                place = "inference.blocks.block_states._link"
            monkeypatch.setattr(f"gptm.{place}", full)
        if number == 12:
            raise Stop

    with pytest.warns(UserWarning, match="cannot be written") as told, pytest.raises(Stop):
        short(callback=crash).fit(blocks, checkpoint=path, every=0)
    assert sum("cannot be written" in str(one.message) for one in told) == 1
    assert len(tries) == 6  # it tries again, as there may be room again
    monkeypatch.undo()
    assert not list((tmp_path / "c.checkpoint.blocks").glob("*.tmp"))
    numbers = []
    again = short(callback=lambda number, state: numbers.append(number))
    same_bits(whole, again.fit(blocks, checkpoint=path, every=0))
    assert numbers[0] == 6


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped"])
def test_damaged_states_are_refused(blocks, tmp_path, damage):
    path = tmp_path / "c.checkpoint"

    def crash(number, state):
        if number == 3:
            raise Stop

    with pytest.raises(Stop):
        short(callback=crash).fit(blocks, checkpoint=path, every=0)
    [folder] = (tmp_path / "c.checkpoint.blocks").iterdir()
    state = folder / "000002.npz"
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 4
    if damage == "missing":
        state.unlink()
    else:
        state.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "flipped": data}[damage])
    said = "missing" if damage == "missing" else "damaged"
    with pytest.raises(ValueError, match=rf"000002\.npz belongs to the checkpoint, and is {said}"):
        short().fit(blocks, checkpoint=path)
    assert path.exists()


def test_states_are_on_the_disk_before_their_checkpoint(blocks, tmp_path, monkeypatch):
    """A power cut may otherwise leave a checkpoint whose states are empty files."""
    events, sync, replace = [], os.fsync, checkpoint_file.replace_file

    def syncing(handle):
        events.append(os.readlink(f"/proc/self/fd/{handle}"))
        sync(handle)

    def replacing(*arguments, **settings):
        events.append("checkpoint")
        replace(*arguments, **settings)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no names of open files here")
    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(checkpoint_file, "replace_file", replacing)
    monkeypatch.setattr(run_blocks, "LEAD", 0)
    monkeypatch.setattr("gptm.starts.start._Contest._keep", lambda self: None)
    short(max_iter=1).fit(blocks, checkpoint=tmp_path / "c", every=0)
    before = events[: events.index("checkpoint")]
    assert sum(name.endswith(".npz") for name in before) == blocks.n_blocks
    assert before[-2].endswith("sweep-1.tmp")  # the names in it
    assert before[-1] == str(tmp_path / "c.blocks")


# The command line


def ok(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


def test_commands_take_the_folder(blocks, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = blocks.path
    ok(
        "fit",
        folder,
        "-t",
        3,
        "--max-iter",
        8,
        "-o",
        "m.gptm",
        "--memory",
        "2GB",
        "-k",
        "rbf(year)",
    )
    model = gptm.load("m.gptm")
    ok("transform", "m.gptm", folder, "-o", "theta.parquet")
    theta = pd.read_parquet("theta.parquet")
    assert np.array_equal(theta.iloc[:, 1:].to_numpy(), model.transform(corpus))
    ok("transform", "m.gptm", folder, "-o", "theta.csv")
    assert len(pd.read_csv("theta.csv")) == 600
    ok("report", "m.gptm", "-o", "r.html")
    assert "600" in (tmp_path / "r.html").read_text()
    facts = json.loads(ok("info", "m.gptm", "--json").stdout)
    assert facts["documents"] == 600
    done = ok("evaluate", folder, "-t", 2, "--max-iter", 3, "--folds", 2, "-k", "rbf(year)")
    assert "perplexity" in done.output
    refused = CliRunner().invoke(app, ["fit", str(folder), "--min-df", "3"])
    assert refused.exit_code != 0
    assert "gptm corpus" in refused.output


@pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9")
def test_a_fit_that_is_killed_goes_on(blocks, tmp_path):
    """All of it in processes of their own, so that nothing of other tests is in them."""

    def start(checkpoint, model):
        code = f"""
import gptm
import gptm.starts.start
gptm.starts.start.SWEEPS = {SHORT["gptm.starts.start.SWEEPS"]}
model = gptm.CTM(3, max_iter=40, random_state=0, callback=lambda n, s: print(n, flush=True))
model.fit(gptm.open_corpus({str(blocks.path)!r}), checkpoint={str(tmp_path / checkpoint)!r}, every=0)
model.save({str(tmp_path / model)!r})
"""
        return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)

    process = start("c", "never")
    for line in process.stdout:
        if int(line) >= 5:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.1)
    again, whole = start("c", "again.gptm"), start("other", "whole.gptm")
    first = int(again.communicate()[0].split()[0])
    whole.communicate()
    assert first >= 5
    same_bits(gptm.load(tmp_path / "again.gptm"), gptm.load(tmp_path / "whole.gptm"))
